#include "exports/request.h"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "base/names.h"
#include "server/path.h"

namespace vg::exports {
namespace {

std::vector<std::string_view> segments_of(std::string_view path, std::size_t most) {
  std::vector<std::string_view> all;
  while (all.size() + 1 < most) {
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) break;
    all.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  all.push_back(path);
  return all;
}

bool is_name(std::string_view text) { return !text.empty() && dns1123_subdomain_defects(text).empty(); }

// Below one of a volume's folders: no step leaves it.
bool is_inside(std::string_view path) {
  for (const std::string_view step : segments_of(path, SIZE_MAX))
    if (step == ".." || step == "." || step.find('\0') != std::string_view::npos) return false;
  return true;
}

Failed nothing_there() { return fail(Status::not_found("export.kubevirt.io", "virtualmachineexports", "")); }

Result<ExportPath> read_volume(ExportPath path, std::string_view rest) {
  const auto parts = segments_of(rest, 3);  // VOLUME / WHAT / FILE
  if (parts.size() < 2 || !is_name(parts[0])) return nothing_there();
  path.volume = parts[0];
  constexpr std::array<std::pair<std::string_view, Form>, 3> files{
      {{"disk.img", Form::raw}, {"disk.img.gz", Form::gzip}, {"disk.tar.gz", Form::archive}}};
  for (const auto& [file, form] : files)
    if (parts.size() == 2 && parts[1] == file) {
      path.form = form;
      return path;
    }
  if (parts[1] != "dir" || (parts.size() == 3 && !is_inside(parts[2]))) return nothing_there();
  path.form = Form::folder;
  path.below_slash = parts.size() == 3;
  if (parts.size() == 3) path.file = parts[2];
  return path;
}

Result<ExportPath> read_manifests(ExportPath path, std::string_view side, std::string_view rest) {
  path.side = side;
  if (rest == "all")
    path.form = Form::manifests;
  else if (rest == "secret")
    path.form = Form::secret;
  else
    return nothing_there();
  return path;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string page_base(const ExportPath& path) {
  if (!path.below_slash) return "dir/";
  const std::string_view last = std::string_view(path.file).substr(path.file.rfind('/') + 1);
  return last.empty() ? std::string() : server::percent_encode(last) + "/";
}

Result<ExportPath> parse_export_path(std::string_view rest) {
  const auto parts = segments_of(rest, 6);  // VERSION / namespaces / NS / virtualmachineexports / NAME / REST
  const bool known = parts.size() == 6 && (parts[0] == "v1" || parts[0] == "v1beta1") && parts[1] == "namespaces" &&
                     parts[3] == "virtualmachineexports" && is_name(parts[2]) && is_name(parts[4]);
  if (!known) return fail(Status::bad_request("the path is not that of an export"));
  ExportPath path{.ns = std::string(parts[2]), .name = std::string(parts[4])};
  constexpr std::string_view volumes = "volumes/";
  if (parts[5].starts_with(volumes)) return read_volume(std::move(path), parts[5].substr(volumes.size()));
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> sides{
      {{"internal/manifests/", "internal"}, {"external/manifests/", "external"}}};
  for (const auto& [begin, side] : sides)
    if (parts[5].starts_with(begin)) return read_manifests(std::move(path), side, parts[5].substr(begin.size()));
  return nothing_there();
}

RangeAnswer read_range(std::optional<std::string_view> header, std::uint64_t size) {
  const RangeAnswer whole{.range = {.length = size}};
  constexpr std::string_view unit = "bytes=";
  if (!header || !header->starts_with(unit)) return whole;
  const std::string_view text = header->substr(unit.size());
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || text.find(',') != std::string_view::npos) return whole;
  const auto first = number(text.substr(0, dash)), last = number(text.substr(dash + 1));
  const bool from_end = dash == 0;
  if (from_end ? !last : !first || (dash + 1 != text.size() && !last)) return whole;
  if (!from_end && last && *last < *first) return whole;
  const std::uint64_t from = from_end ? (*last >= size ? 0 : size - *last) : *first;
  if (from >= size || (from_end && *last == 0)) return {.state = RangeState::unsatisfiable};
  const std::uint64_t end = from_end || !last || *last >= size ? size : *last + 1;
  return {.state = RangeState::part, .range = {.from = from, .length = end - from}};
}

}  // namespace vg::exports
