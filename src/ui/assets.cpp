#include "ui/assets.h"

#include <zlib.h>

#include <algorithm>

namespace vg::ui {

const Asset* find_asset(std::string_view path) {
  const auto all = assets();
  const auto found = std::ranges::lower_bound(all, path, {}, &Asset::path);
  return found != all.end() && found->path == path ? &*found : nullptr;
}

Result<std::string> unpack(const Asset& asset) {
  constexpr int with_gzip_header = 15 + 16;
  std::string plain(asset.bytes, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, with_gzip_header) != Z_OK)
    return fail(Status::internal_error("no memory to unpack a file"));
  // zlib reads from it only, whatever its declaration says.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(asset.packed.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(asset.packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  const int ended = inflate(&stream, Z_FINISH);
  const bool whole = ended == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) return fail(Status::internal_error("a file of the page cannot be unpacked"));
  return plain;
}

}  // namespace vg::ui
