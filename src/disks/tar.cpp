#include "disks/tar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/disk_limits.h"

namespace vg::disks {
namespace {

constexpr std::size_t block = 512;
using Block = std::array<char, block>;

std::unexpected<Failure> broken(std::string_view what) {
  return failed(DiskError::bad_image, fmt::format("the archive cannot be read: {}", what));
}

std::string_view field(const Block& head, std::size_t at, std::size_t length) {
  const std::string_view text(head.data() + at, length);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

// Octal digits, or a number in base 256 whose first bit is set.
std::int64_t number(const Block& head, std::size_t at, std::size_t length) {
  if ((static_cast<unsigned char>(head[at]) & 0x80U) != 0) {
    std::uint64_t value = static_cast<unsigned char>(head[at]) & 0x7fU;
    for (std::size_t i = 1; i < length; ++i) {
      if (value > (std::uint64_t{1} << 54U)) return -1;
      value = value << 8U | static_cast<unsigned char>(head[at + i]);
    }
    return static_cast<std::int64_t>(value);
  }
  std::int64_t value = 0;
  for (const char c : field(head, at, length)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7') return -1;
    value = value * 8 + (c - '0');
  }
  return value;
}

bool checksum_is_right(const Block& head) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < block; ++i)
    sum += i >= 148 && i < 156 ? static_cast<unsigned>(' ') : static_cast<unsigned char>(head[i]);
  return number(head, 148, 8) == static_cast<std::int64_t>(sum);
}

TarEntry::Type type_of(char flag) {
  switch (flag) {
    case '\0':
    case '0':
    case '7':
      return TarEntry::Type::file;
    case '1':
      return TarEntry::Type::hardlink;
    case '2':
      return TarEntry::Type::symlink;
    case '5':
      return TarEntry::Type::folder;
    default:
      return TarEntry::Type::other;
  }
}

std::int64_t padding_of(std::int64_t size) {
  const auto whole = static_cast<std::int64_t>(block);
  return (whole - size % whole) % whole;
}

// "27 path=...\n" records.
void read_pax(std::string_view text, TarEntry& entry, bool& has_size) {
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || length <= digits + 1 || length > text.size()) return;
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") entry.name = value;
    if (key == "linkpath") entry.target = value;
    if (key == "size")
      has_size = std::from_chars(value.data(), value.data() + value.size(), entry.size).ec == std::errc();
    text.remove_prefix(length);
  }
}

}  // namespace

Outcome<bool> TarReader::fill(char* to, std::size_t bytes) {
  std::size_t have = 0;
  while (have < bytes) {
    const std::int64_t got = source_(to + have, bytes - have);
    if (got < 0) return broken("its bytes cannot be read");
    if (got == 0) {
      if (have == 0) return false;
      return broken("it ends too early");
    }
    have += static_cast<std::size_t>(got);
  }
  return true;
}

Outcome<> TarReader::skip(std::int64_t bytes) {
  std::array<char, 64 * 1024> buffer{};
  while (bytes > 0) {
    const auto step = std::min<std::int64_t>(bytes, buffer.size());
    const auto filled = fill(buffer.data(), static_cast<std::size_t>(step));
    if (!filled) return std::unexpected(filled.error());
    if (!*filled) return broken("it ends too early");
    bytes -= step;
  }
  return {};
}

Outcome<std::string> TarReader::read_text(std::int64_t size) {
  if (size < 0 || size > static_cast<std::int64_t>(limits::disk_note_bytes_max)) return broken("a name is too long");
  std::string text(static_cast<std::size_t>(size), '\0');
  const auto filled = fill(text.data(), text.size());
  if (!filled) return std::unexpected(filled.error());
  if (auto skipped = skip(padding_of(size)); !skipped) return std::unexpected(skipped.error());
  return text;
}

// What stands before an entry and is about it.
Outcome<> TarReader::extension(char type, std::int64_t size, TarEntry& entry, bool& has_size) {
  auto text = read_text(size);
  if (!text) return std::unexpected(text.error());
  if (type == 'x') {
    read_pax(*text, entry, has_size);
  } else if (type == 'L' || type == 'K') {
    text->resize(std::min(text->find('\0'), text->size()));
    (type == 'L' ? entry.name : entry.target) = *text;
  }
  return {};
}

Outcome<std::optional<TarEntry>> TarReader::next() {
  if (auto skipped = skip(std::exchange(left_, 0) + std::exchange(padding_, 0)); !skipped)
    return std::unexpected(skipped.error());
  TarEntry entry;
  bool has_size = false;
  while (true) {
    Block head{};
    const auto filled = fill(head.data(), head.size());
    if (!filled) return std::unexpected(filled.error());
    if (!*filled || std::ranges::all_of(head, [](char c) { return c == '\0'; })) return std::optional<TarEntry>();
    if (++entries_ > limits::archive_entries_max) return broken("it has too many entries");
    if (!checksum_is_right(head)) return broken("it is no tar archive");
    const std::int64_t size = number(head, 124, 12);
    if (size < 0) return broken("an entry has no size");
    const char flag = head[156];
    if (flag == 'x' || flag == 'g' || flag == 'L' || flag == 'K') {
      if (auto read = extension(flag, size, entry, has_size); !read) return std::unexpected(read.error());
      continue;
    }
    entry.type = type_of(flag);
    entry.mode = static_cast<unsigned>(std::max<std::int64_t>(0, number(head, 100, 8)));
    if (!has_size) entry.size = size;
    if (entry.name.empty()) {
      const std::string_view prefix = field(head, 257, 6) == "ustar" ? field(head, 345, 155) : std::string_view();
      entry.name =
          prefix.empty() ? std::string(field(head, 0, 100)) : fmt::format("{}/{}", prefix, field(head, 0, 100));
    }
    if (entry.target.empty()) entry.target = field(head, 157, 100);
    if (entry.name.size() > limits::archive_name_bytes_max || entry.size < 0) return broken("a name is too long");
    left_ = entry.type == TarEntry::Type::file || entry.type == TarEntry::Type::other ? entry.size : 0;
    padding_ = padding_of(left_);
    return std::optional(std::move(entry));
  }
}

Outcome<std::size_t> TarReader::read(char* to, std::size_t bytes) {
  const auto step = static_cast<std::size_t>(std::min<std::int64_t>(left_, static_cast<std::int64_t>(bytes)));
  if (step == 0) return 0U;
  const auto filled = fill(to, step);
  if (!filled) return std::unexpected(filled.error());
  if (!*filled) return broken("it ends too early");
  left_ -= static_cast<std::int64_t>(step);
  return step;
}

}  // namespace vg::disks
