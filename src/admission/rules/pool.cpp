// Pools of machines (spec work-objects 3.10).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "admission/rules/tables.h"
#include "admission/rules/template_rules.h"
#include "admission/rules/vm_spec.h"
#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view unavailable_field = "spec.maxUnavailable";

const json::Value* machine_template(const Case& about) {
  return json::find_path(*about.object, {"spec", "virtualMachineTemplate"});
}

void there_is_a_template(const Case& about, Causes& causes) {
  if (const json::Value* found = machine_template(about); !found || !found->is_object())
    causes.required("spec.template",
                    "a pool makes machines from a template; describe it in spec.virtualMachineTemplate");
}

// As they were sent: a pool's machines get their instance type and their defaults when they are made.
void machines_are_sound(const Case& about, Causes& causes) {
  const Place root, pool = root.field("spec"), machine = pool.field("virtualMachineTemplate");
  const Place place = machine.field("spec");
  const json::Value* spec = json::find_path(*machine_template(about), {"spec"});
  check_vm_spec({.about = about,
                 .spec = spec,
                 .machine_template = spec ? json::find(*spec, "template") : nullptr,
                 .place = place},
                causes);
}

void selector_finds_machines(const Case& about, Causes& causes) {
  check_selector(json::find_path(*about.object, {"spec", "selector"}),
                 json::find_path(*machine_template(about), {"metadata", "labels"}), causes);
}

void check_percentage(string_view text, Causes& causes) {
  if (!text.ends_with('%'))
    return causes.invalid(unavailable_field, fmt::format("maxUnavailable is a number, or a percentage such as \"25%\", "
                                                         "not {}",
                                                         api::in_words(text)));
  string_view digits = text.substr(0, text.size() - 1);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  std::int64_t percent = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (problem != std::errc() || end != digits.data() + digits.size())
    return causes.invalid(unavailable_field,
                          fmt::format("a percentage is a whole number and %, not {}", api::in_words(text)));
  if (percent < 1 || percent > 100)
    causes.invalid(unavailable_field, fmt::format("maxUnavailable is from 1% to 100%, not {}", text));
}

void some_may_be_missing(const Case& about, Causes& causes) {
  const api::IntOrStringView limit(json::find_path(*about.object, {"spec", "maxUnavailable"}));
  if (const auto text = limit.text()) return check_percentage(*text, causes);
  if (const auto number = limit.number(); number && *number <= 0)
    causes.invalid(unavailable_field,
                   fmt::format("at least one machine must be allowed to be missing, not {}; give 1 or "
                               "more",
                               *number));
}

void check_strategy(const Case& about, string_view member, Causes& causes) {
  constexpr std::array<string_view, 3> strategies = {"unmanaged", "opportunistic", "proactive"};
  const api::View chosen(json::find_path(*about.object, {"spec", member}));
  if (std::ranges::count_if(strategies,
                            [&](string_view name) { return static_cast<bool>(api::View(chosen.get(name))); }) > 1)
    causes.invalid(fmt::format("spec.{}", member),
                   fmt::format("{} is one of unmanaged, opportunistic and proactive; keep one of them", member));
}

void one_update_strategy(const Case& about, Causes& causes) { check_strategy(about, "updateStrategy", causes); }
void one_scale_in_strategy(const Case& about, Causes& causes) { check_strategy(about, "scaleInStrategy", causes); }

void old_pool_is_readable(const Case& about, Causes& causes) {
  if (!about.old_object)
    causes.unexpected("", "the pool as it was cannot be read, so it cannot be said what changed; send it in oldObject");
}

// Of an old pool that cannot be read as a whole, upstream compares what it could read.
void selector_stays(const Case& about, Causes& causes) {
  Case known = about;
  if (!known.old_object) known.old_object = about.review.old_object;
  if (!unchanged(known, {"spec", "selector"}))
    causes.invalid("spec.selector", "the selector of a pool cannot change: its machines would be lost; create another");
}

void nothing_discontinued(const Case& about, Causes& causes) {
  check_discontinued(about, json::find_path(*machine_template(about), {"spec", "template", "spec"}), causes);
}

constexpr Rule rules[] = {
    Rule{"PO05", "there is a template", "spec.template", there_is_a_template}.stops(),
    Rule{"PO06", "the machines are sound", "spec.virtualMachineTemplate.spec", machines_are_sound}.stands_for(
        list_vm_spec_rules),
    {"PO07", "the selector finds what the template makes", "spec.selector", selector_finds_machines},
    {"PO09", "maxUnavailable is a number from 1 or a percentage", unavailable_field, some_may_be_missing},
    {"PO13", "there is one update strategy at most", "spec.updateStrategy", one_update_strategy},
    {"PO14", "there is one strategy for scaling in at most", "spec.scaleInStrategy", one_scale_in_strategy},
    Rule{"PO15", "the pool as it was can be read", "", old_pool_is_readable}.on(When::update),
    Rule{"PO16", "the selector does not change", "spec.selector", selector_stays}.on(When::update),
    Rule{"PO17", "no feature is used that is gone", "", nothing_discontinued}.on(When::create),
};

}  // namespace

std::span<const Rule> pool_rules() { return rules; }

}  // namespace vg::admission
