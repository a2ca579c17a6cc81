#include "images/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/image_limits.h"
#include "base/tree.h"
#include "disks/folder.h"

namespace vg::images {
namespace {

using disks::Descriptor;

constexpr int tree_folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::string_view whiteout = ".wh.", opaque = ".wh..wh..opq";

Failed tree_failed(std::string_view what) {
  return fail(Status::internal_error(fmt::format("{}: {}", what, std::strerror(errno))));
}

Result<void> take_away(int folder, const std::string& name) {
  if (auto removed = disks::remove_tree(folder, name); !removed)
    return fail(Status::internal_error(removed.error().message));
  return {};
}

bool names_something(std::string_view name) { return !name.empty() && name != "." && name != ".."; }

// White-outs first: a layer may take something away and put it there anew.
Result<void> apply_whiteouts(const std::vector<std::string>& names, int to) {
  if (std::ranges::binary_search(names, opaque))
    for (const std::string& name : names_in(to))
      if (auto gone = take_away(to, name); !gone) return gone;
  for (const std::string& name : names)
    if (name.starts_with(whiteout) && name != opaque && names_something(std::string_view(name).substr(whiteout.size())))
      if (auto gone = take_away(to, name.substr(whiteout.size())); !gone) return gone;
  return {};
}

Result<void> put_symlink(int from, int to, const std::string& name) {
  std::array<char, limits::archive_name_bytes_max + 1> target{};
  const ssize_t length = ::readlinkat(from, name.c_str(), target.data(), target.size() - 1);
  if (length < 0 || ::symlinkat(target.data(), to, name.c_str()) != 0)
    return tree_failed("a link of the image cannot be made");
  return {};
}

Result<void> merge(int from, int to, std::size_t depth);

Result<void> put_entry(int from, int to, const std::string& name, std::size_t depth) {
  struct stat info{}, there{};
  if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return tree_failed("an image cannot be read");
  const bool is_folder = S_ISDIR(info.st_mode);
  const bool exists = ::fstatat(to, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !(is_folder && S_ISDIR(there.st_mode)))
    if (auto gone = take_away(to, name); !gone) return gone;
  if (S_ISLNK(info.st_mode)) return put_symlink(from, to, name);
  if (!is_folder) {
    if (::linkat(from, name.c_str(), to, name.c_str(), 0) != 0) return tree_failed("a file cannot be linked");
    return {};
  }
  if (::mkdirat(to, name.c_str(), 0700) != 0 && errno != EEXIST) return tree_failed("a folder cannot be made");
  const Descriptor below(::openat(from, name.c_str(), tree_folder_flags));
  const Descriptor target(::openat(to, name.c_str(), tree_folder_flags));
  if (!below || !target) return tree_failed("a folder of the image cannot be opened");
  return merge(below.get(), target.get(), depth + 1);
}

Result<void> merge(int from, int to, std::size_t depth) {
  if (depth > limits::image_depth_max) return fail(Status::bad_request("the folders of the image are too deep"));
  const auto names = names_in(from);
  if (auto applied = apply_whiteouts(names, to); !applied) return applied;
  for (const std::string& name : names)
    if (!name.starts_with(whiteout))
      if (auto put = put_entry(from, to, name, depth); !put) return put;
  return {};
}

// The kernel sees to it that no link and no ".." leads out of the root, whatever changes meanwhile.
Descriptor open_in_root(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return Descriptor(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

}  // namespace

Result<void> put_layer(const std::string& layer, const std::string& root) {
  const Descriptor from(::open(layer.c_str(), tree_folder_flags)), to(::open(root.c_str(), tree_folder_flags));
  if (!from || !to) return tree_failed("a layer of the image cannot be opened");
  return merge(from.get(), to.get(), 0);
}

Result<std::string> resolve(const std::string& root, std::string_view path, bool is_folder) {
  const Descriptor at(::open(root.c_str(), tree_folder_flags));
  if (!at) return tree_failed("the image cannot be opened");
  const std::string shown(path.substr(0, 200));
  if (path.contains('\0') || path.size() > limits::archive_name_bytes_max)
    return fail(Status::bad_request("the path cannot be one of an image"));
  const Descriptor found = open_in_root(at.get(), std::string(path), O_PATH | (is_folder ? O_DIRECTORY : 0));
  if (!found)
    return fail(Status::bad_request(
        fmt::format("the image has no {} {}: {}", is_folder ? "folder" : "file", shown, std::strerror(errno))));
  struct stat info{};
  if (::fstat(found.get(), &info) != 0) return tree_failed("the image cannot be read");
  if (!is_folder && !S_ISREG(info.st_mode)) return fail(Status::bad_request(fmt::format("{} is not a file", shown)));
  std::array<char, limits::launch_path_bytes_max + 1> real{};
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", found.get()).c_str(), real.data(), real.size() - 1);
  if (length <= 0) return tree_failed("the image cannot be read");
  return std::string(real.data(), static_cast<std::size_t>(length));
}

std::vector<std::string> entries_of(const std::string& folder) {
  const Descriptor at(::open(folder.c_str(), tree_folder_flags));
  return at ? names_in(at.get()) : std::vector<std::string>();
}

}  // namespace vg::images
