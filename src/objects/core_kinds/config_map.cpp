#include "base/phrases.h"
#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

void check_config_map_change(FieldCauses& causes, const json::Object& object, const json::Object& old) {
  if (!json::get_bool_or(old, "immutable", false)) return;
  if (!json::get_bool_or(object, "immutable", false))
    causes.forbidden(top("immutable"), phrases::immutable("create another ConfigMap"));
  for (const std::string_view content : {"data", "binaryData"})
    if (!same_member(object, old, content))
      causes.forbidden(top(content), phrases::immutable("create another ConfigMap"));
}

void validate_config_map(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                         std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (old) check_config_map_change(causes, object, *old);
  const json::Object& texts = members(object, "data");
  const json::Object& bytes = members(object, "binaryData");
  std::size_t total_bytes = decoded_bytes(bytes);
  const Place data = top("data");
  for (const auto& member : texts) {
    const std::string_view key = member.key();
    causes.defects(data.key(key), key, data_key_defects(key));
    if (has(bytes, key))
      causes.invalid(data.key(key), "mutually exclusive with the same key in binaryData; remove one of them");
    total_bytes += as_text(member.value()).size();
  }
  const Place binary = top("binaryData");
  for (const auto& member : bytes)
    causes.defects(binary.key(member.key()), member.key(), data_key_defects(member.key()));
  // Upstream speaks of the whole object by a path without a name, which prints as "[]".
  if (total_bytes > data_bytes_max)
    causes.too_long(whole_object.key(""), "must have at most 1 MiB in all values together");
}

}  // namespace

constinit const Strategy config_map_strategy = {.group = "", .kind = "ConfigMap", .validate = validate_config_map};

}  // namespace vg::resources::core_kinds
