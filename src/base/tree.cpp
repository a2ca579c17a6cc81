#include "base/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/descriptor.h"

namespace vg {
namespace {

using std::chrono::steady_clock;

constexpr int tree_folder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Folders may be nested as deep as the disk allows, and each one on the way down is held open. Those that are too deep
// are moved up to the top, and removed from there.
class TreeRemoval {
 public:
  explicit TreeRemoval(steady_clock::time_point until) : until_(until) {}

  bool remove(int parent, const std::string& name, std::size_t depth = 0) {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR || !has_time()) return false;
    if (depth > limits::tree_folders_open_max) return move_up(parent, name);
    const Descriptor folder(::openat(parent, name.c_str(), tree_folder));
    if (!folder) return errno == ENOENT;
    if (depth == 0) top_ = folder.get();
    std::uint64_t moved = 0;
    do {
      moved = moved_;
      for (const std::string& entry : names_in(folder.get()))
        if (!has_time() || !remove(folder.get(), entry, depth + 1)) return false;
    } while (depth == 0 && moved != moved_);
    return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  }

 private:
  bool has_time() const {
    if (steady_clock::now() < until_) return true;
    errno = ETIME;
    return false;
  }

  bool move_up(int parent, const std::string& name) {
    while (has_time()) {
      if (::renameat(parent, name.c_str(), top_, fmt::format(".deep-{}", moved_++).c_str()) == 0 || errno == ENOENT)
        return true;
      const bool taken = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
      if (!taken) return false;
    }
    return false;
  }

  steady_clock::time_point until_;
  int top_ = -1;
  std::uint64_t moved_ = 0;  // up to the top, failed attempts too
};

}  // namespace

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", tree_folder);
  if (copy < 0) return names;
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(::fdopendir(copy), close);
  if (!stream) {
    ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(stream.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

bool remove_tree(int parent, const std::string& name, steady_clock::time_point until) {
  return TreeRemoval(until).remove(parent, name);
}

}  // namespace vg
