#include "default_node.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "local_nodes.h"

namespace vg::cmd {
namespace {

// Where libvirt and QEMU are installed, and what they are called.
constexpr std::array libvirt_programs{"/usr/sbin/libvirtd", "/usr/bin/libvirtd"};
constexpr std::array qemu_programs{
#if defined(__aarch64__)
    "/usr/bin/qemu-system-aarch64",
#elif defined(__s390x__)
    "/usr/bin/qemu-system-s390x",
#else
    "/usr/bin/qemu-system-x86_64",
#endif
    "/usr/libexec/qemu-kvm", "/usr/bin/qemu-kvm"};

template <class Programs>
bool is_installed(const Programs& programs) {
  return std::ranges::any_of(programs, [](const char* path) { return ::access(path, X_OK) == 0; });
}

}  // namespace

std::optional<std::string> why_no_guests(const ConfineOptions& options, const std::string& state,
                                         const std::string& libvirt) {
  if (const auto program = open_node_program(); !program) return "virtgate-node is not installed";
  if (libvirt.empty() && !is_installed(libvirt_programs)) return "libvirtd is not installed";
  if (libvirt.empty() && !is_installed(qemu_programs)) return "QEMU is not installed";
  return why_no_user_for_guests(options, state);
}

}  // namespace vg::cmd
