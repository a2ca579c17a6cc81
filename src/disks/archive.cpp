#include "disks/archive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/disk_limits.h"
#include "disks/archive_reader.h"
#include "disks/folder.h"
#include "disks/outcome.h"
#include "disks/room.h"

namespace vg::disks {
namespace {

constexpr unsigned permission_bits = 0777, own_folder = 0700, own_file = 0600;

std::unexpected<Failure> entry_refused(std::string_view path, std::string_view why) {
  return failed(DiskError::bad_image, fmt::format("the archive has \"{}\", which {}", path.substr(0, 100), why));
}

// A link may go to what is below the root and to nothing else; where it stands decides how far up it may go. Up only at
// its beginning: behind a name, which may be another link, ".." leads from where that one goes to.
Outcome<> check_link(const ArchiveEntry& entry, std::size_t depth) {
  if (entry.target.starts_with('/')) return entry_refused(entry.name, "links to an absolute path");
  std::string_view rest = entry.target;
  auto level = static_cast<std::int64_t>(depth);
  bool named = false;
  while (!rest.empty()) {
    const std::string_view step = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(step.size() + 1, rest.size()));
    if (step == ".." && named) return entry_refused(entry.name, "links upwards behind a name");
    if (step == "..") --level;
    if (!step.empty() && step != "." && step != "..") named = true;
    if (level < 0) return entry_refused(entry.name, "links to something outside");
  }
  return {};
}

class Unpacker {
 public:
  Unpacker(int root, std::int64_t bytes_max) : root_(root), size_max_(bytes_max), left_(bytes_max), room_(root) {}

  Outcome<> put(ArchiveReader& reader, const ArchiveEntry& entry) {
    const auto steps = steps_of(entry.name);
    if (!steps) return std::unexpected(steps.error());
    if (steps->empty()) return {};  // the root itself
    if (steps->size() > limits::archive_depth_max) return entry_refused(entry.name, "is nested too deeply");
    if (auto room = take(limits::archive_entry_bytes); !room) return room;
    const auto parent = open_parent(*steps);
    if (!parent) return std::unexpected(parent.error());
    const std::string& name = steps->back();
    switch (entry.type) {
      case ArchiveEntry::Type::folder:
        return put_folder(parent->get(), name, entry.mode);
      case ArchiveEntry::Type::file:
        return put_file(reader, parent->get(), name, entry.mode);
      case ArchiveEntry::Type::symlink:
        return put_link(parent->get(), name, entry, steps->size() - 1);
      case ArchiveEntry::Type::hardlink:
        return entry_refused(entry.name, "is a hard link");
      case ArchiveEntry::Type::other:
        return entry_refused(entry.name, "is neither a file, a folder nor a link");
    }
    return {};
  }

 private:
  // The folder of the last step, made where it is missing. Links on the way are not followed.
  Outcome<Descriptor> open_parent(const std::vector<std::string>& steps) {
    Descriptor at(::openat(root_, ".", open_folder));
    if (!at) return system_failed("a folder cannot be opened");
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      const bool made = ::mkdirat(at.get(), steps[i].c_str(), 0755) == 0;
      if (!made && errno != EEXIST) return system_failed("a folder cannot be made");
      if (auto room = made ? take(limits::archive_entry_bytes) : Outcome<>(); !room)
        return std::unexpected(room.error());
      at = Descriptor(::openat(at.get(), steps[i].c_str(), open_folder));
      if (!at) return entry_refused(steps[i], "is not a folder and has something below it");
    }
    return at;
  }
  static Outcome<> put_folder(int parent, const std::string& name, unsigned mode) {
    if (::mkdirat(parent, name.c_str(), (mode & permission_bits) | own_folder) != 0 && errno != EEXIST)
      return system_failed("a folder cannot be made");
    return {};
  }
  static Outcome<> put_link(int parent, const std::string& name, const ArchiveEntry& entry, std::size_t depth) {
    if (auto checked = check_link(entry, depth); !checked) return checked;
    ::unlinkat(parent, name.c_str(), 0);
    if (::symlinkat(entry.target.c_str(), parent, name.c_str()) != 0) return system_failed("a link cannot be made");
    return {};
  }
  Outcome<> put_file(ArchiveReader& reader, int parent, const std::string& name, unsigned mode) {
    ::unlinkat(parent, name.c_str(), 0);
    const Descriptor file(::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                   (mode & permission_bits) | own_file));
    if (!file) return system_failed("a file of the archive cannot be made");
    return reader.save(file.get(), size_max_, [&](std::int64_t bytes) { return take(bytes); });
  }

  Outcome<> take(std::int64_t bytes) {
    left_ -= bytes;
    if (left_ < 0) return failed(DiskError::too_small, "DataVolume too small to contain image");
    return room_.before(bytes);
  }

  int root_;
  std::int64_t size_max_, left_;  // of a file with its holes, and of what is written
  RoomWatch room_;
};

}  // namespace

Outcome<std::vector<std::string>> steps_of(std::string_view path) {
  if (path.starts_with('/')) return entry_refused(path, "is an absolute path");
  std::vector<std::string> steps;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string_view step = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(step.size() + 1, rest.size()));
    if (step == ".." || step.contains('\0')) return entry_refused(path, "leaves its folder");
    if (!step.empty() && step != ".") steps.emplace_back(step);
  }
  return steps;
}

Outcome<> unpack_archive(int folder, const std::string& file, const std::string& to, std::int64_t bytes_max) {
  const Descriptor in(::openat(folder, file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!in) return system_failed("the archive cannot be opened");
  if (auto removed = remove_tree(folder, to); !removed) return removed;
  if (::mkdirat(folder, to.c_str(), 0755) != 0) return system_failed("the folder of the archive cannot be made");
  const Descriptor root(::openat(folder, to.c_str(), open_folder));
  if (!root) return system_failed("the folder of the archive cannot be opened");
  ArchiveReader reader(in.get());
  Unpacker unpacker(root.get(), bytes_max);
  while (true) {
    const auto entry = reader.next();
    if (!entry) return std::unexpected(entry.error());
    if (!*entry) break;
    if (auto put = unpacker.put(reader, **entry); !put) return put;
  }
  if (::syncfs(root.get()) != 0) return system_failed("the archive cannot be synced");
  return {};
}

}  // namespace vg::disks
