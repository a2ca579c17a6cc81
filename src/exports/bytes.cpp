#include "exports/bytes.h"

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

constexpr std::size_t tar_block = 512;

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

// A number in octal, or in base 256 where it is too large for that.
void put_number(char* field, std::size_t width, std::uint64_t value) {
  if (value >> (3 * (width - 1)) == 0) {
    const std::string text = fmt::format("{:0{}o}", value, width - 1);
    std::ranges::copy(text, field);
    return;
  }
  for (std::size_t i = width; i-- > 0; value >>= 8) field[i] = static_cast<char>(value & 0xff);
  field[0] = static_cast<char>(0x80);
}

struct TarHead {
  std::string_view path;
  char type = '0';
  std::string_view link = {};
  std::uint64_t size = 0;
  std::int64_t modified = 0;
};

constexpr std::size_t tar_name = 100;  // longer ones stand before it, GNU's way

std::string tar_block_of(const TarHead& head) {
  const auto& [path, type, link, size, modified] = head;
  std::string block(tar_block, '\0');
  path.copy(block.data(), tar_name);
  link.copy(&block[157], tar_name);
  put_number(&block[100], 8, type == '5' ? 0755 : 0644);
  put_number(&block[108], 8, 0);
  put_number(&block[116], 8, 0);
  put_number(&block[124], 12, size);
  put_number(&block[136], 12, static_cast<std::uint64_t>(std::max<std::int64_t>(modified, 0)));
  std::memset(&block[148], ' ', 8);
  block[156] = type;
  std::memcpy(&block[257], "ustar  ", 8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  const std::string text = fmt::format("{:06o}", sum);
  std::memcpy(&block[148], text.data(), text.size());
  block[154] = '\0';
  return block;
}

std::string padded(std::string text) {
  text.resize((text.size() + tar_block - 1) / tar_block * tar_block, '\0');
  return text;
}

std::string tar_header(const TarHead& head) {
  std::string blocks;
  for (const auto& [text, type] : {std::pair{head.link, 'K'}, {head.path, 'L'}})
    if (text.size() > tar_name)
      blocks += tar_block_of({.path = "././@LongLink", .type = type, .size = text.size() + 1}) +
                padded(std::string(text) + '\0');
  return blocks + tar_block_of(head);
}

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
  if (S_ISREG(state.st_mode)) {
    // Now, since half an archive cannot be taken back.
    if (!open_below(parent, name, false)) return fail(Status::internal_error(fmt::format("{} cannot be read", path)));
    entries_.push_back({.path = path, .size = static_cast<std::uint64_t>(state.st_size), .modified = state.st_mtime});
  } else if (S_ISLNK(state.st_mode)) {
    entries_.push_back(
        {.path = path, .type = '2', .link = link_at(parent, name).value_or(""), .modified = state.st_mtime});
  } else if (S_ISDIR(state.st_mode)) {
    entries_.push_back({.path = path + "/", .type = '5', .modified = state.st_mtime});
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

// The header of the next entry, and its content if it has one.
Result<void> TarArchive::begin_next() {
  if (next_ == entries_.size()) {
    pending_.append(2 * tar_block, '\0');
    ended_ = true;
    return {};
  }
  const Entry& entry = entries_[next_++];
  pending_ += tar_header(
      {.path = entry.path, .type = entry.type, .link = entry.link, .size = entry.size, .modified = entry.modified});
  if (entry.type != '0') return {};
  auto file = open_below(folder_.get(), entry.path, false);
  if (!file) return fail(file.error());
  content_ = std::make_unique<FilePart>(std::move(*file), 0, entry.size);
  content_size_ = entry.size;
  return {};
}

Result<std::size_t> TarArchive::read(std::span<char> into) {
  while (true) {
    if (!pending_.empty()) {
      const std::size_t count = std::min(into.size(), pending_.size());
      std::memcpy(into.data(), pending_.data(), count);
      pending_.erase(0, count);
      return count;
    }
    if (content_) {
      auto got = content_->read(into);
      if (!got || *got > 0) return got;
      content_ = nullptr;
      pending_.append((tar_block - content_size_ % tar_block) % tar_block, '\0');
      if (!pending_.empty()) continue;
    }
    if (ended_) return std::size_t{0};
    if (auto begun = begin_next(); !begun) return fail(begun.error());
  }
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
