#include "hypervisor/host_bridges.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace vg::hypervisor {
namespace {

// Where distributions have it; libvirt looks there as well.
constexpr std::array<const char*, 3> bridge_helpers{"/usr/lib/qemu/qemu-bridge-helper",
                                                    "/usr/libexec/qemu-bridge-helper", "/usr/lib/qemu-bridge-helper"};
constexpr const char* list_of_bridges = "/etc/qemu/bridge.conf";
constexpr const char* tunnel_device = "/dev/net/tun";

const char* installed_helper() {
  for (const char* helper : bridge_helpers)
    if (::access(helper, F_OK) == 0) return helper;
  return nullptr;
}

bool becomes_root(const char* program) {
  struct stat found{};
  return ::stat(program, &found) == 0 && (found.st_mode & S_ISUID) != 0 && found.st_uid == 0;
}

}  // namespace

bool bridges_allowed() {
  const char* helper = installed_helper();
  return helper && becomes_root(helper) && ::access(list_of_bridges, F_OK) == 0;
}

std::string bridge_problem(const std::string& bridge) {
  if (::access(fmt::format("/sys/class/net/{}/bridge", bridge).c_str(), F_OK) != 0)
    return fmt::format("this host has no bridge {}", bridge);
  const char* helper = installed_helper();
  if (!helper) return "qemu-bridge-helper is not installed on this host (Debian: qemu-system-common)";
  // The helper opens it as the user who asks.
  if (::access(tunnel_device, R_OK | W_OK) != 0)
    return fmt::format("user {} cannot open {}; its usual mode is 0666", ::geteuid(), tunnel_device);
  if (bridges_allowed()) return {};
  return fmt::format(
      "the administrator of this host must allow it first: `chmod u+s {}`, a line \"allow {}\" in {}, "
      "then a restart of virtgate",
      helper, bridge, list_of_bridges);
}

}  // namespace vg::hypervisor
