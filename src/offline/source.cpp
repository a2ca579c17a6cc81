#include "offline/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/offline_limits.h"

namespace vg::offline {
namespace {

constexpr std::size_t block_bytes = 256UL * 1024;

Status cannot(std::string_view what, std::string_view name, int error) {
  return Status::internal_error(fmt::format("{} {}: {}", what, name, std::strerror(error)));
}

class OpenFile final : public Source {
 public:
  OpenFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  ~OpenFile() override { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& name() const override { return name_; }
  Result<std::string> read(std::uint64_t offset, std::size_t bytes) const override {
    std::string text(bytes, '\0');
    std::size_t done = 0;
    while (done < bytes) {
      const auto got = ::pread(descriptor_, text.data() + done, bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(cannot("cannot read", name_, errno));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    text.shrink_to_fit();  // most files are far smaller than a block, and many of them may wait to be judged
    return text;
  }

 private:
  std::string name_;
  int descriptor_;
};

class KeptText final : public Source {
 public:
  KeptText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  const std::string& name() const override { return name_; }
  Result<std::string> read(std::uint64_t offset, std::size_t bytes) const override {
    return offset >= text_.size() ? std::string() : text_.substr(offset, bytes);
  }

 private:
  std::string name_, text_;
};

bool ends_line(std::string_view rest) { return rest.empty() || std::string_view(" \t\r\n").contains(rest.front()); }

// What a line that divides documents looks like, from its beginning on.
bool is_marker(std::string_view rest, std::string_view marker) {
  return rest.starts_with(marker) && ends_line(rest.substr(marker.size()));
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// A line that says nothing of the document itself.
bool is_idle(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t\r");
  return begin == line.npos || line[begin] == '#' || line.front() == '%' || line.starts_with("\xEF\xBB\xBF#");
}

bool only_idle_lines(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = first_line(text);
    if (!is_idle(line)) return false;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return true;
}

// Where the JSON value at the beginning of a text ends, if another one follows it; else the whole text. What is no
// JSON, but begins like it, is divided only where it could not be one document either.
std::size_t first_value_bytes(std::string_view text) {
  std::size_t at = text.find_first_not_of(" \t\r\n");
  if (at == text.npos || text[at] != '{') return text.size();
  bool quoted = false;
  for (std::size_t depth = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) break;
  }
  if (at >= text.size()) return text.size();
  const auto next = text.find_first_not_of(" \t\r\n", at + 1);
  return next != text.npos && text[next] == '{' ? next : text.size();
}

bool is_manifest(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

// Bytes that no text has. UTF-16 is the usual one, of editors and shells on Windows.
std::optional<std::string> find_binary(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return "is UTF-16 text; save it as UTF-8";
  if (text.substr(0, block_bytes).contains('\0')) return "is not a text file; only YAML and JSON can be checked";
  return std::nullopt;
}

using FolderId = std::pair<dev_t, ino_t>;

// Whoever opens a pipe waits for its other end, which a folder must not make anybody do. What cannot be looked at is
// told when it is opened.
bool is_regular(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as manifest_folder_depth_max
Result<void> gather(const std::string& folder, int depth, std::set<FolderId>& seen, std::vector<std::string>& files) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) return fail(cannot("cannot read", folder, errno));
  if (!seen.emplace(info.st_dev, info.st_ino).second) return {};
  if (depth > limits::manifest_folder_depth_max)
    return fail(Status::internal_error(
        fmt::format("folder {} is nested too deep (at most {})", folder, limits::manifest_folder_depth_max)));
  DIR* open = ::opendir(folder.c_str());
  if (!open) return fail(cannot("cannot read folder", folder, errno));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(open);
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const std::string path = folder.ends_with('/') ? folder + name : fmt::format("{}/{}", folder, name);
    if (is_folder(path)) {
      if (auto inner = gather(path, depth + 1, seen, files); !inner) return inner;
    } else if (is_manifest(name) && is_regular(path)) {
      if (files.size() >= limits::manifest_files_max)
        return fail(
            Status::internal_error(fmt::format("more than {} files below {}", limits::manifest_files_max, folder)));
      files.push_back(path);
    }
  }
  return {};
}

}  // namespace

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

Result<std::unique_ptr<Source>> open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(cannot("cannot open", path, errno));
  struct stat info{};
  if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode))
    return std::unique_ptr<Source>(std::make_unique<OpenFile>(path, descriptor));
  // A pipe that a shell made of a command's output, for instance.
  auto kept = S_ISDIR(info.st_mode) ? Result<std::unique_ptr<Source>>(fail(cannot("cannot read", path, EISDIR)))
                                    : read_pipe(path, descriptor);
  ::close(descriptor);
  return kept;
}

Result<std::unique_ptr<Source>> read_pipe(std::string name, int descriptor) {
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    if (before > limits::pipe_bytes_max)
      return fail(Status::too_large(
          fmt::format("{} has more than {} bytes; write it to a file first", name, limits::pipe_bytes_max)));
    text.resize(before + block_bytes);
    const auto got = ::read(descriptor, text.data() + before, block_bytes);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(cannot("cannot read", name, errno));
    if (got == 0) return text_source(std::move(name), std::move(text));
  }
}

std::unique_ptr<Source> text_source(std::string name, std::string text) {
  return std::make_unique<KeptText>(std::move(name), std::move(text));
}

bool is_folder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::set<FolderId> seen;
  if (auto gathered = gather(folder, 0, seen, files); !gathered) return fail(std::move(gathered.error()));
  return files;
}

bool is_blank(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = first_line(text);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    for (const std::string_view marker : {"---", "..."})
      if (is_marker(line, marker)) line.remove_prefix(marker.size());
    if (!line.empty() && !is_idle(line)) return false;
  }
  return true;
}

Result<void> PieceReader::fill() {
  auto block = source_.read(read_, block_bytes);
  if (!block) return fail(std::move(block.error()));
  if (auto binary = read_ == 0 ? find_binary(*block) : std::nullopt)
    return fail(Status::bad_request(fmt::format("{} {}", source_.name(), *binary)));
  read_ += block->size();
  ended_ = block->size() < block_bytes;
  buffer_.erase(0, std::exchange(used_, 0));
  if (buffer_.empty())
    buffer_ = std::move(*block);
  else
    buffer_ += *block;
  return {};
}

// Where the document at the beginning of the buffer ends: before a line with a marker that has something above it.
// Markers stand at the beginning of a line and nowhere else, whatever the line is part of, so looking for them is
// exact.
std::optional<std::size_t> PieceReader::find_end(std::size_t from) const {
  const std::string_view text = left();
  for (std::size_t at = text.find('\n', from); at != text.npos; at = text.find('\n', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.size() < 4 && !ended_) return std::nullopt;
    if (is_marker(rest, "...")) return at + 1 + std::min(first_line(rest).size() + 1, rest.size());
    if (is_marker(rest, "---") && !only_idle_lines(text.substr(0, at + 1))) return at + 1;
  }
  return std::nullopt;
}

Piece PieceReader::take(std::size_t bytes) {
  Piece piece{.offset = begin_, .line = line_, .column = column_};
  if (used_ == 0 && bytes == buffer_.size()) {
    piece.text = std::exchange(buffer_, {});  // a long one is not copied
  } else {
    piece.text = left().substr(0, bytes);
    used_ += bytes;
  }
  begin_ += bytes;
  line_ += static_cast<std::size_t>(std::ranges::count(piece.text, '\n'));
  const std::string_view last =
      std::string_view(piece.text).substr(piece.text.rfind('\n') + 1);  // npos + 1 is the start
  const bool same_line = last.size() == piece.text.size();
  column_ = (same_line ? column_ : 1) + count_characters(last);
  return piece;
}

Piece PieceReader::take_value() {
  const std::size_t bytes = first_value_bytes(left().substr(0, pending_));
  pending_ -= bytes;
  return take(bytes);
}

Result<void> PieceReader::skip_rest() {
  while (true) {
    if (const auto end = find_end(0)) {
      take(*end);
      return {};
    }
    // The last line may be the beginning of a marker.
    const std::size_t line = left().rfind('\n');
    take(ended_ || line == left().npos ? left().size() : line);
    if (ended_) return {};
    if (auto filled = fill(); !filled) return filled;
  }
}

Result<std::optional<Piece>> PieceReader::next() {
  std::size_t searched = 0;
  while (pending_ == 0) {
    if (const auto end = find_end(searched)) {
      pending_ = *end;
      break;
    }
    if (ended_) {
      if (left().empty()) return std::nullopt;
      pending_ = left().size();
      break;
    }
    if (left().size() > limits::document_bytes_max) {
      Piece piece{.offset = begin_,
                  .line = line_,
                  .column = column_,
                  .text = std::string(left().substr(0, block_bytes)),
                  .too_long = true};
      if (auto skipped = skip_rest(); !skipped) return fail(std::move(skipped.error()));
      return piece;
    }
    searched = left().size() < 4 ? 0 : left().size() - 4;
    if (auto filled = fill(); !filled) return fail(std::move(filled.error()));
  }
  return take_value();
}

}  // namespace vg::offline
