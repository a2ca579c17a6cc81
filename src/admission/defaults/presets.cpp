#include "admission/defaults/presets.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "admission/defaults/edit.h"
#include "api/canonical.h"
#include "api/schema.h"
#include "base/selector.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

constexpr string_view exclusion_annotation = "virtualmachineinstancepresets.admission.kubevirt.io/exclude";
constexpr string_view applied_prefix = "virtualmachinepreset.kubevirt.io/";
constexpr string_view applied_value = "kubevirt.io/v1";

Status unprocessable(std::string message) {
  return {.code = 422, .reason = {}, .message = std::move(message), .details = {}};
}

string_view name_of(const Object& preset) {
  const Object* metadata = edit::child(&preset, "metadata");
  return metadata ? json::get_string_or(*metadata, "name") : string_view();
}

const Object* domain_of(const Object& object) { return edit::descend(object, {"spec", "domain"}); }

// Amounts are equal by value, whatever their spelling.
bool same_amounts(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  for (const auto& entry : a)
    if (!b.contains(entry.key()) || edit::quantity(&a, entry.key()) != edit::quantity(&b, entry.key())) return false;
  return true;
}

// --- sections: where they are, whether two of them contradict, how one is merged. Nothing else of a preset counts.

struct Section {
  string_view id;
  bool (*contradicts)(const Object& a, const Object& b);  // both are domains
  bool (*merge)(const Object& from, Object& into);        // true when the section is then equal in both
};

const Object* requests_of(const Object& domain) { return edit::descend(domain, {"resources", "requests"}); }

// By the text of the amount: 1 and 1000m contradict each other (spec work-objects Q7).
bool requests_contradict(const Object& a, const Object& b) {
  const Object *mine = requests_of(a), *theirs = requests_of(b);
  if (!mine || !theirs) return false;
  for (const auto& entry : *mine)
    if (const Value* other = json::find(*theirs, entry.key()); other && *other != entry.value()) return true;
  return false;
}

// All or nothing.
bool merge_requests(const Object& from, Object& into) {
  const Object* given = requests_of(from);
  if (!given || given->empty()) return false;
  Object& resources = json::ensure_object(into, "resources");
  if (!edit::has(resources, "requests")) resources["requests"] = *given;
  const Object* now = edit::child(&resources, "requests");
  return now && same_amounts(*given, *now);
}

bool member_contradicts(const Object& a, const Object& b, string_view name) {
  const Value *mine = json::find(a, name), *theirs = json::find(b, name);
  return mine && theirs && *mine != *theirs;
}

bool merge_member(const Object& from, Object& into, string_view name) {
  const Value* given = json::find(from, name);
  if (!given) return false;
  if (!edit::has(into, name)) edit::set_copy(into, name, *given);
  return *json::find(into, name) == *given;
}

constexpr string_view offset_members[] = {"utc", "timezone"};

// The offset counts as one value: a clock without one contradicts a clock that has one.
bool clocks_contradict(const Object& a, const Object& b) {
  const Object *mine = edit::child(&a, "clock"), *theirs = edit::child(&b, "clock");
  if (!mine || !theirs) return false;
  for (const string_view name : offset_members) {
    const Value *one = json::find(*mine, name), *other = json::find(*theirs, name);
    if ((one == nullptr) != (other == nullptr) || (one && *one != *other)) return true;
  }
  return member_contradicts(*mine, *theirs, "timer");
}

// The offset is taken over only by a machine without a clock, the timers by one without timers. Whether the clock was
// applied is judged before the timers are merged, as upstream does it.
bool merge_clock(const Object& from, Object& into) {
  const Object* given = edit::child(&from, "clock");
  if (!given) return false;
  if (!edit::has(into, "clock")) {
    Object& clock = into["clock"].emplace_object();
    for (const string_view name : offset_members)
      if (const Value* value = json::find(*given, name)) edit::set_copy(clock, name, *value);
  }
  Object& clock = json::ensure_object(into, "clock");
  const bool equal = clock == *given;
  return merge_member(*given, clock, "timer") || equal;
}

bool watchdogs_contradict(const Object& a, const Object& b) {
  const Object *mine = edit::child(&a, "devices"), *theirs = edit::child(&b, "devices");
  return mine && theirs && member_contradicts(*mine, *theirs, "watchdog");
}

bool merge_watchdog(const Object& from, Object& into) {
  const Object* given = edit::child(&from, "devices");
  return given && edit::has(*given, "watchdog") &&
         merge_member(*given, json::ensure_object(into, "devices"), "watchdog");
}

constexpr Section sections[] = {
    {"resources.requests", requests_contradict, merge_requests},
    {"cpu", [](const Object& a, const Object& b) { return member_contradicts(a, b, "cpu"); },
     [](const Object& from, Object& into) { return merge_member(from, into, "cpu"); }},
    {"firmware", [](const Object& a, const Object& b) { return member_contradicts(a, b, "firmware"); },
     [](const Object& from, Object& into) { return merge_member(from, into, "firmware"); }},
    {"clock", clocks_contradict, merge_clock},
    {"features", [](const Object& a, const Object& b) { return member_contradicts(a, b, "features"); },
     [](const Object& from, Object& into) { return merge_member(from, into, "features"); }},
    {"devices.watchdog", watchdogs_contradict, merge_watchdog},
    {"ioThreadsPolicy", [](const Object& a, const Object& b) { return member_contradicts(a, b, "ioThreadsPolicy"); },
     [](const Object& from, Object& into) { return merge_member(from, into, "ioThreadsPolicy"); }},
};

// --- selecting

Parsed<LabelSelector> selector_of(const Object& preset) {
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<MatchExpression> expressions;
  const Object* selector = edit::descend(preset, {"spec", "selector"});
  if (!selector) return LabelSelector();
  if (const Object* match = edit::child(selector, "matchLabels"))
    for (const auto& entry : *match) labels.emplace_back(entry.key(), json::get_string_or(*match, entry.key()));
  edit::each(*selector, "matchExpressions", [&](const Object& entry) {
    MatchExpression& expression = expressions.emplace_back();
    expression.key = json::get_string_or(entry, "key");
    expression.op = json::get_string_or(entry, "operator");
    if (const json::Array* values = json::get_array(entry, "values"))
      for (const Value& value : *values) expression.values.emplace_back(json::as_string(&value).value_or(""));
  });
  return LabelSelector::from(labels, expressions);
}

// P2: one unreadable selector spoils the whole namespace, as upstream has it: nobody can say what it meant.
Result<std::vector<const Object*>> select(const Object& vmi, const std::vector<const Object*>& presets) {
  std::vector<const Object*> matching;
  const Object* labels = edit::descend(vmi, {"metadata", "labels"});
  const auto label = [&](string_view key) { return labels ? json::get_string(*labels, key) : std::nullopt; };
  for (const Object* preset : presets) {
    auto selector = selector_of(*preset);
    if (!selector)
      return fail(
          unprocessable(fmt::format("the selector of VirtualMachineInstancePreset {} is not valid: {}; "
                                    "fix or delete that preset",
                                    name_of(*preset), selector.error())));
    if (selector->matches(label)) matching.push_back(preset);
  }
  return matching;
}

// P4
Result<void> check_contradictions(const std::vector<const Object*>& matching) {
  for (std::size_t later = 1; later < matching.size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const Object *a = domain_of(*matching[earlier]), *b = domain_of(*matching[later]);
      if (!a || !b) continue;
      for (const Section& section : sections)
        if (section.contradicts(*a, *b))
          return fail(
              unprocessable(fmt::format("VirtualMachineInstancePresets {} and {} both match this VMI and "
                                        "conflict in {}; change the labels or one of the presets",
                                        name_of(*matching[earlier]), name_of(*matching[later]), section.id)));
    }
  return {};
}

// P5 and P6
void merge_preset(const Object& preset, Object& vmi) {
  const Object* from = domain_of(preset);
  if (!from) return;
  bool applied = false;
  Object& into = json::ensure_path(vmi, {"spec", "domain"});
  for (const Section& section : sections) applied |= section.merge(*from, into);
  if (applied)
    edit::set_text(json::ensure_path(vmi, {"metadata", "annotations"}),
                   fmt::format("{}{}", applied_prefix, name_of(preset)), applied_value);
}

}  // namespace

Result<void> apply_presets(Object& vmi, const std::vector<const Object*>& presets) {
  auto matching = select(vmi, presets);
  if (!matching) return fail(std::move(matching.error()));
  if (auto good = check_contradictions(*matching); !good) return good;
  for (const Object* preset : *matching) merge_preset(*preset, vmi);
  return {};
}

Result<void> apply_presets(Object& vmi, const Context& context) {
  const Object* metadata = edit::child(&vmi, "metadata");
  const Object* annotations = edit::child(metadata, "annotations");
  if (annotations && json::get_string_or(*annotations, exclusion_annotation) == "true") return {};  // P1
  const string_view ns = metadata ? json::get_string_or(*metadata, "namespace") : string_view();
  if (ns.empty()) return {};
  auto found = context.lookups.list("kubevirt.io/virtualmachineinstancepresets", ns, context.storage);
  if (!found) return fail(std::move(found.error()));
  static const api::Kind* kind = api::find_kind("kubevirt.io", "", "VirtualMachineInstancePreset");
  std::vector<const Object*> presets;
  for (Value* preset : *found)
    if (api::canonicalize(*preset, *kind->type) && preset->is_object()) presets.push_back(preset->if_object());
  return apply_presets(vmi, presets);
}

bool sends_empty_requests(const Value* vmi) {
  const Value* requests = vmi ? json::find_path(*vmi, {"spec", "domain", "resources", "requests"}) : nullptr;
  const Object* given = json::as_object(requests);
  return given && given->empty();
}

bool carries_preset(const Object& vmi) {
  const Object* annotations = edit::descend(vmi, {"metadata", "annotations"});
  if (!annotations) return false;
  for (const auto& entry : *annotations)
    if (string_view(entry.key()).contains("virtualmachinepreset")) return true;
  return false;
}

}  // namespace vg::admission
