#include "launch/iso.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

#include "base/image_limits.h"

namespace vg::launch {
namespace {

using ArchivePtr = std::unique_ptr<archive, int (*)(archive*)>;
using EntryPtr = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

constexpr std::size_t sector_bytes = 2048, first_descriptor = 16;
constexpr std::size_t label_at = 40, label_bytes = 32;
constexpr char primary = 1, supplementary = 2;
constexpr std::int64_t iso_unit = 1 << 20;  // xorrisofs ends at a whole cylinder, which status shows

Failed iso_failed(std::string_view why) {
  return fail(Status::internal_error(fmt::format("the ISO image cannot be made: {}", why)));
}
Failed iso_failed(archive* writer) {
  const char* why = archive_error_string(writer);
  return iso_failed(why ? why : "unknown reason");
}
Failed iso_failed_by_system() { return iso_failed(std::strerror(errno)); }

Result<void> check(std::string_view label, const std::vector<Step::File>& files) {
  if (label.size() > label_bytes)
    return iso_failed(fmt::format("its label has {} bytes, {} are possible", label.size(), label_bytes));
  std::size_t bytes = 0;
  for (const Step::File& file : files) bytes += file.content.size();
  if (bytes > static_cast<std::size_t>(limits::iso_bytes_max))
    return iso_failed(fmt::format("its files have {} bytes, {} are possible", bytes, limits::iso_bytes_max));
  return {};
}

Result<void> add_file(archive* writer, const Step::File& file) {
  const EntryPtr entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname(entry.get(), file.name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), S_IRUSR | S_IWUSR);
  archive_entry_set_mtime(entry.get(), std::time(nullptr), 0);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(file.content.size()));
  if (archive_write_header(writer, entry.get()) != ARCHIVE_OK) return iso_failed(writer);
  const la_ssize_t wrote = archive_write_data(writer, file.content.data(), file.content.size());
  if (wrote != static_cast<la_ssize_t>(file.content.size())) return iso_failed(writer);
  return {};
}

Result<void> write_files(int file, const std::vector<Step::File>& files) {
  const ArchivePtr writer(archive_write_new(), archive_write_free);
  if (archive_write_set_format_iso9660(writer.get()) != ARCHIVE_OK ||
      archive_write_set_options(writer.get(), "joliet,rockridge=useful,!pad") != ARCHIVE_OK ||
      archive_write_open_fd(writer.get(), file) != ARCHIVE_OK)
    return iso_failed(writer.get());
  for (const Step::File& one : files)
    if (auto added = add_file(writer.get(), one); !added) return added;
  if (archive_write_close(writer.get()) != ARCHIVE_OK) return iso_failed(writer.get());
  return {};
}

// Joliet has two bytes a character.
std::string label_of(char kind, std::string_view label) {
  std::string field;
  for (const char letter : label) {
    if (field.size() == label_bytes) break;
    if (kind == supplementary) field += '\0';
    field += letter;
  }
  while (field.size() < label_bytes) {
    if (kind == supplementary) field += '\0';
    field += ' ';
  }
  return field;
}

// The library would make "config_2" of "config-2", as the standard wants it and nobody looks for it.
Result<void> put_label(int file, std::string_view label) {
  for (std::size_t sector = first_descriptor; sector < first_descriptor + 2; ++sector) {
    const auto at = static_cast<off_t>(sector * sector_bytes);
    char kind = 0;
    if (::pread(file, &kind, 1, at) != 1) return iso_failed_by_system();
    if (kind != primary && kind != supplementary) break;
    const std::string field = label_of(kind, label);
    if (::pwrite(file, field.data(), field.size(), at + static_cast<off_t>(label_at)) !=
        static_cast<ssize_t>(field.size()))
      return iso_failed_by_system();
  }
  return {};
}

Result<void> fill_up(int file) {
  struct stat info{};
  if (::fstat(file, &info) != 0 || ::ftruncate(file, (info.st_size + iso_unit - 1) / iso_unit * iso_unit) != 0)
    return iso_failed_by_system();
  return {};
}

}  // namespace

Result<void> write_iso(int file, std::string_view label, const std::vector<Step::File>& files) {
  if (auto good = check(label, files); !good) return good;
  if (auto written = write_files(file, files); !written) return written;
  if (auto put = put_label(file, label); !put) return put;
  return fill_up(file);
}

}  // namespace vg::launch
