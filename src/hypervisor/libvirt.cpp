#include "hypervisor/libvirt.h"

#include <unistd.h>

#include <utility>

#include "base/hypervisor_limits.h"
#include "hypervisor/disk_copy.h"
#include "hypervisor/domain_stats.h"
#include "hypervisor/host_facts.h"
#include "hypervisor/libvirt_calls.h"
#include "hypervisor/migration.h"
#include "hypervisor/session.h"

namespace vg::hypervisor {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

Status not_connected() {
  return Status::unavailable("the connection to libvirt is lost; it is tried again until it is back");
}

// What is done with a domain, and with the connection that it came from.
template <class T>
using Operation = std::move_only_function<Result<T>(virDomainPtr, const ConnectionHandle&)>;

class Libvirt final : public LibvirtHypervisor {
 public:
  explicit Libvirt(LibvirtOptions options) : session_(std::make_shared<Session>(std::move(options))) {}
  ~Libvirt() override { session_->stop(); }
  Libvirt(const Libvirt&) = delete;
  Libvirt& operator=(const Libvirt&) = delete;

  void begin() override { session_->begin(); }
  void stop() override { session_->stop(); }
  DomainPtr find(std::string_view name) const override { return session_->find(name); }
  std::vector<DomainPtr> domains() const override { return session_->domains(); }
  bool connected() const override { return session_->connected(); }
  void on_event(std::function<void(const Event&)> happened) override { session_->on_event(std::move(happened)); }

  Task<Result<HostFacts>> host(Core& core) override {
    return in_lane<HostFacts>(core, Lane::questions, "",
                              [](const ConnectionHandle& connection) { return host_facts(connection.get()); });
  }
  // The order of definitions among themselves is that of all domains: the name stands in the document.
  Task<Result<std::string>> define(Core& core, std::string xml) override {
    const std::string name = name_in(xml);
    return in_lane<std::string>(
        core, Lane::control, name,
        [session = session_, name, xml = std::move(xml)](const ConnectionHandle& connection) -> Result<std::string> {
          auto defined = define_domain(connection.get(), xml);
          if (defined) session->refresh(connection, name);
          return defined;
        });
  }
  Task<Result<void>> undefine(Core& core, std::string name) override {
    // Also of one that libvirt removed itself, because the guest moved away.
    const std::string log = session_->log_of(name);
    auto gone = co_await forgiving(core, std::move(name), [](virDomainPtr domain, const ConnectionHandle&) {
      return done(
          virDomainUndefineFlags(domain, VIR_DOMAIN_UNDEFINE_KEEP_NVRAM | VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA));
    });
    if (gone && !log.empty()) ::unlink(log.c_str());
    co_return gone;
  }
  Task<Result<void>> start(Core& core, std::string name, bool paused) override {
    return control(core, std::move(name), [paused](virDomainPtr domain, const ConnectionHandle&) {
      return done(virDomainCreateWithFlags(domain, paused ? VIR_DOMAIN_START_PAUSED : VIR_DOMAIN_NONE));
    });
  }
  Task<Result<void>> suspend(Core& core, std::string name) override {
    return control(core, std::move(name),
                   [](virDomainPtr domain, const ConnectionHandle&) { return suspend_domain(domain); });
  }
  Task<Result<void>> resume(Core& core, std::string name) override {
    return control(core, std::move(name),
                   [](virDomainPtr domain, const ConnectionHandle&) { return resume_domain(domain); });
  }
  // An agent that keeps silent holds up neither the button nor the end of the guest, nor anything of another one.
  Task<Result<void>> shut_down(Core& core, std::string name, Asked how) override {
    const bool button = how == Asked::button;
    return forgiving(
        core, std::move(name),
        [button](virDomainPtr domain, const ConnectionHandle&) {
          return shut_down_domain(domain, button ? VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN : VIR_DOMAIN_SHUTDOWN_DEFAULT);
        },
        button ? Lane::control : Lane::endings);
  }
  Task<Result<void>> destroy(Core& core, std::string name) override {
    return forgiving(
        core, std::move(name), [](virDomainPtr domain, const ConnectionHandle&) { return destroy_domain(domain); },
        Lane::kills);
  }
  Task<Result<void>> reset(Core& core, std::string name) override {
    return control(core, std::move(name),
                   [](virDomainPtr domain, const ConnectionHandle&) { return done(virDomainReset(domain, 0)); });
  }
  Task<Result<void>> reboot(Core& core, std::string name) override {
    const DomainPtr seen = find(name);
    const bool agent = seen && seen->agent_connected, acpi = seen && seen->xml && seen->xml->contains("<acpi/>");
    // A question: as long as its agent keeps silent, the guest can still be ended.
    return on_domain<void>(
        core, Lane::questions, std::move(name),
        [agent, acpi](virDomainPtr domain, const ConnectionHandle&) { return reboot_domain(domain, agent, acpi); });
  }

  Task<Result<void>> change_device(Core& core, std::string name, Change change, std::string device_xml) override {
    return control(core, std::move(name),
                   [change, device = std::move(device_xml)](virDomainPtr domain, const ConnectionHandle&) {
                     return change_domain_device(domain, change, device);
                   });
  }
  Task<Result<void>> set_vcpus(Core& core, std::string name, unsigned count) override {
    return control(core, std::move(name),
                   [count](virDomainPtr domain, const ConnectionHandle&) { return set_domain_vcpus(domain, count); });
  }
  Task<Result<void>> resize_disk(Core& core, std::string name, std::string target, std::uint64_t bytes) override {
    return control(core, std::move(name),
                   [target = std::move(target), bytes](virDomainPtr domain, const ConnectionHandle&) {
                     return grow_domain_disk(domain, target, bytes);
                   });
  }

  Task<Result<std::string>> ask_agent(Core& core, std::string name, std::string command, seconds timeout) override {
    return on_domain<std::string>(
        core, Lane::questions, std::move(name),
        [command = std::move(command), timeout](virDomainPtr domain, const ConnectionHandle&) {
          return ask_domain_agent(domain, command, timeout);
        });
  }
  Task<Result<void>> set_guest_time(Core& core, std::string name) override {
    return on_domain<void>(core, Lane::questions, std::move(name),
                           [](virDomainPtr domain, const ConnectionHandle&) { return set_domain_time(domain); });
  }
  Task<Result<Screenshot>> screenshot(Core& core, std::string name) override {
    return on_domain<Screenshot>(core, Lane::questions, std::move(name),
                                 [](virDomainPtr domain, const ConnectionHandle& connection) {
                                   return take_screenshot(connection.get(), domain);
                                 });
  }
  Task<Result<DomainStats>> stats(Core& core, std::string name) override {
    return on_domain<DomainStats>(core, Lane::questions, std::move(name),
                                  [](virDomainPtr domain, const ConnectionHandle&) { return stats_of(domain); });
  }
  Task<Result<void>> dump_memory(Core& core, std::string name, std::string file) override {
    return on_domain<void>(
        core, Lane::jobs, std::move(name), [file = std::move(file)](virDomainPtr domain, const ConnectionHandle&) {
          return done(
              virDomainCoreDumpWithFormat(domain, file.c_str(), VIR_DOMAIN_CORE_DUMP_FORMAT_RAW, VIR_DUMP_MEMORY_ONLY));
        });
  }
  Task<Result<void>> begin_copy(Core& core, std::string name, std::vector<DiskCopy> disks) override {
    return on_domain<void>(core, Lane::control, std::move(name),
                           [disks = std::move(disks)](virDomainPtr domain, const ConnectionHandle&) {
                             return begin_disk_copy(domain, disks);
                           });
  }
  Task<Result<void>> copy_result(Core& core, std::string name) override {
    return on_domain<void>(core, Lane::urgent, std::move(name),
                           [](virDomainPtr domain, const ConnectionHandle&) { return disk_copy_result(domain); });
  }
  Task<Result<void>> forward_port(Core& core, std::string name, std::string nic_alias, std::string_view protocol,
                                  std::string address, std::uint16_t port, std::uint16_t guest_port) override {
    return monitor(core, std::move(name),
                   forward_command({.nic_alias = std::move(nic_alias),
                                    .protocol = protocol,
                                    .address = std::move(address),
                                    .port = port,
                                    .guest_port = guest_port}),
                   "");
  }
  Task<Result<void>> stop_forwarding(Core& core, std::string name, std::string nic_alias, std::string_view protocol,
                                     std::string address, std::uint16_t port) override {
    return monitor(
        core, std::move(name),
        stop_forward_command(
            {.nic_alias = std::move(nic_alias), .protocol = protocol, .address = std::move(address), .port = port}),
        "removed");
  }

  Task<Result<std::vector<ForwardedPort>>> forwarded_ports(Core& core, std::string name) override {
    return on_domain<std::vector<ForwardedPort>>(
        core, Lane::control, std::move(name),
        [](virDomainPtr domain, const ConnectionHandle&) { return forwarded_ports_of(domain); });
  }

  Task<Result<void>> migrate(Core& core, std::string name, MigrationRequest request) override {
    return on_domain<void>(core, Lane::jobs, name,
                           [session = session_, name, request = std::move(request)](
                               virDomainPtr domain, const ConnectionHandle& connection) {
                             auto over = migrate_domain(domain, request);
                             session->refresh(connection, name);
                             return over;
                           });
  }
  Task<Result<std::string>> migratable(Core& core, std::string name) override {
    return on_domain<std::string>(
        core, Lane::urgent, std::move(name), [](virDomainPtr domain, const ConnectionHandle&) {
          return bounded(Text(virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_MIGRATABLE | VIR_DOMAIN_XML_SECURE)),
                         limits::live_document_bytes_max, "the document of a domain");
        });
  }
  Task<Result<void>> start_postcopy(Core& core, std::string name) override {
    return on_domain<void>(core, Lane::urgent, std::move(name), [](virDomainPtr domain, const ConnectionHandle&) {
      return done(virDomainMigrateStartPostCopy(domain, 0));
    });
  }
  Task<Result<void>> set_max_downtime(Core& core, std::string name, milliseconds time) override {
    return on_domain<void>(core, Lane::urgent, std::move(name), [time](virDomainPtr domain, const ConnectionHandle&) {
      return done(virDomainMigrateSetMaxDowntime(domain, static_cast<unsigned long long>(time.count()), 0));
    });
  }
  Task<Result<JobProgress>> job(Core& core, std::string name) override {
    return on_domain<JobProgress>(core, Lane::urgent, std::move(name),
                                  [](virDomainPtr domain, const ConnectionHandle&) { return job_progress(domain); });
  }
  Task<Result<void>> abort_job(Core& core, std::string name) override {
    return on_domain<void>(core, Lane::urgent, std::move(name), [](virDomainPtr domain, const ConnectionHandle&) {
      return done(virDomainAbortJob(domain));
    });
  }
  Task<Result<void>> release_cancelled(Core& core, std::string name) override {
    return on_domain<void>(core, Lane::urgent, std::move(name), [](virDomainPtr domain, const ConnectionHandle&) {
      return release_cancelled_migration(domain);
    });
  }
  bool restart() override { return session_->restart(); }
  Task<Result<std::optional<Domain>>> look_elsewhere(Core& core, std::string uri, std::string name) override {
    co_return co_await Call<std::optional<Domain>>(session_->lanes(), core, Lane::questions, name,
                                                   [uri = std::move(uri), name] { return domain_at(uri, name); });
  }

 private:
  static std::string name_in(const std::string& xml) {
    constexpr std::string_view open = "<name>", close = "</name>";
    const auto at = xml.find(open);
    const auto end = at == std::string::npos ? at : xml.find(close, at);
    return end == std::string::npos ? "" : xml.substr(at + open.size(), end - at - open.size());
  }

  template <class T>
  Task<Result<T>> in_lane(Core& core, Lane lane, std::string name,
                          std::move_only_function<Result<T>(const ConnectionHandle&)> operation) {
    co_return co_await Call<T>(session_->lanes(), core, lane, std::move(name),
                               [session = session_, operation = std::move(operation)]() mutable -> Result<T> {
                                 const auto connection = session->connection();
                                 if (!connection) return fail(not_connected());
                                 return operation(connection);
                               });
  }
  template <class T>
  Task<Result<T>> on_domain(Core& core, Lane lane, std::string name, Operation<T> operation) {
    return in_lane<T>(
        core, lane, name,
        [name, operation = std::move(operation)](const ConnectionHandle& connection) mutable -> Result<T> {
          const DomainHandle domain(virDomainLookupByName(connection.get(), name.c_str()));
          if (!domain) return fail(libvirt_error());
          return operation(domain.get(), connection);
        });
  }
  // Whoever hears that it is done finds the domain as it is then.
  Task<Result<void>> control(Core& core, std::string name, Operation<void> operation, Lane lane = Lane::control) {
    return on_domain<void>(core, lane, name,
                           [session = session_, name, operation = std::move(operation)](
                               virDomainPtr domain, const ConnectionHandle& connection) mutable {
                             auto over = operation(domain, connection);
                             session->refresh(connection, name);
                             return over;
                           });
  }
  // The same for what is done already when there is no such domain.
  Task<Result<void>> forgiving(Core& core, std::string name, Operation<void> operation, Lane lane = Lane::control) {
    auto over = co_await control(core, std::move(name), std::move(operation), lane);
    if (!over && error_code(over.error()) == VIR_ERR_NO_DOMAIN) co_return Result<void>();
    co_return over;
  }
  Task<Result<void>> monitor(Core& core, std::string name, Result<std::string> command, std::string_view expected) {
    if (!command) co_return fail(command.error());
    co_return co_await on_domain<void>(
        core, Lane::control, std::move(name),
        [command = std::move(*command), expected](virDomainPtr domain, const ConnectionHandle&) {
          return run_monitor_command(domain, command, expected);
        });
  }

  const std::shared_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<LibvirtHypervisor> LibvirtHypervisor::create(LibvirtOptions options) {
  run_event_loop();
  return std::make_unique<Libvirt>(std::move(options));
}

}  // namespace vg::hypervisor
