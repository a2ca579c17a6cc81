#include "handler/server/live_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace vg::handler {
namespace {

using std::string_view;

constexpr std::array<string_view, 2> socket_attributes{" path='", " socket='"};
constexpr std::array<string_view, 1> image_attributes{"<source file='"};

// Calls `take` with each value of that attribute until it says true.
template <class Take>
bool any_value(string_view xml, string_view attribute, Take take) {
  for (auto at = xml.find(attribute); at != string_view::npos; at = xml.find(attribute, at + 1)) {
    const string_view rest = xml.substr(at + attribute.size());
    if (take(rest.substr(0, rest.find('\'')))) return true;
  }
  return false;
}

std::optional<std::string> find_path(string_view xml, std::span<const string_view> attributes, string_view folder,
                                     string_view base) {
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

}  // namespace

std::optional<std::string> find_socket(string_view xml, string_view folder, string_view base) {
  return find_path(xml, socket_attributes, folder, base);
}

std::optional<std::string> find_image(string_view xml, string_view folder, string_view base) {
  return find_path(xml, image_attributes, folder, base);
}

std::optional<std::uint32_t> vsock_cid(string_view xml) {
  constexpr std::uint32_t first_guest = 3, anybody = 0xffff'ffff;  // VMADDR_CID_HOST is 2
  const auto begin = xml.find("<vsock");
  if (begin == string_view::npos) return std::nullopt;
  std::uint32_t number = 0;
  any_value(xml.substr(begin, xml.find("</vsock>", begin) - begin), " address='", [&](string_view value) {
    std::from_chars(value.data(), value.data() + value.size(), number);
    return true;
  });
  return number >= first_guest && number != anybody ? std::optional(number) : std::nullopt;
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
