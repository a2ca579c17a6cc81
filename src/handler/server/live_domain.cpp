#include "handler/server/live_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vg::handler {
namespace {

using std::string_view;

constexpr std::array<string_view, 2> attributes{" path='", " socket='"};

// Calls `take` with each value of that attribute until it says true.
template <class Take>
bool any_value(string_view xml, string_view attribute, Take take) {
  for (auto at = xml.find(attribute); at != string_view::npos; at = xml.find(attribute, at + 1)) {
    const string_view rest = xml.substr(at + attribute.size());
    if (take(rest.substr(0, rest.find('\'')))) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> find_socket(string_view xml, string_view folder, string_view base) {
  const std::string end = fmt::format("/{}", base), begin = fmt::format("{}/", folder);
  std::optional<std::string> found;
  const auto is_ours = [&](string_view path) {
    if (!path.starts_with(begin) || !path.ends_with(end) || path.contains("/../")) return false;
    found = std::string(path);
    return true;
  };
  for (const string_view attribute : attributes)
    if (any_value(xml, attribute, is_ours)) return found;
  return std::nullopt;
}

std::string user_nic_alias(string_view xml) {
  const auto begin = xml.find("<interface type='user'");
  if (begin == string_view::npos) return {};
  const string_view nic = xml.substr(begin, xml.find("</interface>", begin) - begin);
  std::string alias;
  any_value(nic, "<alias name='", [&](string_view value) {
    alias = std::string(value);
    return true;
  });
  return alias;
}

}  // namespace vg::handler
