// What workloads have in common: a template of pods, a selector that must fit it, numbers or percentages.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "json/value.h"
#include "objects/core_kinds/checks.h"
#include "objects/strategy.h"

namespace vg::resources::core_kinds {

// Empties the status of a new object; what is always written of it is written as zero.
void reset_status(json::Object& object, const WriteContext& context);
// The usual ways of kinds that count what was wanted: reset_status and the generation.
void prepare_counted_create(json::Object& object, const WriteContext& context);
void prepare_counted_update(json::Object& object, const json::Object& old, const WriteContext& context);
// The same without a generation.
void prepare_plain_create(json::Object& object, const WriteContext& context);

// The template in `spec.template`, which is always there afterwards.
void default_template(json::Object& spec);
void check_template(FieldCauses& causes, const Place& at, const json::Object& pod_template);
// For pods that must run always: deployments, sets, replication controllers.
void check_lasting_template(FieldCauses& causes, const Place& at, const json::Object& pod_template);

bool selector_matches(const json::Object& selector, const json::Object& labels);
// Given, not empty, and one that the template's pods have; `at` is the spec's place.
void check_workload_selector(FieldCauses& causes, const Place& at, const json::Object& spec);

// A number that is not negative, or a percentage; with `within_100` one of at most 100%.
void check_int_or_percent(FieldCauses& causes, const Place& at, const json::Value* value, bool within_100);
// The number, or that of percents; 0 when it is neither.
std::int64_t int_or_percent(const json::Value* value);

// Each of the members that is there must be 0 or more.
void check_not_negative(FieldCauses& causes, const Place& at, const json::Object& in,
                        std::initializer_list<std::string_view> members);
// The same for all numbers of a status.
void check_status_counts(FieldCauses& causes, const json::Object& object);

// Each of the members must be what it was; the cause is "invalid" at the member.
void check_immutable(FieldCauses& causes, const Place& at, const json::Object& object, const json::Object& old,
                     std::initializer_list<std::string_view> members);

}  // namespace vg::resources::core_kinds
