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
#include <utility>

namespace vg::local {
namespace {

// A start that fails has no request to blame: the message is all there is to say.
Failed refuse(std::string message) {
  return fail({.code = 500, .reason = "InternalError", .message = std::move(message), .details = {}});
}

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
      return refuse("cannot tell where to keep the state: $XDG_STATE_HOME and $HOME are not set; pass --state DIR");
  }
  return std::filesystem::path(*home) / ".local/state/virtgate";
}

Result<StateFolder> StateFolder::open(const std::filesystem::path& given) {
  if (given.empty()) return refuse("the state folder's name is empty; pass --state DIR");
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
        fmt::format("the state folder {} may be written by other users (mode {:o}), who could replace the keys; "
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
    return refuse(fmt::format("the state folder {} is in use by {}; stop that one, or pass another --state",
                              path.native(), holder_of(lock.fd)));
  }
  // Only for the message above: the lock itself is what counts, and it goes with the process.
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.fd, 0) != 0 || ::pwrite(lock.fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return refuse(fmt::format("cannot write {}/lock: {}; is the disk full?", path.native(), reason(errno)));
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
