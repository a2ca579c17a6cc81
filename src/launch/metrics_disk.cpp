#include "launch/metrics_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/image_limits.h"

namespace vg::launch {
namespace {

constexpr std::size_t header_bytes = 16;
constexpr std::string_view nothing = "<metrics></metrics>\n";

// Big-endian: signature, whether it is being written, sum of the document's bytes, its length.
std::string header_of(std::string_view document, bool is_written) {
  std::uint32_t sum = 0;
  for (const char c : document) sum += static_cast<unsigned char>(c);
  std::string header = "mvbd";
  for (const std::uint32_t number :
       {std::uint32_t{is_written ? 1U : 0U}, sum, static_cast<std::uint32_t>(document.size())})
    for (const int shift : {24, 16, 8, 0}) header += static_cast<char>(number >> shift & 0xff);
  return header;
}

std::string_view fitting(std::string_view document) {
  return document.size() <= limits::metrics_disk_bytes - header_bytes ? document : nothing;
}

bool write_at(int file, std::string_view bytes, off_t at) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file, bytes.data(), bytes.size(), at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
    at += done;
  }
  return true;
}

}  // namespace

std::string metrics_disk(std::string_view document) {
  document = fitting(document);
  std::string disk = header_of(document, false);
  disk += document;
  disk.resize(limits::metrics_disk_bytes, '\0');
  return disk;
}

Result<void> rewrite_metrics_disk(const std::string& path, std::string_view document) {
  document = fitting(document);
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  const bool written = file >= 0 && write_at(file, header_of(document, true), 0) &&
                       write_at(file, document, header_bytes) && write_at(file, header_of(document, false), 0);
  const int code = errno;
  if (file >= 0) ::close(file);
  if (written) return {};
  return fail(Status::internal_error(fmt::format("cannot write {}: {}", path, std::generic_category().message(code))));
}

}  // namespace vg::launch
