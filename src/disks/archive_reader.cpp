#include "disks/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/disk_limits.h"
#include "sandbox/landlock.h"

namespace vg::disks {
namespace {

constexpr std::size_t block_bytes = 64 * 1024;

std::unexpected<Failure> broken(std::string_view what) {
  return failed(DiskError::bad_image, fmt::format("the archive cannot be read: {}", what));
}

std::string_view problem_of(archive* given) {
  const char* text = archive_error_string(given);
  return text ? text : "it is broken";
}

// Names are bytes; those of pax are told to be UTF-8 and are handed out as such, whatever the locale.
std::string text_of(const char* bytes, const char* utf8) { return bytes ? bytes : utf8 ? utf8 : ""; }

ArchiveEntry::Type type_of(archive_entry* entry) {
  if (archive_entry_hardlink(entry) || archive_entry_hardlink_utf8(entry)) return ArchiveEntry::Type::hardlink;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return ArchiveEntry::Type::file;
    case AE_IFDIR:
      return ArchiveEntry::Type::folder;
    case AE_IFLNK:
      return ArchiveEntry::Type::symlink;
    default:
      return ArchiveEntry::Type::other;
  }
}

Outcome<> write_at(int file, std::string_view bytes, std::int64_t at) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file, bytes.data(), bytes.size(), at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return system_failed("a file of the archive cannot be written");
    at += put;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace

// What an archive says of its holes is kept in memory by the library, without a bound of its own.
class ArchiveReader::MemoryBound {
 public:
  MemoryBound() {
    if (sandbox::sanitized_build || ::getrlimit(RLIMIT_DATA, &before_) != 0) return;
    rlimit bound = before_;
    bound.rlim_cur = std::min<rlim_t>(before_.rlim_max, used() + limits::archive_memory_bytes_max);
    is_set_ = ::setrlimit(RLIMIT_DATA, &bound) == 0;
  }
  ~MemoryBound() {
    if (is_set_) ::setrlimit(RLIMIT_DATA, &before_);
  }
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;

 private:
  // Data and stack of this process, in bytes.
  static rlim_t used() {
    const Descriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
    std::string text(256, '\0');
    const ssize_t got = file ? ::read(file.get(), text.data(), text.size() - 1) : 0;
    unsigned long pages = 0;
    if (got > 0) (void)std::sscanf(text.c_str(), "%*u %*u %*u %*u %*u %lu", &pages);  // NOLINT: the kernel's numbers
    return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  }
  rlimit before_{};
  bool is_set_ = false;
};

void ArchiveReader::Free::operator()(archive* given) const { archive_read_free(given); }

ArchiveReader::ArchiveReader(int file) : memory_(std::make_unique<MemoryBound>()), archive_(archive_read_new()) {
  archive* from = archive_.get();
  is_open_ = from && archive_read_support_format_tar(from) == ARCHIVE_OK &&
             archive_read_support_format_empty(from) == ARCHIVE_OK &&
             archive_read_set_options(from, "!mac-ext,!read_concatenated_archives") >= ARCHIVE_WARN &&
             archive_read_open_fd(from, file, block_bytes) == ARCHIVE_OK;
}
ArchiveReader::~ArchiveReader() = default;

Outcome<std::optional<ArchiveEntry>> ArchiveReader::next() {
  if (!is_open_) return broken(archive_ ? problem_of(archive_.get()) : "there is no memory for it");
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(archive_.get(), &entry);
  if (status == ARCHIVE_EOF) return std::optional<ArchiveEntry>();
  // A warning is about a name in no known encoding, or a time out of range; what cannot be used is refused below.
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return broken(problem_of(archive_.get()));
  if (++entries_ > limits::archive_entries_max) return broken("it has too many entries");
  ArchiveEntry made{.type = type_of(entry),
                    .name = text_of(archive_entry_pathname(entry), archive_entry_pathname_utf8(entry)),
                    .target = text_of(archive_entry_symlink(entry), archive_entry_symlink_utf8(entry)),
                    .size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0,
                    .mode = archive_entry_perm(entry)};
  if (made.name.empty()) return broken("an entry has no name that can be read");
  if (made.name.size() > limits::archive_name_bytes_max || made.target.size() > limits::archive_name_bytes_max)
    return broken("a name is too long");
  if (made.size < 0) return broken("an entry has no size");
  size_ = made.size;
  return made;
}

Outcome<> ArchiveReader::save(int to, std::int64_t size_max, const std::function<Outcome<>(std::int64_t)>& take) {
  if (size_ > size_max) return failed(DiskError::too_small, "DataVolume too small to contain image");
  const void* data = nullptr;
  std::size_t length = 0;
  la_int64_t at = 0;
  while (true) {
    const int status = archive_read_data_block(archive_.get(), &data, &length, &at);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK) return broken(problem_of(archive_.get()));
    const auto bytes = static_cast<std::int64_t>(length);
    if (at < 0 || at > size_ || bytes > size_ - at) return broken("a file has more than its size");
    if (auto taken = take(bytes); !taken) return taken;
    if (auto put = write_at(to, {static_cast<const char*>(data), length}, at); !put) return put;
  }
  if (::ftruncate(to, size_) != 0) return system_failed("a file of the archive cannot be written");
  return {};
}

}  // namespace vg::disks
