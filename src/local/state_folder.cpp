#include "local/state_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "local/refusal.h"

namespace vg::local {
namespace {

// A start that fails has no request to blame: the message is all there is to say.
std::string reason(int error) { return std::strerror(error); }

// Like mkdir -p, but every folder made here is for its owner only: keys will lie below.
int make_private_folders(const std::filesystem::path& path) {
  std::filesystem::path built;
  for (const auto& part : path) {
    built /= part;
    if (::mkdir(built.c_str(), 0700) != 0 && errno != EEXIST) {
      struct stat there;
      // A parent on a read-only or foreign file system may say so before it says that it exists.
      if (const int error = errno; ::stat(built.c_str(), &there) != 0 || !S_ISDIR(there.st_mode)) return error;
    }
  }
  return 0;
}

std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(lock, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  const bool digits = !pid.empty() && std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? fmt::format("process {}", pid) : "another process";
}

// --- what lies in the folder -----------------------------------------------------------------------------------------

enum class Secrecy : std::uint8_t {
  open,    // may be read by everybody
  closed,  // is closed when it was open
  secret,  // is refused when it was open: whoever read it can use it
};

struct Rule {
  std::string_view pattern;  // with a '*' at its end or its beginning
  Secrecy secrecy;
  bool folder = false;
};

// The first that fits counts; other files are not ours.
constexpr std::array<Rule, 8> rules_of_state = {{{"pki", Secrecy::open, true},
                                                 {"admin.kubeconfig", Secrecy::closed},
                                                 {"store.db*", Secrecy::closed},
                                                 {"audit.log*", Secrecy::closed},
                                                 {"audit-busy.log*", Secrecy::closed},
                                                 {"audit-reads.log*", Secrecy::closed},
                                                 {"audit-attempts.log*", Secrecy::closed},
                                                 {"lock", Secrecy::closed}}};
// Not tokens.csv: it is judged whenever it is read, and a mistake there costs its tokens but not the server.
constexpr std::array<Rule, 3> rules_of_pki = {
    {{"*.crt", Secrecy::open}, {"*.key", Secrecy::secret}, {"*.token", Secrecy::secret}}};

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

// A path for pasting into a shell.
std::string quoted(const std::string& path) {
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Result<void> check_entry(const std::filesystem::path& path, const Rule& rule) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return refuse(fmt::format("cannot read {}: {}", path.native(), reason(errno)));
  }
  const std::string& name = path.native();
  if (rule.folder ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode))
    return refuse(
        fmt::format("{} is not a {} (it may be a link), so others may control its content; a {} "
                    "is required",
                    name, rule.folder ? "folder" : "regular file", rule.folder ? "folder" : "file"));
  if (info.st_uid != ::geteuid())
    return refuse(
        fmt::format("{} belongs to user id {}, but the server runs as {}: its owner could replace it; if it "
                    "can be trusted, run: chown {} {}",
                    name, info.st_uid, ::geteuid(), ::geteuid(), quoted(name)));
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return refuse(
        fmt::format("{} can be written by other users (mode {:o}), who could replace what the server trusts; "
                    "if it can be trusted, run: chmod go-w {}",
                    name, info.st_mode & 07777, quoted(name)));
  if (rule.folder || rule.secrecy == Secrecy::open || !(info.st_mode & 077)) return {};
  if (rule.secrecy == Secrecy::secret)
    return refuse(
        fmt::format("{} can be read by other users (mode {:o}); run: chmod 600 {} (and if others use this "
                    "host, remove it, so that a new one is created)",
                    name, info.st_mode & 07777, quoted(name)));
  if (::chmod(path.c_str(), 0600) != 0)
    return refuse(fmt::format("{} can be read by other users, and its mode cannot be changed: {}; run: chmod 600 {}",
                              name, reason(errno), quoted(name)));
  log::warning("a file could be read by other users, and its mode was changed",
               {{"file", name}, {"mode", fmt::format("{:o}", info.st_mode & 07777)}});
  return {};
}

Result<void> check_entries(const std::filesystem::path& folder, std::span<const Rule> rules) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().native();
    const auto rule = std::ranges::find_if(rules, [&](const Rule& one) { return fits(one.pattern, name); });
    if (rule == rules.end()) continue;
    if (auto checked = check_entry(at->path(), *rule); !checked) return checked;
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return refuse(fmt::format("cannot read {}: {}", folder.native(), error.message()));
  return {};
}

// Closes what it holds unless it was released: every refusal below leaves no descriptor behind.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Result<std::filesystem::path> default_state_folder(const Environment& environment) {
  if (auto state = environment("XDG_STATE_HOME"); state && state->starts_with('/'))
    return std::filesystem::path(*state) / "virtgate";
  auto home = environment("HOME");
  if (!home || !home->starts_with('/')) {
    if (const passwd* user = ::getpwuid(::geteuid()); user && user->pw_dir && user->pw_dir[0] == '/')
      home = user->pw_dir;
    else
      return refuse("the state folder is required: $XDG_STATE_HOME and $HOME are not set; pass --state DIR");
  }
  return std::filesystem::path(*home) / ".local/state/virtgate";
}

Result<StateFolder> StateFolder::open(const std::filesystem::path& given) {
  if (given.empty()) return refuse("the name of the state folder is empty; pass --state DIR");
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(given, ignored).lexically_normal();
  if (path.filename().empty() && path.has_parent_path()) path = path.parent_path();  // a trailing slash

  if (const int error = make_private_folders(path))
    return refuse(fmt::format("cannot create the state folder {}: {}; create it or pass another --state", path.native(),
                              reason(error)));
  Descriptor folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd < 0)
    return refuse(
        fmt::format("cannot open the state folder {}: {}; pass another --state", path.native(), reason(errno)));
  struct stat info;
  if (::fstat(folder.fd, &info) != 0)
    return refuse(fmt::format("cannot read the state folder {}: {}", path.native(), reason(errno)));
  if (info.st_uid != ::geteuid())
    return refuse(
        fmt::format("the state folder {} belongs to user id {}, but the server runs as {}: its owner could read "
                    "and replace the keys; use a folder of your own (for example {}/virtgate)",
                    path.native(), info.st_uid, ::geteuid(), path.native()));
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return refuse(
        fmt::format("the state folder {} can be written by other users (mode {:o}), who could replace the keys; "
                    "run: chmod go-w {}",
                    path.native(), info.st_mode & 07777, path.native()));

  Descriptor lock{::openat(folder.fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (lock.fd < 0)
    return refuse(fmt::format("cannot open {}/lock: {}; the server must be able to write to its state folder",
                              path.native(), reason(errno)));
  if (::flock(lock.fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return refuse(
          fmt::format("cannot lock {}/lock: {}; the state folder must be on a file system that supports locks",
                      path.native(), reason(errno)));
    return refuse(fmt::format("the state folder {} is in use by {}; stop it, or pass another --state", path.native(),
                              holder_of(lock.fd)));
  }
  // Only for the message above: the lock itself is what counts, and it goes with the process.
  const std::string pid = fmt::format("{}\n", ::getpid());
  // On a full disk it cannot be written, and a server is needed with which something can be deleted.
  if (::pwrite(lock.fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()) ||
      ::ftruncate(lock.fd, static_cast<off_t>(pid.size())) != 0)
    (void)::ftruncate(lock.fd, 0);
  // After the lock, so that no other server makes files meanwhile.
  if (auto checked = check_entries(path, rules_of_state); !checked) return fail(std::move(checked.error()));
  if (auto checked = check_entries(path / "pki", rules_of_pki); !checked) return fail(std::move(checked.error()));
  return StateFolder(std::move(path), std::exchange(lock.fd, -1));
}

StateFolder::StateFolder(StateFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

StateFolder& StateFolder::operator=(StateFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

StateFolder::~StateFolder() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace vg::local
