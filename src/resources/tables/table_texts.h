// Texts in which tables of several kinds speak.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/optional_parts.h"
#include "json/access.h"
#include "resources/tables/table_builtin.h"

namespace vg::resources {

inline constexpr std::string_view nothing_text = "<none>";
inline constexpr std::string_view unset_text = "<unset>";
inline constexpr TableColumn name_column{.name = "Name", .format = "name"};
inline constexpr TableColumn age_column{.name = "Age"};

inline std::string_view name_cell(const json::Object& object) {
  return json::get_string_or(part(object, "metadata"), "name");
}
inline const json::Value* created(const json::Object& object) {
  return json::find(part(object, "metadata"), "creationTimestamp");
}
inline bool is_deleting(const json::Object& object) {
  return json::get_string(part(object, "metadata"), "deletionTimestamp").has_value();
}

// Sorted, each once, with commas.
std::string join_set(std::vector<std::string>& parts);
// As labels are written in selectors; nothing at all is "<none>".
std::string labels_text(const json::Object& labels);
// "RWO,RWX"
std::string access_modes_text(const json::Array& modes);

// Those of kinds that this server keeps and nothing runs, sorted by subject.
std::span<const BuiltinTable> workload_tables();
std::span<const BuiltinTable> cluster_tables();

}  // namespace vg::resources
