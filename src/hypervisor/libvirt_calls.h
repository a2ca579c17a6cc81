// Single operations on a domain, as libvirt is asked for them. All block.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "hypervisor/hypervisor.h"
#include "hypervisor/libvirt_handles.h"

namespace vg::hypervisor {

Result<std::string> define_domain(virConnectPtr connection, const std::string& xml);
// RUN-PWR-01 and RUN-PWR-02: nothing when there is nothing to do. Two may ask at once: a user and the node's loop.
// Over a connection of its own. Nothing: there is none of this name.
Result<std::optional<Domain>> domain_at(const std::string& uri, const std::string& name);
Result<void> suspend_domain(virDomainPtr domain);
Result<void> resume_domain(virDomainPtr domain);
Result<void> shut_down_domain(virDomainPtr domain, virDomainShutdownFlagValues how);
Result<void> destroy_domain(virDomainPtr domain);
// RUN-PWR-04
Result<void> reboot_domain(virDomainPtr domain, bool agent_connected, bool acpi);
Result<void> change_domain_device(virDomainPtr domain, Change change, const std::string& device);
Result<void> set_domain_vcpus(virDomainPtr domain, unsigned count);
Result<void> grow_domain_disk(virDomainPtr domain, const std::string& target, std::uint64_t bytes);
Result<std::string> ask_domain_agent(virDomainPtr domain, const std::string& command, std::chrono::seconds timeout);
Result<void> set_domain_time(virDomainPtr domain);
Result<Screenshot> take_screenshot(virConnectPtr connection, virDomainPtr domain);

struct PortForward {
  std::string nic_alias;
  std::string_view protocol;
  std::string address;
  std::uint16_t port = 0, guest_port = 0;
};
// Commands of QEMU's monitor for people; refused when a part could be read as another command.
Result<std::string> forward_command(const PortForward& forward);
Result<std::string> stop_forward_command(const PortForward& forward);
// What "info usernet" prints, which has a line for each connection as well.
std::vector<ForwardedPort> read_forwarded_ports(std::string_view text);
Result<std::vector<ForwardedPort>> forwarded_ports_of(virDomainPtr domain);
// `expected` is what the monitor prints when it did it.
Result<void> run_monitor_command(virDomainPtr domain, const std::string& command, std::string_view expected);

}  // namespace vg::hypervisor
