#include "hypervisor/libvirt_calls.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <sstream>
#include <utility>

#include "base/hypervisor_limits.h"

namespace vg::hypervisor {
namespace {

State now(virDomainPtr domain) {
  int state = 0;
  return virDomainGetState(domain, &state, nullptr, 0) == 0 ? state_of(state) : State::none;
}

// The running and the persistent definition, or the latter alone.
unsigned both(virDomainPtr domain) {
  return virDomainIsActive(domain) == 1 ? VIR_DOMAIN_AFFECT_LIVE | VIR_DOMAIN_AFFECT_CONFIG : VIR_DOMAIN_AFFECT_CONFIG;
}

bool is_alias(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
           c == '.';
  });
}

Result<std::string> forwarded(const PortForward& forward) {
  in_addr address{};
  const bool known = forward.protocol == "tcp" || forward.protocol == "udp";
  if (!known || !is_alias(forward.nic_alias) || ::inet_pton(AF_INET, forward.address.c_str(), &address) != 1)
    return fail(Status::bad_request(fmt::format("cannot forward {} from \"{}\" to NIC \"{}\"", forward.protocol,
                                                forward.address, forward.nic_alias)));
  // libvirt names the network's end of a NIC after the alias of the NIC.
  return fmt::format("host{} {}:{}:{}", forward.nic_alias, forward.protocol, forward.address, forward.port);
}

Result<std::string> ask_monitor(virDomainPtr domain, const std::string& command, std::size_t bytes_max) {
  char* answer = nullptr;
  const int code = virDomainQemuMonitorCommand(domain, command.c_str(), &answer, VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP);
  const Text owned(answer);
  if (code != 0) return fail(libvirt_error());
  return bounded(Text(owned ? ::strdup(owned.get()) : ::strdup("")), bytes_max, "the answer");
}

}  // namespace

Result<std::string> define_domain(virConnectPtr connection, const std::string& xml) {
  const DomainHandle domain(virDomainDefineXMLFlags(connection, xml.c_str(), 0));
  if (!domain) return fail(libvirt_error());
  return bounded(Text(virDomainGetXMLDesc(domain.get(), VIR_DOMAIN_XML_INACTIVE)), limits::live_document_bytes_max,
                 "the document of a domain");
}

Result<std::optional<Domain>> domain_at(const std::string& uri, const std::string& name) {
  const std::unique_ptr<virConnect, int (*)(virConnectPtr)> connection(virConnectOpen(uri.c_str()), virConnectClose);
  if (!connection) return fail(libvirt_error());
  virConnectSetKeepAlive(connection.get(), 1, limits::hypervisor_keepalive_count);  // one that hangs is not waited for
  const DomainHandle domain(virDomainLookupByName(connection.get(), name.c_str()));
  if (!domain && virGetLastErrorCode() == VIR_ERR_NO_DOMAIN) return std::optional<Domain>();
  if (!domain) return fail(libvirt_error());
  int state = 0, reason = 0;
  if (virDomainGetState(domain.get(), &state, &reason, 0) != 0) return fail(libvirt_error());
  return std::optional(Domain{.name = name, .uuid = {}, .state = state_of(state), .reason = reason_of(state, reason)});
}

Result<void> suspend_domain(virDomainPtr domain) {
  if (now(domain) == State::paused) return {};
  return done(virDomainSuspend(domain));
}

Result<void> resume_domain(virDomainPtr domain) {
  if (now(domain) == State::running) return {};
  return done(virDomainResume(domain));
}

Result<void> shut_down_domain(virDomainPtr domain, virDomainShutdownFlagValues how) {
  const State state = now(domain);
  if (state != State::running && state != State::paused) return {};
  return done(virDomainShutdownFlags(domain, how));
}

Result<void> destroy_domain(virDomainPtr domain) {
  if (virDomainIsActive(domain) != 1) return {};
  if (virDomainDestroyFlags(domain, VIR_DOMAIN_DESTROY_GRACEFUL) == 0 || virDomainIsActive(domain) == 0) return {};
  // A QEMU that does not end when asked is killed: whoever waits for the end of the guest must not wait for ever.
  auto killed = done(virDomainDestroyFlags(domain, VIR_DOMAIN_DESTROY_DEFAULT));
  if (!killed && virDomainIsActive(domain) == 0) return {};
  return killed;
}

Result<void> reboot_domain(virDomainPtr domain, bool agent_connected, bool acpi) {
  if (agent_connected) {
    // virDomainReboot waits a minute for an agent that keeps silent.
    const auto asked = ask_domain_agent(domain, R"({"execute":"guest-shutdown","arguments":{"mode":"reboot"}})",
                                        limits::agent_reboot_max);
    // A guest that reboots does not answer.
    if (!asked && error_code(asked.error()) != VIR_ERR_AGENT_UNRESPONSIVE) return fail(asked.error());
    return {};
  }
  if (!acpi)
    return fail(Status::internal_error(
        "the VMI has neither a connected guest agent nor ACPI, so it cannot be asked to reboot"));
  return done(virDomainReboot(domain, VIR_DOMAIN_REBOOT_ACPI_POWER_BTN));
}

Result<void> change_domain_device(virDomainPtr domain, Change change, const std::string& device) {
  unsigned flags = both(domain);
  switch (change) {
    case Change::attach:
      return done(virDomainAttachDeviceFlags(domain, device.c_str(), flags));
    case Change::detach:
      return done(virDomainDetachDeviceFlags(domain, device.c_str(), flags));
    case Change::update:
      break;
  }
  // RUN-MEM-02: what a guest is asked to take of a memory device concerns the running one alone.
  if (device.starts_with("<memory") && (flags & VIR_DOMAIN_AFFECT_LIVE) != 0) flags = VIR_DOMAIN_AFFECT_LIVE;
  return done(virDomainUpdateDeviceFlags(domain, device.c_str(), flags));
}

Result<void> set_domain_vcpus(virDomainPtr domain, unsigned count) {
  return done(virDomainSetVcpusFlags(domain, count, both(domain)));
}

Result<void> grow_domain_disk(virDomainPtr domain, const std::string& target, std::uint64_t bytes) {
  virDomainBlockInfo info{};
  if (virDomainGetBlockInfo(domain, target.c_str(), &info, 0) != 0) return fail(libvirt_error());
  if (info.capacity >= bytes) return {};
  return done(virDomainBlockResize(domain, target.c_str(), bytes, VIR_DOMAIN_BLOCK_RESIZE_BYTES));
}

Result<std::string> ask_domain_agent(virDomainPtr domain, const std::string& command, std::chrono::seconds timeout) {
  return bounded(Text(virDomainQemuAgentCommand(domain, command.c_str(), static_cast<int>(timeout.count()), 0)),
                 limits::agent_reply_bytes_max, "the answer of the guest agent");
}

Result<void> set_domain_time(virDomainPtr domain) {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return done(virDomainSetTime(domain, time.tv_sec, static_cast<unsigned>(time.tv_nsec), 0));
}

Result<Screenshot> take_screenshot(virConnectPtr connection, virDomainPtr domain) {
  const StreamHandle stream(virStreamNew(connection, 0));
  if (!stream) return fail(libvirt_error());
  const Text type(virDomainScreenshot(domain, stream.get(), 0, 0));
  if (!type) return fail(libvirt_error());
  Screenshot picture{.mime_type = type.get(), .bytes = {}};
  std::string piece(limits::screenshot_piece_bytes, '\0');
  while (true) {
    const int bytes = virStreamRecv(stream.get(), piece.data(), piece.size());
    if (bytes < 0) return fail(libvirt_error());  // libvirt has ended the stream
    if (bytes == 0) break;
    if (picture.bytes.size() + static_cast<std::size_t>(bytes) > limits::screenshot_bytes_max) {
      virStreamAbort(stream.get());
      return fail(Status::internal_error(
          fmt::format("the picture of the screen is larger than {} bytes", limits::screenshot_bytes_max)));
    }
    picture.bytes.append(piece, 0, static_cast<std::size_t>(bytes));
  }
  virStreamFinish(stream.get());
  return picture;
}

Result<std::string> forward_command(const PortForward& forward) {
  auto place = forwarded(forward);
  if (!place) return fail(place.error());
  return fmt::format("hostfwd_add {}-:{}", *place, forward.guest_port);
}

Result<std::string> stop_forward_command(const PortForward& forward) {
  auto place = forwarded(forward);
  if (!place) return fail(place.error());
  return "hostfwd_remove " + *place;
}

std::vector<ForwardedPort> read_forwarded_ports(std::string_view text) {
  std::vector<ForwardedPort> ports;
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    std::istringstream words(line);
    std::string kind, descriptor, address, guest_address;
    unsigned port = 0, guest_port = 0;
    words >> kind >> descriptor >> address >> port >> guest_address >> guest_port;
    if (!words || port > UINT16_MAX || guest_port > UINT16_MAX) continue;
    const bool tcp = kind == "TCP[HOST_FORWARD]", udp = kind == "UDP[HOST_FORWARD]";
    if (!tcp && !udp) continue;
    ports.push_back({.protocol = tcp ? "tcp" : "udp",
                     .address = std::move(address),
                     .port = static_cast<std::uint16_t>(port),
                     .guest_port = static_cast<std::uint16_t>(guest_port)});
  }
  return ports;
}

Result<std::vector<ForwardedPort>> forwarded_ports_of(virDomainPtr domain) {
  const auto text = ask_monitor(domain, "info usernet", limits::live_document_bytes_max);
  if (!text) return fail(text.error());
  return read_forwarded_ports(*text);
}

Result<void> run_monitor_command(virDomainPtr domain, const std::string& command, std::string_view expected) {
  auto text = ask_monitor(domain, command, limits::libvirt_message_bytes_max);
  if (!text) return fail(text.error());
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  if (expected.empty() ? text->empty() : text->contains(expected)) return {};
  return fail(libvirt_error(VIR_ERR_OPERATION_FAILED, VIR_FROM_QEMU, *text));
}

}  // namespace vg::hypervisor
