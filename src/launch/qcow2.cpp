#include "launch/qcow2.h"

#include <algorithm>

namespace vg::launch {
namespace {

constexpr std::int64_t cluster_bits = 16, cluster = std::int64_t{1} << cluster_bits;
constexpr std::int64_t bytes_per_l1_entry = cluster * (cluster / 8);
constexpr std::uint32_t qcow2_header_bytes = 112, backing_format_extension = 0xE2792ACA;

void put(std::string& to, std::uint64_t number, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift & 0xff);
}

std::int64_t l1_entries(std::int64_t size) {
  return std::max<std::int64_t>(1, (size + bytes_per_l1_entry - 1) / bytes_per_l1_entry);
}
std::int64_t l1_clusters(std::int64_t size) { return (l1_entries(size) * 8 + cluster - 1) / cluster; }

// The cluster of the header: its extensions and the name of the backing file follow it.
std::string header(std::int64_t size, std::string_view backing, std::string_view format) {
  std::string extensions;
  if (!backing.empty()) {
    put(extensions, backing_format_extension, 4);
    put(extensions, format.size(), 4);
    extensions += format;
    extensions.resize((extensions.size() + 7) / 8 * 8, '\0');
  }
  put(extensions, 0, 8);  // the end of them
  std::string out = "QFI\xfb";
  put(out, 3, 4);
  put(out, backing.empty() ? 0 : qcow2_header_bytes + extensions.size(), 8);
  put(out, backing.size(), 4);
  put(out, cluster_bits, 4);
  put(out, static_cast<std::uint64_t>(size), 8);
  put(out, 0, 4);  // not encrypted
  put(out, static_cast<std::uint64_t>(l1_entries(size)), 4);
  put(out, 3 * cluster, 8);  // the table of clusters, which is empty
  put(out, cluster, 8);      // the table of reference counts
  put(out, 1, 4);
  put(out, 0, 4);  // no snapshots
  for (int i = 0; i < 4; ++i) put(out, 0, 8);
  put(out, 4, 4);  // reference counts of 16 bits
  put(out, qcow2_header_bytes, 4);
  put(out, 0, 8);  // zlib
  return out.append(extensions).append(backing);
}

}  // namespace

std::string qcow2_head(std::int64_t size, std::string_view backing, std::string_view backing_format) {
  std::string out = header(size, backing, backing_format);
  out.resize(cluster, '\0');
  put(out, 2 * cluster, 8);
  out.resize(2 * cluster, '\0');
  for (std::int64_t used = 0; used < 3 + l1_clusters(size); ++used) put(out, 1, 2);
  return out;
}

std::int64_t qcow2_bytes(std::int64_t size) { return (3 + l1_clusters(size)) * cluster; }

Result<std::int64_t> qcow2_size(std::string_view head) {
  if (head.size() < 32 || !head.starts_with("QFI\xfb"))
    return fail(Status::internal_error("this is not a qcow2 image"));
  std::uint64_t size = 0;
  for (const char c : head.substr(24, 8)) size = size << 8 | static_cast<unsigned char>(c);
  if (size > std::uint64_t{1} << 52) return fail(Status::internal_error("the image is too large"));
  return static_cast<std::int64_t>(size);
}

}  // namespace vg::launch
