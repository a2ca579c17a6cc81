#include "exports/bytes.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/disk_limits.h"
#include "server/path.h"

namespace vg::exports {
namespace {

Failed unreadable(std::string_view what) {
  return fail(Status::internal_error(fmt::format("{} cannot be read: {}", what, std::strerror(errno))));
}

Failed not_there(std::string_view name) {
  return fail(Status::not_found("export.kubevirt.io", "files", std::string(name)));
}

struct FolderReader {
  explicit FolderReader(int folder) : handle(::fdopendir(folder)) {}
  ~FolderReader() {
    if (handle) ::closedir(handle);
  }
  FolderReader(const FolderReader&) = delete;
  FolderReader& operator=(const FolderReader&) = delete;
  DIR* handle;
};

// Where a link points to; nothing when it is none.
std::optional<std::string> link_at(int folder, const std::string& name) {
  std::string target(limits::archive_name_bytes_max, '\0');
  const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (length < 0) return std::nullopt;
  target.resize(static_cast<std::size_t>(length));
  return target;
}

// The steps of a path, the next one last.
void put_steps(std::vector<std::string>& steps, std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
    if (const std::string_view step = path.substr(begin); !step.empty() && step != ".") steps.emplace_back(step);
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

// What a file holds beside holes; all of it where the file system does not tell.
std::vector<std::pair<std::uint64_t, std::uint64_t>> data_in(int file, std::uint64_t size) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
  const auto length = static_cast<off_t>(size);
  for (off_t at = 0; at < length;) {
    const off_t from = ::lseek(file, at, SEEK_DATA);
    if (from < 0 && errno == ENXIO) break;
    const off_t to = from < 0 ? -1 : ::lseek(file, from, SEEK_HOLE);
    if (to < 0 || extents.size() == limits::export_extents_max) {
      extents.emplace_back(at, length);
      break;
    }
    if (from >= length) break;
    extents.emplace_back(from, std::min(to, length));
    at = to;
  }
  return extents;
}

}  // namespace

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  FolderReader reader(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (const dirent* entry = reader.handle ? ::readdir(reader.handle) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() > limits::export_files_max) break;
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string folder_page(const std::vector<std::string>& names, std::string_view before) {
  std::string page = "<!doctype html>\n<pre>\n";
  for (const std::string& name : names) {
    std::string shown;
    for (const char c : name) shown += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    page += fmt::format("<a href=\"{}{}\">{}</a>\n", before, server::percent_encode(name), shown);
  }
  return page + "</pre>\n";
}

Result<disks::Descriptor> open_below(int folder, std::string_view path, bool is_folder) {
  disks::Descriptor at(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  while (at && !path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string step(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (step.empty() || step == "." || step == "..") return not_there(step);
    const bool last = path.empty();
    // Not a device or pipe that would be waited for.
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (!last || is_folder ? O_DIRECTORY : 0);
    disks::Descriptor next(::openat(at.get(), step.c_str(), flags));
    if (!next && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return not_there(step);
    if (!next) return unreadable(step);
    at = std::move(next);
  }
  if (!at) return unreadable("a folder");
  return at;
}

Result<disks::Descriptor> open_inside(int folder, std::string_view path, bool is_folder) {
  std::vector<disks::Descriptor> way;  // one step deeper each
  way.emplace_back(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  std::vector<std::string> steps;
  put_steps(steps, path);
  for (int links = 0; !steps.empty();) {
    const std::string step = std::move(steps.back());
    steps.pop_back();
    if (step == "..") {
      way.pop_back();
      if (way.empty()) return not_there(step);
    } else if (const auto target = link_at(way.back().get(), step)) {
      if (++links > limits::export_links_max || target->starts_with('/')) return not_there(step);
      put_steps(steps, *target);
    } else {
      if (way.size() > limits::archive_depth_max) return not_there(step);
      auto next = open_below(way.back().get(), step, !steps.empty() || is_folder);
      if (!next) return next;
      way.push_back(std::move(*next));
    }
  }
  return std::move(way.back());
}

Result<std::uint64_t> size_of(const disks::Descriptor& file) {
  struct stat state = {};
  if (::fstat(file.get(), &state) != 0) return unreadable("a file");
  if (!S_ISREG(state.st_mode)) return not_there("a regular file");
  return static_cast<std::uint64_t>(state.st_size);
}

// --- a part of a file ------------------------------------------------------------------------------------------------

Result<std::size_t> FilePart::read(std::span<char> into) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
  std::size_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::pread(file_.get(), into.data() + done, wanted - done, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable("the image");
    if (got == 0) return fail(Status::internal_error("the image became shorter while it was read"));
    done += static_cast<std::size_t>(got);
    at_ += static_cast<std::uint64_t>(got);
  }
  left_ -= done;
  return done;
}

// --- tar -------------------------------------------------------------------------------------------------------------

void TarArchive::Free::operator()(archive* given) const { archive_write_free(given); }

TarArchive::TarArchive(disks::Descriptor folder)
    : folder_(std::move(folder)), archive_(archive_write_new()), piece_(limits::export_piece_bytes) {
  archive* to = archive_.get();
  const auto write = [](archive*, void* self, const void* bytes, std::size_t length) {
    static_cast<TarArchive*>(self)->pending_.append(static_cast<const char*>(bytes), length);
    return static_cast<la_ssize_t>(length);
  };
  // Restricted: what old readers do not know is used where there is no other way, as for holes.
  if (!to || archive_write_set_format_pax_restricted(to) != ARCHIVE_OK ||
      archive_write_set_bytes_per_block(to, 0) != ARCHIVE_OK ||
      archive_write_open(to, this, nullptr, write, nullptr) != ARCHIVE_OK)
    throw std::runtime_error("libarchive cannot be used");
}
TarArchive::~TarArchive() = default;

Result<std::unique_ptr<TarArchive>> TarArchive::open(disks::Descriptor folder, const std::vector<std::string>& names) {
  std::unique_ptr<TarArchive> made(new TarArchive(std::move(folder)));
  if (const auto listed = made->list(made->folder_.get(), names, "", 0); !listed) return fail(listed.error());
  return made;
}

Result<void> TarArchive::add(int parent, const std::string& name, const std::string& path, int depth) {
  if (entries_.size() >= limits::export_files_max)
    return fail(Status::internal_error("there are too many files to be exported as an archive"));
  struct stat state = {};
  if (::fstatat(parent, name.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0) return unreadable(path);
  Entry entry{.path = path, .type = state.st_mode & S_IFMT, .modified = std::max<std::int64_t>(state.st_mtime, 0)};
  if (S_ISREG(state.st_mode)) {
    // Now, since half an archive cannot be taken back.
    if (!open_below(parent, name, false)) return fail(Status::internal_error(fmt::format("{} cannot be read", path)));
    entry.size = static_cast<std::uint64_t>(state.st_size);
    entries_.push_back(std::move(entry));
  } else if (S_ISLNK(state.st_mode)) {
    entry.link = link_at(parent, name).value_or("");
    entries_.push_back(std::move(entry));
  } else if (S_ISDIR(state.st_mode)) {
    entry.path += "/";
    entries_.push_back(std::move(entry));
    const auto below = open_below(parent, name, true);
    if (!below) return fail(below.error());
    return list(below->get(), names_in(below->get()), path + "/", depth + 1);
  }
  return {};
}

Result<void> TarArchive::list(int folder, const std::vector<std::string>& names, const std::string& path, int depth) {
  if (depth > limits::export_folders_max) return fail(Status::internal_error("folders are nested too deeply"));
  for (const std::string& name : names) {
    if (depth == 0 && name == "lost+found") continue;
    if (auto added = add(folder, name, path + name, depth); !added) return added;
  }
  return {};
}

Result<void> TarArchive::wrote(bool good) {
  if (good) return {};
  const char* why = archive_error_string(archive_.get());
  return fail(Status::internal_error(fmt::format("the archive cannot be written: {}", why ? why : "no reason given")));
}

// The header of the next entry; its content is opened if it has one.
Result<void> TarArchive::begin_next() {
  if (next_ == entries_.size()) {
    ended_ = true;
    return wrote(archive_write_close(archive_.get()) == ARCHIVE_OK);
  }
  const Entry& entry = entries_[next_++];
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> head(archive_entry_new(), archive_entry_free);
  archive_entry_copy_pathname(head.get(), entry.path.c_str());
  archive_entry_set_filetype(head.get(), entry.type);
  archive_entry_set_perm(head.get(), S_ISDIR(entry.type) ? 0755 : 0644);
  archive_entry_set_mtime(head.get(), entry.modified, 0);
  archive_entry_set_size(head.get(), static_cast<la_int64_t>(entry.size));
  if (S_ISLNK(entry.type)) archive_entry_copy_symlink(head.get(), entry.link.c_str());
  if (S_ISREG(entry.type)) {
    auto file = open_below(folder_.get(), entry.path, false);
    if (!file) return fail(file.error());
    file_ = std::move(*file);
    at_ = 0;
    size_ = entry.size;
    extents_.clear();
    for (const auto& [from, to] : data_in(file_.get(), size_)) {
      extents_.push_back({from, to});
      archive_entry_sparse_add_entry(head.get(), static_cast<la_int64_t>(from), static_cast<la_int64_t>(to - from));
    }
    // A file that is one hole has a map, too.
    if (extents_.empty() && size_ > 0) archive_entry_sparse_add_entry(head.get(), static_cast<la_int64_t>(size_), 0);
    std::ranges::reverse(extents_);  // the next one last
  }
  // A warning is about names that are no text of this locale: they are written as the bytes they are.
  return wrote(archive_write_header(archive_.get(), head.get()) >= ARCHIVE_WARN);
}

// The next piece of a file. libarchive counts the bytes of holes and writes none of them.
Result<void> TarArchive::go_on() {
  while (!extents_.empty() && at_ >= extents_.back().to) extents_.pop_back();
  const bool in_hole = extents_.empty() || at_ < extents_.back().from;
  const std::uint64_t end = extents_.empty() ? size_ : in_hole ? extents_.back().from : extents_.back().to;
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(end - at_, piece_.size()));
  if (!in_hole) {
    FilePart part(disks::Descriptor(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0)), at_, length);
    if (const auto got = part.read(std::span(piece_).first(length)); !got) return fail(got.error());
  }
  at_ += length;
  return wrote(archive_write_data(archive_.get(), piece_.data(), length) == static_cast<la_ssize_t>(length));
}

Result<void> TarArchive::step() {
  if (file_ && at_ < size_) return go_on();
  file_.close();
  return begin_next();
}

Result<std::size_t> TarArchive::read(std::span<char> into) {
  while (pending_.empty()) {
    if (ended_) return std::size_t{0};
    if (auto done = step(); !done) return fail(done.error());
  }
  const std::size_t count = std::min(into.size(), pending_.size());
  std::memcpy(into.data(), pending_.data(), count);
  pending_.erase(0, count);
  return count;
}

// --- gzip ------------------------------------------------------------------------------------------------------------

struct Gzip::Packer {
  Packer() {
    constexpr int window_bits = 15, as_gzip = 16, memory_level = 8;
    // Images are large and mostly empty: the quickest way packs those as well as any.
    if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits + as_gzip, memory_level, Z_DEFAULT_STRATEGY) !=
        Z_OK)
      throw std::runtime_error("zlib cannot be used");
  }
  ~Packer() { ::deflateEnd(&stream); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  z_stream stream = {};
  std::vector<char> input = std::vector<char>(limits::export_piece_bytes);
  bool source_ended = false, ended = false;
};

Gzip::Gzip(std::unique_ptr<ByteSource> source) : source_(std::move(source)), packer_(std::make_unique<Packer>()) {}
Gzip::~Gzip() = default;

// May give fewer bytes than there is room for: one piece of input at a time keeps a worker busy for milliseconds.
Result<std::size_t> Gzip::read(std::span<char> into) {
  z_stream& stream = packer_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(into.data());
  stream.avail_out = static_cast<uInt>(into.size());
  for (int pieces = 1; !packer_->ended && stream.avail_out == into.size(); ++pieces) {
    if (stream.avail_in == 0 && !packer_->source_ended) {
      const auto got = source_->read(packer_->input);
      if (!got) return got;
      packer_->source_ended = *got == 0;
      stream.next_in = reinterpret_cast<Bytef*>(packer_->input.data());
      stream.avail_in = static_cast<uInt>(*got);
    }
    // Megabytes of zeros leave nothing to be read for long, so that what there is has to come out now and then.
    const bool enough = pieces % limits::export_pieces_at_once == 0;
    const int state = ::deflate(&stream, packer_->source_ended ? Z_FINISH : enough ? Z_SYNC_FLUSH : Z_NO_FLUSH);
    packer_->ended = state == Z_STREAM_END;
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      return fail(Status::internal_error("the bytes cannot be packed"));
  }
  return into.size() - stream.avail_out;
}

}  // namespace vg::exports
