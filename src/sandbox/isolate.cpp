#include "sandbox/isolate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "sandbox/enter.h"

namespace vg::sandbox {
namespace {

using Outcome = std::expected<void, std::string>;

// What programs leave in a /tmp of their own, and the names of mount points.
constexpr const char* root_options = "size=64m,nr_inodes=65536,mode=0700";
// The new root is put together here, once everything was taken out of it; every host has it.
constexpr const char* workplace = "/usr";
constexpr std::string_view temporary = "/tmp";

Outcome failure(std::string_view what) { return std::unexpected(fmt::format("{}: {}", what, std::strerror(errno))); }

Outcome write_text(const char* path, std::string_view text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return failure(path);
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  auto done = written ? Outcome() : failure(path);
  ::close(file);
  return done;
}

// This user is itself in it: as any other it would have no files, and as root it would have capabilities in every
// program that it starts.
Outcome leave_namespaces() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return failure("user namespace");
  if (auto done = write_text("/proc/self/setgroups", "deny"); !done) return done;
  if (auto done = write_text("/proc/self/uid_map", fmt::format("{0} {0} 1", user)); !done) return done;
  if (auto done = write_text("/proc/self/gid_map", fmt::format("{0} {0} 1", group)); !done) return done;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failure("mount namespace");
  return {};
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

bool is_read_only(const PathRule& rule) {
  return rule.access == PathRule::Access::read || rule.access == PathRule::Access::program;
}

// The nearest rule around this one; none: it stands alone. /tmp is another one there.
const PathRule* around(const PathRule& rule, std::span<const PathRule> rules) {
  const PathRule* nearest = nullptr;
  for (const PathRule& other : rules)
    if (other.path != temporary && is_below(rule.path, other.path) &&
        (!nearest || other.path.size() > nearest->path.size()))
      nearest = &other;
  return nearest;
}

struct Piece {
  std::string path;  // without the slash in front
  int tree = -1;
  bool folder = false;
};

// A copy of all that is mounted there. Landlock says nothing of modes, owners and times: what is only read is mounted
// so that nothing of it can be changed.
Outcome take_piece(const PathRule& rule, std::vector<Piece>& pieces) {
  const std::string& path = rule.from.empty() ? rule.path : rule.from;
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};  // what is not there need not be seen
  const int tree = static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (tree < 0) return failure(path);
  mount_attr only_read{.attr_set = MOUNT_ATTR_RDONLY, .attr_clr = 0, .propagation = 0, .userns_fd = 0};
  if (is_read_only(rule) && ::mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &only_read, sizeof only_read) != 0)
    return failure(path);
  pieces.push_back({.path = rule.path.substr(1), .tree = tree, .folder = S_ISDIR(info.st_mode)});
  return {};
}

// In the working directory.
Outcome put_piece(const Piece& piece) {
  const std::filesystem::path place(piece.path);
  std::error_code error;
  std::filesystem::create_directories(piece.folder ? place : place.parent_path(), error);
  if (error) return std::unexpected(fmt::format("/{}: {}", piece.path, error.message()));
  if (!piece.folder) {
    const int file = ::open(piece.path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return failure(piece.path);
    ::close(file);
  }
  if (::syscall(SYS_move_mount, piece.tree, "", AT_FDCWD, piece.path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return failure("/" + piece.path);
  ::close(piece.tree);
  return {};
}

Outcome change_root(std::span<const PathRule> rules) {
  std::vector<Piece> pieces;
  for (const PathRule& rule : rules) {
    const PathRule* outer = around(rule, rules);
    const bool is_seen = outer && rule.from.empty() && is_read_only(*outer) == is_read_only(rule);
    if (rule.path == temporary || is_seen) continue;
    if (auto taken = take_piece(rule, pieces); !taken) return taken;
  }
  std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.path.size(); });  // what is around others first
  if (::mount("tmpfs", workplace, "tmpfs", MS_NOSUID | MS_NODEV, root_options) != 0) return failure("tmpfs");
  if (::chdir(workplace) != 0) return failure(workplace);
  for (const Piece& piece : pieces)
    if (auto put = put_piece(piece); !put) return put;
  if (::mkdir("tmp", 0700) != 0 && errno != EEXIST) return failure(temporary);
  // The old root on top of the new one, and away.
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return failure("pivot_root");
  if (::umount2(".", MNT_DETACH) != 0) return failure("the old root");
  if (::chdir("/") != 0) return failure("/");
  return {};
}

}  // namespace

std::expected<void, std::string> isolate(std::span<const PathRule> rules) {
  if (auto done = leave_namespaces(); !done) return done;
  // Nobody below gets the capabilities of yet another one. Not every kernel lets itself be told.
  (void)write_text("/proc/sys/user/max_user_namespaces", "0");
  if (auto done = change_root(rules); !done) return done;
  return drop_capabilities();
}

std::string why_not_isolated(std::span<const PathRule> rules) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::strerror(errno);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto done = isolate(rules);
    const std::string text = done ? "" : done.error();
    ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) && done ? 0 : 1);
  }
  ::close(ends[1]);
  std::array<char, 200> told{};
  ssize_t got = 0;
  while (child > 0 && (got = ::read(ends[0], told.data(), told.size())) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return {};
  return got > 0 ? std::string(told.data(), static_cast<std::size_t>(got)) : "no other process can be started";
}

}  // namespace vg::sandbox
