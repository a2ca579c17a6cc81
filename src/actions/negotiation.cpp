#include "actions/negotiation.h"

#include <algorithm>
#include <initializer_list>

#include "base/trimmed.h"

namespace vg::actions {
namespace {

// Whether one of the comma-separated items, without its parameters, is one of the wanted ones.
bool lists_type(std::string_view header, std::initializer_list<std::string_view> wanted) {
  while (true) {
    const auto comma = header.find(',');
    const std::string_view item = header.substr(0, comma);
    if (std::ranges::find(wanted, trimmed(item.substr(0, item.find(';')), " ")) != wanted.end()) return true;
    if (comma == header.npos) return false;
    header.remove_prefix(comma + 1);
  }
}

}  // namespace

bool takes_body(std::string_view consumes, const http::Request& request) {
  if (consumes.empty()) return true;
  const std::string_view type = request.headers.find("content-type").value_or("");
  return type.empty() ? request.method == "GET" : lists_type(type, {consumes});
}

bool wants_json(const http::Request& request) {
  const std::string_view accept = request.headers.find("accept").value_or("");
  return accept.empty() || lists_type(accept, {"application/json", "*/*"});
}

}  // namespace vg::actions
