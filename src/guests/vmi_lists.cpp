#include "guests/vmi_lists.h"

#include <algorithm>

#include "json/access.h"

namespace vg::guests {

const json::Array& list_at(const json::Object& vmi, std::string_view part,
                           std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Value* from = json::find(vmi, part);
  const json::Array* found = from ? json::as_array(json::find_path(*from, path)) : nullptr;
  return found ? *found : none;
}

const json::Array& networks_in(const json::Object& vmi) { return list_at(vmi, "spec", {"networks"}); }

const json::Array& interfaces_in(const json::Object& vmi) {
  return list_at(vmi, "spec", {"domain", "devices", "interfaces"});
}

const json::Value* entry_with(const json::Array& entries, std::string_view member, std::string_view text) {
  const auto* found =
      std::ranges::find_if(entries, [&](const json::Value& one) { return json::get_string_or(one, member) == text; });
  return found == entries.end() ? nullptr : found;
}

}  // namespace vg::guests
