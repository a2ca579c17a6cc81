#include "sandbox/landlock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace vg::sandbox {
namespace {

// The interface of the kernel, here because the headers of a distribution know only what its own kernel has.
constexpr long create_ruleset_call = 444, add_rule_call = 445, restrict_self_call = 446;
constexpr std::uint32_t ask_for_version = 1;
constexpr int path_beneath = 1, net_port = 2;

namespace right {
enum : std::uint64_t {
  execute = 1U << 0,
  write_file = 1U << 1,
  read_file = 1U << 2,
  read_dir = 1U << 3,
  remove_dir = 1U << 4,
  remove_file = 1U << 5,
  make_char = 1U << 6,
  make_dir = 1U << 7,
  make_reg = 1U << 8,
  make_sock = 1U << 9,
  make_fifo = 1U << 10,
  make_block = 1U << 11,
  make_sym = 1U << 12,
  refer = 1U << 13,      // version 2
  truncate = 1U << 14,   // version 3
  ioctl_dev = 1U << 15,  // version 5
};
}  // namespace right
constexpr std::uint64_t bind_tcp = 1, connect_tcp = 2;                          // version 4
constexpr std::uint64_t scope_abstract_unix = 1U << 0, scope_signal = 1U << 1;  // version 6

struct Ruleset {
  std::uint64_t files = 0, net = 0, scoped = 0;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};
struct NetPort {
  std::uint64_t allowed = 0, port = 0;
};

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Everything that this kernel can be told to refuse.
Ruleset all_of(int abi) {
  Ruleset all;
  all.files = (right::make_sym << 1) - 1;
  if (abi >= 2) all.files |= right::refer;
  if (abi >= 3) all.files |= right::truncate;
  if (abi >= 4) all.net = bind_tcp;
  if (abi >= 5) all.files |= right::ioctl_dev;
  if (abi >= 6) all.scoped = scope_abstract_unix | scope_signal;
  return all;
}

// No device may be made anywhere, and nothing be executed by a server: only its disk worker has programs.
std::uint64_t rights_of(PathRule::Access access) {
  switch (access) {
    case PathRule::Access::read:
      return right::read_file | right::read_dir;
    case PathRule::Access::device:
      return right::read_file | right::write_file;
    case PathRule::Access::program:
      return right::read_file | right::read_dir | right::execute;
    case PathRule::Access::write:
      return rights_of(PathRule::Access::data) | right::make_sym;
    case PathRule::Access::data:
      return right::read_file | right::read_dir | right::write_file | right::remove_dir | right::remove_file |
             right::make_dir | right::make_reg | right::make_sock | right::refer | right::truncate;
    case PathRule::Access::hardware:
      return right::read_file | right::read_dir | right::write_file | right::ioctl_dev;
  }
  return 0;
}

constexpr std::uint64_t rights_of_files =
    right::read_file | right::write_file | right::truncate | right::execute | right::ioctl_dev;

long call(long number, auto... arguments) { return ::syscall(number, arguments...); }

std::expected<void, std::string> allow(int ruleset, const PathRule& rule, std::uint64_t handled) {
  Descriptor place{::open(rule.path.c_str(), O_PATH | O_CLOEXEC)};
  if (place.fd < 0) return {};  // what is not there need not be allowed
  struct stat info{};
  if (::fstat(place.fd, &info) != 0) return std::unexpected(fmt::format("{}: {}", rule.path, std::strerror(errno)));
  PathBeneath beneath{.allowed = rights_of(rule.access) & handled, .parent = place.fd};
  if (!S_ISDIR(info.st_mode)) beneath.allowed &= rights_of_files;
  if (call(add_rule_call, ruleset, path_beneath, &beneath, 0U) != 0)
    return std::unexpected(fmt::format("{}: {}", rule.path, std::strerror(errno)));
  // The kernel forgets directories of processes when memory is short, and makes others later, of which the rule says
  // nothing. One that is held open stays.
  if (rule.path == "/proc/self") place.fd = -1;
  return {};
}

}  // namespace

int landlock_abi() {
  const long version = call(create_ruleset_call, nullptr, std::size_t{0}, ask_for_version);
  return version > 0 ? static_cast<int>(version) : 0;
}

int connect_ruleset(std::uint16_t port) {
  if (landlock_abi() < 4) return -1;
  const Ruleset handled{.files = 0, .net = connect_tcp, .scoped = 0};
  const int ruleset = static_cast<int>(call(create_ruleset_call, &handled, 2 * sizeof(std::uint64_t), 0U));
  const NetPort allowed{.allowed = connect_tcp, .port = port};
  if (ruleset >= 0 && call(add_rule_call, ruleset, net_port, &allowed, 0U) == 0) return ruleset;
  if (ruleset >= 0) ::close(ruleset);
  return -1;
}

bool apply_ruleset(int ruleset) { return call(restrict_self_call, ruleset, 0U) == 0; }

std::expected<void, std::string> apply_landlock(std::span<const PathRule> paths, std::optional<std::uint16_t> bind_port,
                                                int abi) {
  return apply_landlock({.paths = paths, .bind_port = bind_port}, abi);
}

std::expected<int, std::string> make_ruleset(const Restriction& wanted, int abi) {
  if (abi <= 0) return std::unexpected("this kernel has no Landlock");
  Ruleset all = all_of(abi);
  if (wanted.binds_all_ports) all.net = 0;
  if (wanted.signals_all) all.scoped &= ~scope_signal;
  const std::optional<std::uint16_t> bind_port = wanted.bind_port;
  const std::size_t size = abi >= 6 ? sizeof all : abi >= 4 ? 2 * sizeof(std::uint64_t) : sizeof(std::uint64_t);
  Descriptor ruleset{static_cast<int>(call(create_ruleset_call, &all, size, 0U))};
  if (ruleset.fd < 0) return std::unexpected(std::strerror(errno));
  for (const auto& rule : wanted.paths)
    if (auto allowed = allow(ruleset.fd, rule, all.files); !allowed) return std::unexpected(allowed.error());
  if (bind_port && all.net != 0) {
    const NetPort port{.allowed = bind_tcp, .port = *bind_port};
    if (call(add_rule_call, ruleset.fd, net_port, &port, 0U) != 0)
      return std::unexpected(fmt::format("port {}: {}", *bind_port, std::strerror(errno)));
  }
  return std::exchange(ruleset.fd, -1);
}

std::expected<void, std::string> apply_landlock(const Restriction& wanted, int abi) {
  const auto made = make_ruleset(wanted, abi);
  if (!made) return std::unexpected(made.error());
  const Descriptor ruleset{*made};
  if (!apply_ruleset(ruleset.fd)) return std::unexpected(std::strerror(errno));
  return {};
}

}  // namespace vg::sandbox
