#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

using Scopes = std::set<std::string_view>;

constexpr std::array<std::string_view, 7> pod_resources = {
    "pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"};
constexpr std::array<std::string_view, 1> pod_counts = {"pods"};
constexpr std::array<std::string_view, 2> claim_resources = {"persistentvolumeclaims", "requests.storage"};

struct Scope {
  std::string_view name;
  Supported resources;  // what a quota with this scope can count
  bool takes_values;
};

constexpr std::array<Scope, 7> known_scopes = {{
    {"Terminating", pod_resources, false},
    {"NotTerminating", pod_resources, false},
    {"NotBestEffort", pod_resources, false},
    {"BestEffort", pod_counts, false},
    {"CrossNamespacePodAffinity", pod_resources, false},
    {"PriorityClass", pod_resources, true},
    {"VolumeAttributesClass", claim_resources, true},
}};

const Scope* find_scope(std::string_view name) {
  const auto* const found = std::ranges::find(known_scopes, name, &Scope::name);
  return found == known_scopes.end() ? nullptr : found;
}

void default_resource_quota(json::Object& object, const WriteContext& /*context*/) {
  round_amounts(json::ensure_object(object, "spec"), "hard");
  json::Object& status = json::ensure_object(object, "status");
  round_amounts(status, "hard");
  round_amounts(status, "used");
}

void prepare_new_resource_quota(json::Object& object, const WriteContext& /*context*/) {
  object["status"].emplace_object();
}

// Every write to the namespace goes through all of them.
constexpr std::size_t resources_max = 128;

void check_countable(FieldCauses& causes, const Place& at, const json::Object& hard) {
  if (hard.size() > resources_max)
    causes.too_many(at, fmt::format("at most {} resources are supported", resources_max));
}

void check_amounts(FieldCauses& causes, const Place& at, const json::Object& amounts) {
  for (const auto& member : amounts) {
    const Place place = at.key(member.key());
    check_quota_resource(causes, place, member.key());
    check_amount(causes, place, member.key(), member.value());
  }
}

// Resources with a domain, and counts such as count/pods, go with every scope.
bool is_tied_to_scopes(std::string_view resource) { return resource.find('/') == std::string_view::npos; }

void check_scope_covers(FieldCauses& causes, const Place& at, const Scope& scope, const json::Object& hard) {
  for (const auto& member : hard) {
    const std::string_view resource = member.key();
    if (is_tied_to_scopes(resource) && std::ranges::find(scope.resources, resource) == scope.resources.end())
      causes.invalid(at, "the scope is not supported for all resources of spec.hard");
  }
}

void check_conflicts(FieldCauses& causes, const Place& at, const Scopes& scopes) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> pairs = {
      {{"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}}};
  for (const auto& [one, other] : pairs)
    if (scopes.contains(one) && scopes.contains(other)) causes.invalid(at, "the scopes are mutually exclusive");
}

void check_scopes(FieldCauses& causes, const Place& at, const json::Object& spec) {
  Scopes seen;
  for (const json::Value& element : items(spec, "scopes")) {
    const Scope* scope = find_scope(as_text(element));
    if (scope)
      check_scope_covers(causes, at, *scope, members(spec, "hard"));
    else
      causes.invalid(at, "the scope is not supported");
    seen.insert(as_text(element));
  }
  check_conflicts(causes, at, seen);
}

void check_scope_requirement(FieldCauses& causes, const Place& at, const json::Object& requirement) {
  const Scope* scope = find_scope(text(requirement, "scopeName"));
  const std::string_view op = text(requirement, "operator");
  const json::Array& values = items(requirement, "values");
  if (scope && !scope->takes_values && op != "Exists")
    causes.invalid(at.field("operator"), "operator must be Exists for this scope");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) causes.required(at.field("values"), "operators In and NotIn require at least one value");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) causes.invalid(at.field("values"), "operators Exists and DoesNotExist do not support values");
  } else {
    causes.invalid(at.field("operator"), "supported operators: In, NotIn, Exists, DoesNotExist");
  }
}

void check_scope_selector(FieldCauses& causes, const Place& at, const json::Object& spec) {
  Scopes seen;
  for (const json::Value& element : items(members(spec, "scopeSelector"), "matchExpressions")) {
    const json::Object& requirement = members(element);
    const Scope* scope = find_scope(text(requirement, "scopeName"));
    if (scope)
      check_scope_covers(causes, at, *scope, members(spec, "hard"));
    else
      causes.invalid(at.field("scopeName"), "the scope is not supported");
    check_scope_requirement(causes, at, requirement);
    seen.insert(text(requirement, "scopeName"));
  }
  check_conflicts(causes, at, seen);
}

Scopes scopes_of(const json::Object& object) {
  Scopes scopes;
  for (const json::Value& scope : items(members(object, "spec"), "scopes")) scopes.insert(as_text(scope));
  return scopes;
}

void validate_resource_quota(const json::Object& object, const json::Object* old, const WriteContext& context,
                             std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const Place spec_place = top("spec");
  if (context.subresource != "status") {
    const json::Object& spec = members(object, "spec");
    check_amounts(causes, spec_place.field("hard"), members(spec, "hard"));
    check_countable(causes, spec_place.field("hard"), members(spec, "hard"));
    check_scopes(causes, spec_place.field("scopes"), spec);
    const Place selector = spec_place.field("scopeSelector");
    check_scope_selector(causes, selector.field("matchExpressions"), spec);
    if (old && scopes_of(object) != scopes_of(*old)) causes.invalid(spec_place.field("scopes"), cannot_change);
    return;
  }
  const Place status_place = top("status");
  for (const std::string_view list : {"hard", "used"})
    check_amounts(causes, status_place.field(list), members(members(object, "status"), list));
}

}  // namespace

constinit const Strategy resource_quota_strategy = {.group = "",
                                                    .kind = "ResourceQuota",
                                                    .defaults = default_resource_quota,
                                                    .prepare_create = prepare_new_resource_quota,
                                                    .validate = validate_resource_quota};

}  // namespace vg::resources::core_kinds
