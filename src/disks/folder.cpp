#include "disks/folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/disk_limits.h"
#include "base/names.h"
#include "disks/live_copy.h"
#include "disks/outcome.h"
#include "disks/room.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::disks {
namespace {

using std::chrono::steady_clock;

constexpr const char* records_folder = ".records";
constexpr const char* released_folder = ".released";
constexpr mode_t folder_mode = 0700;

Outcome<> check_name(std::string_view name) {
  if (dns1123_subdomain_defects(name).empty()) return {};
  return failed(DiskError::other, fmt::format("\"{}\" cannot be the name of a folder", name.substr(0, 64)));
}

Outcome<Descriptor> open_below(int parent, const std::string& name) {
  Descriptor folder(::openat(parent, name.c_str(), open_folder));
  if (!folder) return system_failed(fmt::format("the folder {} cannot be opened", name));
  return folder;
}

// Only to go through: a job that is confined to the folder of its claim may not read this one.
Outcome<Descriptor> pass_through(int parent, const std::string& name) {
  Descriptor folder(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_failed(fmt::format("the folder {} cannot be opened", name));
  return folder;
}

Outcome<Descriptor> make_below(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), folder_mode) == 0) {
    if (auto synced = sync(parent, name); !synced) return std::unexpected(synced.error());
  } else if (errno != EEXIST) {
    return system_failed(fmt::format("the folder {} cannot be made", name));
  }
  return open_below(parent, name);
}

bool is_folder(int parent, const std::string& name) {
  struct stat info{};
  return ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

Outcome<std::string> read_whole(int folder, const char* name) {
  // Guests' programs can write there: neither a link nor anything that could be waited for.
  const Descriptor file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) return system_failed(name);
  if (!S_ISREG(info.st_mode)) return failed(DiskError::other, fmt::format("{} is not a file", name));
  std::string text(limits::disk_note_bytes_max, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0) return system_failed(name);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

}  // namespace

Outcome<> sync(int descriptor, std::string_view what) {
  if (::fsync(descriptor) != 0) return system_failed(fmt::format("{} cannot be synced", what));
  return {};
}

Outcome<> remove_tree(int parent, const std::string& name, steady_clock::time_point until) {
  if (!vg::remove_tree(parent, name, until)) return system_failed(fmt::format("{} cannot be removed", name));
  return {};
}

Outcome<Note> read_note(int folder) {
  const auto text = read_whole(folder, note_file);
  if (!text) return std::unexpected(text.error());
  const auto document = json::Document::parse(*text);
  if (!document) return failed(DiskError::other, document.error().message);
  const json::Value& root = document->root();
  return Note{.uid = std::string(json::get_string_or(root, "uid")),
              .capacity = json::get_int_or(root, "capacity", 0),
              .filled_by = std::string(json::get_string_or(root, "filledBy")),
              .created_ms = json::get_int_or(root, "createdMs", 0)};
}

Outcome<> write_note(int folder, const Note& note) {
  const json::Object members{
      {"uid", note.uid}, {"capacity", note.capacity}, {"filledBy", note.filled_by}, {"createdMs", note.created_ms}};
  std::string text;
  json::write(members, text);
  constexpr const char* part = ".part-note";
  const Descriptor file(::openat(folder, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, file_mode));
  if (!file) return system_failed("the note of a disk cannot be written");
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return system_failed("the note of a disk cannot be written");
  if (auto synced = sync(file.get(), part); !synced) return synced;
  if (::renameat(folder, part, folder, note_file) != 0) return system_failed("the note of a disk cannot be renamed");
  return sync(folder, "the folder of a disk");
}

std::int64_t size_of_image(int folder) {
  struct stat info{};
  if (::fstatat(folder, image_file, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) return 0;
  return info.st_size;
}

namespace {

// The image, and folders of archives and of the state of VMs, in order.
std::string held_in(int folder) {
  std::string held;
  const auto is_filled = [&](const std::string& name) {
    if (name == image_file) return size_of_image(folder) > 0;
    const auto below = is_folder(folder, name) ? open_below(folder, name) : failed(DiskError::other, {});
    return below && !names_in(below->get()).empty();
  };
  for (const std::string name : {unpacked_folder, image_file, "nvram", "tpm"})
    if (is_filled(name)) held.append(held.empty() ? "" : ",").append(name);
  return held;
}

}  // namespace

DiskClaim describe_claim(int folder) {
  const Note note = read_note(folder).value_or(Note());
  return {.uid = note.uid,
          .capacity = note.capacity,
          .image_size = size_of_image(folder),
          .filled_by = note.filled_by,
          .holds = held_in(folder)};
}

ImageRecord describe_record(int folder) {
  const auto note = read_note(folder);
  const std::int64_t size = size_of_image(folder);
  if (!note) return {.virtual_size = size, .error = note.error().message};
  return {.virtual_size = size,
          .created_at = std::chrono::system_clock::time_point(std::chrono::milliseconds(note->created_ms)),
          .ready = true};
}

Outcome<DiskFolder> DiskFolder::open(const std::string& path, std::int64_t reserve) {
  if (::mkdir(path.c_str(), folder_mode) != 0 && errno != EEXIST)
    return system_failed(fmt::format("{} cannot be made", path));
  Descriptor root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return system_failed(fmt::format("{} cannot be opened", path));
  // Here, since a job that is confined to it cannot make it.
  if (::mkdirat(root.get(), scratch_folder, folder_mode) != 0 && errno != EEXIST)
    return system_failed(fmt::format("{} cannot be made", scratch_folder));
  return DiskFolder(std::move(root), reserve);
}

bool DiskFolder::is_at(const std::string& path) const {
  struct stat opened{}, there{};
  return ::fstat(root_.get(), &opened) == 0 && ::stat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

Outcome<Descriptor> DiskFolder::claim(const DiskClaimName& name) const {
  for (const std::string& part : {name.ns, name.name})
    if (auto good = check_name(part); !good) return std::unexpected(good.error());
  auto ns = pass_through(root_.get(), name.ns);
  return ns ? open_below(ns->get(), name.name) : std::move(ns);
}

Outcome<Descriptor> DiskFolder::make_claim(const DiskClaimName& name) const {
  for (const std::string& part : {name.ns, name.name})
    if (auto good = check_name(part); !good) return std::unexpected(good.error());
  auto ns = make_below(root_.get(), name.ns);
  return ns ? make_below(ns->get(), name.name) : std::move(ns);
}

Outcome<> DiskFolder::remove_claim(const DiskClaimName& name) const {
  if (!claim(name)) return {};
  auto ns = open_below(root_.get(), name.ns);
  if (!ns) return std::unexpected(ns.error());
  // Out of sight at once, so that a crash meanwhile leaves no half of a claim.
  const std::string part = fmt::format(".part-gone-{}", name.name);
  if (auto removed = remove_tree(ns->get(), part); !removed) return removed;
  if (::renameat(ns->get(), name.name.c_str(), ns->get(), part.c_str()) != 0)
    return system_failed(fmt::format("the folder {} cannot be removed", name.name));
  if (auto synced = sync(ns->get(), name.ns); !synced) return synced;
  auto removed = remove_tree(ns->get(), part);
  ::unlinkat(root_.get(), name.ns.c_str(), AT_REMOVEDIR);  // when it was the last one
  return removed;
}

Outcome<> DiskFolder::retain_claim(const DiskClaimName& name, const std::string& as) const {
  if (auto good = check_name(as); !good) return good;
  if (!claim(name)) return {};
  auto ns = open_below(root_.get(), name.ns);
  auto released = make_below(root_.get(), released_folder);
  if (!ns) return std::unexpected(ns.error());
  if (!released) return std::unexpected(released.error());
  if (::renameat(ns->get(), name.name.c_str(), released->get(), as.c_str()) != 0)
    return system_failed(fmt::format("the folder {} cannot be moved", name.name));
  if (auto synced = sync(released->get(), released_folder); !synced) return synced;
  return sync(ns->get(), name.ns);
}

Outcome<> DiskFolder::remove_retained(const std::string& uid) const {
  const auto released = open_below(root_.get(), released_folder);
  for (const std::string& name : released ? names_in(released->get()) : std::vector<std::string>()) {
    if (!name.starts_with(fmt::format("pvc-{}", uid))) continue;
    const auto folder = open_below(released->get(), name);
    const auto note = folder ? read_note(folder->get()) : failed(DiskError::other, {});
    if (!note || note->uid != uid) continue;
    if (auto closed = check_closed(folder->get()); !closed) return closed;
    if (auto removed = remove_tree(released->get(), name); !removed) return removed;
  }
  return {};
}

Outcome<Descriptor> DiskFolder::record(const std::string& name) const {
  if (auto good = check_name(name); !good) return std::unexpected(good.error());
  auto records = pass_through(root_.get(), records_folder);
  return records ? open_below(records->get(), name) : std::move(records);
}

Outcome<Descriptor> DiskFolder::make_record(const std::string& name) const {
  if (auto good = check_name(name); !good) return std::unexpected(good.error());
  auto records = make_below(root_.get(), records_folder);
  return records ? make_below(records->get(), name) : std::move(records);
}

Outcome<> DiskFolder::remove_record(const std::string& name) const {
  if (!record(name)) return {};
  auto records = open_below(root_.get(), records_folder);
  if (!records) return std::unexpected(records.error());
  const std::string part = fmt::format(".part-gone-{}", name);
  if (auto removed = remove_tree(records->get(), part); !removed) return removed;
  if (::renameat(records->get(), name.c_str(), records->get(), part.c_str()) != 0)
    return system_failed(fmt::format("the record {} cannot be removed", name));
  if (auto synced = sync(records->get(), records_folder); !synced) return synced;
  return remove_tree(records->get(), part);
}

Outcome<Descriptor> DiskFolder::make_scratch(const std::string& name) const {
  if (auto good = check_name(name); !good) return std::unexpected(good.error());
  auto all = pass_through(root_.get(), scratch_folder);
  if (!all) return all;
  // It is cleared at the next start, so nothing is synced, which a descriptor to go through could not be.
  if (::mkdirat(all->get(), name.c_str(), folder_mode) != 0 && errno != EEXIST)
    return system_failed(fmt::format("the folder {} cannot be made", name));
  return open_below(all->get(), name);
}

Outcome<> DiskFolder::remove_scratch(const std::string& name) const {
  if (auto good = check_name(name); !good) return good;
  const auto all = pass_through(root_.get(), scratch_folder);
  return all ? remove_tree(all->get(), name) : Outcome<>();
}

std::vector<std::pair<DiskClaimName, DiskClaim>> DiskFolder::claims(const std::function<void()>& seen) const {
  std::vector<std::pair<DiskClaimName, DiskClaim>> found;
  for (const std::string& ns : names_in(root_.get())) {
    const auto folder = ns.starts_with('.') ? failed(DiskError::other, {}) : open_below(root_.get(), ns);
    if (!folder) continue;
    for (const std::string& name : names_in(folder->get())) {
      seen();
      if (const auto one = claim({.ns = ns, .name = name}); one && read_note(one->get()))
        found.emplace_back(DiskClaimName{.ns = ns, .name = name}, describe_claim(one->get()));
    }
  }
  return found;
}

std::vector<std::pair<std::string, ImageRecord>> DiskFolder::records() const {
  std::vector<std::pair<std::string, ImageRecord>> found;
  const auto folder = open_below(root_.get(), records_folder);
  if (!folder) return found;
  for (const std::string& name : names_in(folder->get()))
    if (const auto one = record(name)) found.emplace_back(name, describe_record(one->get()));
  return found;
}

namespace {

// A node may still be writing it, and says when it is done or has failed.
bool is_copied_by_node(int folder) {
  const auto copy = read_live(folder);
  return copy && copy->state != LiveCopy::State::failed && copy->silent <= limits::live_copy_silence_max;
}

bool has_no_note(int folder) {
  struct stat info{};
  return ::fstatat(folder, note_file, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

// Below a folder of folders: parts of the folders themselves, and what is not whole in each. A folder without a note
// was never finished either, and goes; but for one of a claim that has anything in it, which somebody is putting back.
void clear_parts(int parent, bool of_claims, steady_clock::time_point until) {
  for (const std::string& name : names_in(parent)) {
    const auto folder = open_below(parent, name);
    const bool unfinished = folder && has_no_note(folder->get());
    if (unfinished && is_copied_by_node(folder->get())) continue;
    if (name.starts_with(part_prefix) || (unfinished && !of_claims)) {
      (void)remove_tree(parent, name, until);  // what cannot be removed now is tried at the next start
      continue;
    }
    if (!folder) continue;
    clear_parts_of(folder->get(), until);
    if (unfinished) ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

void clear_parts_of(int folder, steady_clock::time_point until) {
  for (const std::string& entry : names_in(folder))
    if (steady_clock::now() < until && entry.starts_with(part_prefix))
      (void)remove_tree(folder, entry, until);  // else at the next start
}

// QEMU locks bytes of every image that it has open, wherever its name leads to meanwhile.
Outcome<> check_closed(int folder) {
  const Descriptor image(::openat(folder, image_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct flock any{};
  any.l_type = F_WRLCK;
  any.l_whence = SEEK_SET;
  if (!image || ::fcntl(image.get(), F_OFD_GETLK, &any) != 0 || any.l_type == F_UNLCK) return {};
  return failed(DiskError::other, "the image is open in a hypervisor; it is removed once the guest has ended");
}

void DiskFolder::clear_unfinished() const {
  const auto until = steady_clock::now() + limits::disk_clear_time_max;
  for (const std::string& name : names_in(root_.get())) {
    const auto folder = open_below(root_.get(), name);
    if (folder && name != released_folder) clear_parts(folder->get(), !name.starts_with('.'), until);
  }
}

std::int64_t DiskFolder::free_bytes() const { return room_on(root_.get(), reserve_); }

}  // namespace vg::disks
