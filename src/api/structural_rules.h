// The rules that upstream's schemas express in CEL, as functions. A test keeps this table and schema/rules.vgs in step.
#pragma once

#include <string_view>

#include "json/value.h"

namespace vg::api {

struct RuleCheck {
  std::string_view name;
  // `old_self` is null when there was no such value before. A rule that CEL could not evaluate counts as broken.
  bool (*holds)(const json::Value& self, const json::Value* old_self);
  bool transition = false;  // only asked when there was a value before, and then never excused
};

// Null when nobody implements it.
const RuleCheck* find_rule(std::string_view name);

}  // namespace vg::api
