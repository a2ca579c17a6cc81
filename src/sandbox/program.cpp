#include "sandbox/program.h"

#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sandbox/landlock.h"
#include "sandbox/syscalls.h"

namespace vg::sandbox {
namespace {

constexpr const char* programs[] = {"/usr", "/lib", "/lib64", "/bin", "/sbin"};
constexpr const char* readable[] = {"/etc/ld.so.cache", "/sys/devices/system/cpu"};
constexpr const char* devices[] = {"/dev/null", "/dev/zero", "/dev/urandom"};

std::vector<sock_filter> make_filter(bool network) {
  std::vector<sock_filter> filter;
  if (sanitized_build) return filter;
  const int file = ::memfd_create("filter", MFD_CLOEXEC);
  if (file < 0) return filter;
  if (export_seccomp({.unix_sockets = network, .programs = true, .network = network}, file)) {
    filter.resize(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)) / sizeof(sock_filter));
    const auto bytes = static_cast<ssize_t>(filter.size() * sizeof(sock_filter));
    if (::pread(file, filter.data(), static_cast<std::size_t>(bytes), 0) != bytes) filter.clear();
  }
  ::close(file);
  return filter;
}

}  // namespace

std::span<const sock_filter> program_filter(bool network) {
  static const std::vector<sock_filter> with = make_filter(true), without = make_filter(false);
  return network ? with : without;
}

bool apply_filter(std::span<const sock_filter> filter) {
  if (filter.empty()) return true;
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                           .filter = const_cast<sock_filter*>(filter.data())};  // NOLINT: it is read
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

std::expected<int, std::string> program_ruleset(std::vector<PathRule> paths) {
  using Access = PathRule::Access;
  const int abi = landlock_abi();
  if (abi == 0 || sanitized_build) return -1;
  for (const char* path : programs) paths.push_back({path, Access::program});
  for (const char* path : readable) paths.push_back({path, Access::read});
  for (const char* path : devices) paths.push_back({path, Access::device});
  return make_ruleset({.paths = paths}, abi);
}

}  // namespace vg::sandbox
