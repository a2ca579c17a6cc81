// Pools of machines (spec work-objects 3.10).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "admission/rule.h"
#include "admission/rules/template_rules.h"
#include "admission/rules/vm_spec.h"
#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "base/phrases.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view unavailable_field = "spec.maxUnavailable";

const json::Value* machine_template(const Case& judged) {
  return json::find_path(*judged.object, {"spec", "virtualMachineTemplate"});
}

void there_is_a_template(const Case& judged, Causes& causes) {
  if (const json::Value* found = machine_template(judged); !found || !found->is_object())
    causes.required("spec.template",
                    phrases::missing_field("spec.virtualMachineTemplate", "the template of the VMs of the pool"));
}

// As they were sent: a pool's machines get their instance type and their defaults when they are made.
void machines_are_sound(const Case& judged, Causes& causes) {
  const Place root, pool = root.field("spec"), machine = pool.field("virtualMachineTemplate");
  const Place place = machine.field("spec");
  const json::Value* spec = json::find_path(*machine_template(judged), {"spec"});
  check_vm_spec({.judged = judged,
                 .spec = spec,
                 .machine_template = spec ? json::find(*spec, "template") : nullptr,
                 .place = place},
                causes);
}

void selector_finds_machines(const Case& judged, Causes& causes) {
  check_selector(json::find_path(*judged.object, {"spec", "selector"}),
                 json::find_path(*machine_template(judged), {"metadata", "labels"}), causes);
}

void check_percentage(string_view text, Causes& causes) {
  if (!text.ends_with('%'))
    return causes.invalid(unavailable_field,
                          fmt::format("{}: must be a number, or a percentage such as \"25%\"", api::in_words(text)));
  string_view digits = text.substr(0, text.size() - 1);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  std::int64_t percent = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (problem != std::errc() || end != digits.data() + digits.size())
    return causes.invalid(unavailable_field,
                          fmt::format("{}: must be a whole number followed by %", api::in_words(text)));
  if (percent < 1 || percent > 100) causes.invalid(unavailable_field, fmt::format("{}: must be from 1% to 100%", text));
}

void some_may_be_missing(const Case& judged, Causes& causes) {
  const api::IntOrStringView limit(json::find_path(*judged.object, {"spec", "maxUnavailable"}));
  if (const auto text = limit.text()) return check_percentage(*text, causes);
  if (const auto number = limit.number(); number && *number <= 0)
    causes.invalid(unavailable_field, fmt::format("{}: must be 1 or "
                                                  "more",
                                                  *number));
}

void check_strategy(const Case& judged, string_view member, Causes& causes) {
  constexpr std::array<string_view, 3> strategies = {"unmanaged", "opportunistic", "proactive"};
  const api::View chosen(json::find_path(*judged.object, {"spec", member}));
  if (std::ranges::count_if(strategies,
                            [&](string_view name) { return static_cast<bool>(api::View(chosen.get(name))); }) > 1)
    causes.invalid(
        fmt::format("spec.{}", member),
        fmt::format("{}: unmanaged, opportunistic and proactive are mutually exclusive; keep one of them", member));
}

void one_update_strategy(const Case& judged, Causes& causes) { check_strategy(judged, "updateStrategy", causes); }
void one_scale_in_strategy(const Case& judged, Causes& causes) { check_strategy(judged, "scaleInStrategy", causes); }

void old_pool_is_readable(const Case& judged, Causes& causes) {
  if (!judged.old_object)
    causes.unexpected("", "the old pool cannot be read, so the change cannot be validated; send it in oldObject");
}

// Of an old pool that cannot be read as a whole, upstream compares what it could read.
void selector_stays(const Case& judged, Causes& causes) {
  Case known = judged;
  if (!known.old_object) known.old_object = judged.review.old_object;
  if (!unchanged(known, {"spec", "selector"}))
    causes.invalid("spec.selector", phrases::immutable("the pool would lose its VMs, create another pool"));
}

void pool_has_nothing_discontinued(const Case& judged, Causes& causes) {
  check_discontinued(judged, json::find_path(*machine_template(judged), {"spec", "template", "spec"}), causes);
}

constexpr Rule pool_rule_table[] = {
    Rule{"PO05", "spec.virtualMachineTemplate is required", "spec.template", there_is_a_template}.stops(),
    Rule{"PO06", "the VMs of the template must be valid", "spec.virtualMachineTemplate.spec", machines_are_sound}
        .stands_for(list_vm_spec_rules),
    {"PO07", "the selector must match the labels of the template", "spec.selector", selector_finds_machines},
    {"PO09", "maxUnavailable must be a number of 1 or more, or a percentage", unavailable_field, some_may_be_missing},
    {"PO13", "update strategies are mutually exclusive", "spec.updateStrategy", one_update_strategy},
    {"PO14", "scale-in strategies are mutually exclusive", "spec.scaleInStrategy", one_scale_in_strategy},
    Rule{"PO15", "the old pool must be readable", "", old_pool_is_readable}.on(When::update),
    Rule{"PO16", "spec.selector is immutable", "spec.selector", selector_stays}.on(When::update),
    Rule{"PO17", "features that were removed must not be used", "", pool_has_nothing_discontinued}.on(When::create),
};

}  // namespace

std::span<const Rule> pool_rules() { return pool_rule_table; }

}  // namespace vg::admission
