// What a request to an export means: its path, and the part of a file that it wants (spec copies 6.5). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::exports {

enum class Form : std::uint8_t { raw, gzip, folder, archive, manifests, secret };

struct ExportPath {
  std::string ns, name;
  Form form = Form::raw;
  std::string volume = {};     // of raw, gzip, folder, archive
  std::string file = {};       // of folder: below it; empty: the folder itself
  bool below_slash = false;    // of folder: "dir/..." and not "dir"
  std::string_view side = {};  // of manifests and secret: "internal" or "external"
};

// `rest` follows "/api/export.kubevirt.io/", decoded. 400 for what is no path of an export, 404 for one that nothing is
// at.
Result<ExportPath> parse_export_path(std::string_view rest);

// What the links of a folder's page begin with: browsers put them behind the last slash of the page's own path.
std::string page_base(const ExportPath& path);

struct ByteRange {
  std::uint64_t from = 0, length = 0;
};
enum class RangeState : std::uint8_t { whole, part, unsatisfiable };
struct RangeAnswer {
  RangeState state = RangeState::whole;
  ByteRange range = {};
};
// One range of a file of that size (RFC 9110 14.2). Several at once, and what is no range of bytes, is answered with
// the whole.
RangeAnswer read_range(std::optional<std::string_view> header, std::uint64_t size);

}  // namespace vg::exports
