#include "sandbox/enter.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <expected>
#include <iterator>
#include <memory>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "sandbox/landlock.h"
#include "sandbox/syscalls.h"

namespace vg::sandbox {
namespace {

using Outcome = std::expected<void, std::string>;

// A start that fails has no request to blame: the message is all there is to say.
Failed refuse_start(std::string message) {
  return fail({.code = 500, .reason = "InternalError", .message = std::move(message), .details = {}});
}

Outcome failure(std::string_view what) { return std::unexpected(fmt::format("{}: {}", what, std::strerror(errno))); }

// Makes what is missing of the path, for the account.
Result<void> make_folders(const Account& account, const std::filesystem::path& path) {
  const auto refuse = [&](const std::filesystem::path& at) {
    return refuse_start(fmt::format("cannot create {} for user {}: {}; create it, or pass another --state", at.native(),
                                    account.name, std::strerror(errno)));
  };
  std::filesystem::path built;
  for (const auto& part : path) {
    built /= part;
    if (part.empty() || ::mkdir(built.c_str(), 0700) != 0) {
      struct stat there{};
      if (::stat(built.c_str(), &there) != 0) return refuse(built);
      continue;
    }
    if (::lchown(built.c_str(), account.uid, account.gid) != 0) return refuse(built);
  }
  return {};
}

std::optional<Account> account_of(const passwd* entry) {
  if (entry == nullptr) return std::nullopt;
  return Account{.name = entry->pw_name,
                 .uid = entry->pw_uid,
                 .gid = entry->pw_gid,
                 .home = entry->pw_dir != nullptr ? entry->pw_dir : ""};
}

std::ptrdiff_t other_threads() {
  std::error_code none;
  const std::filesystem::directory_iterator threads("/proc/self/task", none);
  return none ? 0 : std::distance(begin(threads), end(threads)) - 1;
}

std::string text_of(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace

std::expected<void, std::string> forbid_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failure("no_new_privs");
  return {};
}

// The bounding set first: shrinking it is itself a privilege. Who has none cannot shrink it, and needs not: nothing
// comes back from it under no_new_privs.
std::expected<void, std::string> drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) return failure("bounding set");
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) return failure("ambient set");
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return failure("capset");
  return {};
}

Machine this_machine() {
  std::error_code none;
  Machine machine{.root = ::geteuid() == 0, .landlock_abi = landlock_abi()};
  machine.resolver = std::filesystem::weakly_canonical("/etc/resolv.conf", none).native();
  return machine;
}

std::optional<Account> find_account(const std::string& name) { return account_of(::getpwnam(name.c_str())); }

std::optional<Account> find_local_account(std::string_view name) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/passwd", "re"), std::fclose);
  if (!file) return std::nullopt;
  const passwd* entry = nullptr;
  do {
    entry = ::fgetpwent(file.get());
  } while (entry != nullptr && name != entry->pw_name);
  return account_of(entry);
}

std::vector<std::string> reachable(const std::vector<std::string>& files) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& file : files) {
    if (file.empty()) continue;
    for (auto path : {std::filesystem::absolute(file, ignored), std::filesystem::weakly_canonical(file, ignored)}) {
      while (path.has_relative_path() && !std::filesystem::is_directory(path.parent_path(), ignored))
        path = path.parent_path();
      found.push_back(path.native());
    }
  }
  return found;
}

Result<void> become(const Account& account, const std::filesystem::path& state) {
  std::error_code ignored;
  if (auto made = make_folders(account, std::filesystem::absolute(state, ignored).lexically_normal()); !made)
    return made;
  // In this order: each step needs the rights that the next one gives up.
  if (::initgroups(account.name.c_str(), account.gid) != 0 || ::setresgid(account.gid, account.gid, account.gid) != 0 ||
      ::setresuid(account.uid, account.uid, account.uid) != 0)
    return refuse_start(
        fmt::format("cannot become user {}: {}; start the server as that user", account.name, std::strerror(errno)));
  return {};
}

Result<void> enter(const Plan& plan) {
  if (plan.mode == Mode::off) {
    log::info("the sandbox is off (--sandbox=off)");
    return {};
  }
  std::vector<std::string> in_force, missing = plan.missing;
  const auto take = [&](bool wanted, std::string name, auto&& step) {
    if (!wanted) return;
    if (const Outcome done = step(); done)
      in_force.push_back(std::move(name));
    else
      missing.push_back(fmt::format("{} ({})", name, done.error()));
  };
  // They would keep what the others give up.
  if (const auto others = other_threads(); others > 0)
    missing.push_back(fmt::format("{} threads that were started before the sandbox", others));
  const int abi = plan.landlock ? landlock_abi() : 0;
  take(true, "no new privileges", forbid_new_privileges);
  take(plan.capabilities, "no capabilities", drop_capabilities);
  take(plan.landlock, fmt::format("Landlock {}", abi), [&] {
    return apply_landlock({.paths = plan.paths, .bind_port = plan.bind_port, .signals_all = plan.programs}, abi);
  });
  // Last, because it forbids the calls of the others.
  take(plan.seccomp, "seccomp",
       [&] { return apply_seccomp({.unix_sockets = plan.unix_sockets, .programs = plan.programs}); });
  if (plan.mode == Mode::required && !missing.empty())
    return refuse_start(
        fmt::format("--sandbox=required, but these parts are missing: {}; use a kernel that has them, or --sandbox=on",
                    text_of(missing)));
  log::info("sandbox", {{"inForce", text_of(in_force)}, {"missing", text_of(missing)}, {"user", ::geteuid()}});
  return {};
}

}  // namespace vg::sandbox
