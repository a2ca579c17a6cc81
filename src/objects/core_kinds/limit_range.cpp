#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 5> lists = {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"};

// Which of a list must not be above which of another, and where that is reported.
struct Order {
  std::string_view low, high, at;
};
constexpr std::array orders = {Order{"min", "max", "min"},
                               Order{"min", "defaultRequest", "defaultRequest"},
                               Order{"defaultRequest", "max", "defaultRequest"},
                               Order{"defaultRequest", "default", "defaultRequest"},
                               Order{"min", "default", "default"},
                               Order{"default", "max", "default"}};

void fill(json::Object& limit, std::string_view to, std::string_view from) {
  const json::Object source = members(limit, from);
  if (source.empty()) return;
  json::Object& target = json::ensure_object(limit, to);
  for (const auto& member : source) default_pointer(target, member.key(), member.value());
}

void default_limit_range(json::Object& object, const WriteContext& /*context*/) {
  for_each_object(json::ensure_object(object, "spec"), "limits", [](json::Object& limit) {
    if (text(limit, "type") == "Container") {
      fill(limit, "default", "max");
      fill(limit, "defaultRequest", "default");
      fill(limit, "defaultRequest", "min");
    }
    for (const std::string_view list : lists) round_amounts(limit, list);
  });
}

void check_resource(FieldCauses& causes, const Place& at, std::string_view type, std::string_view resource) {
  if (type == "Pod" || type == "Container") return check_limit_resource(causes, at, resource);
  causes.defects(at, resource, qualified_name_defects(resource));
}

void check_orders(FieldCauses& causes, const Place& at, const json::Object& limit, std::string_view resource) {
  for (const Order& order : orders) {
    const auto low = quantity_of(json::find(members(limit, order.low), resource));
    const auto high = quantity_of(json::find(members(limit, order.high), resource));
    if (low && high && *low > *high)
      causes.invalid(at.field(order.at).key(resource), fmt::format("{} is greater than {}", order.low, order.high));
  }
  const auto ratio = quantity_of(json::find(members(limit, "maxLimitRequestRatio"), resource));
  if (!ratio) return;
  const Place place = at.field("maxLimitRequestRatio");
  if (ratio->milli_value() < 1000) causes.invalid(place.key(resource), "must be at least 1");
  const auto low = quantity_of(json::find(members(limit, "min"), resource));
  const auto high = quantity_of(json::find(members(limit, "max"), resource));
  if (low && high && low->milli_value() > 0 &&
      static_cast<double>(ratio->milli_value()) / 1000 >
          static_cast<double>(high->milli_value()) / static_cast<double>(low->milli_value()))
    causes.invalid(place.key(resource), "is greater than max/min, so it can never be reached");
}

void check_limit(FieldCauses& causes, const Place& at, const json::Object& limit) {
  const std::string_view type = text(limit, "type");
  std::set<std::string_view> resources;
  for (const std::string_view list : lists) {
    const json::Object& amounts = members(limit, list);
    const Place place = at.field(list);
    if (type == "Pod" && list.starts_with("default")) {
      if (!amounts.empty()) causes.forbidden(place, "must not be set with type Pod");
      continue;
    }
    for (const auto& member : amounts) {
      check_resource(causes, place.key(member.key()), type, member.key());
      resources.insert(member.key());
    }
  }
  if (type == "PersistentVolumeClaim" && !has(members(limit, "min"), "storage") &&
      !has(members(limit, "max"), "storage"))
    causes.required(at.field("limits"), "either min or max of storage is required");
  for (const std::string_view resource : resources) check_orders(causes, at, limit, resource);
}

void validate_limit_range(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                          std::vector<StatusCause>& into) {
  static constexpr std::array<std::string_view, 3> types = {"Pod", "Container", "PersistentVolumeClaim"};
  FieldCauses causes(into);
  const json::Array& limits = items(members(object, "spec"), "limits");
  const Place spec = top("spec");
  const Place at = spec.field("limits");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::string_view type = text(limits[i], "type");
    const Place place = at.item(i);
    check_choice(causes, place.field("type"), type, types);  // others would be kept and never enforced
    if (!seen.insert(type).second) causes.duplicate(place.field("type"), type);
    check_limit(causes, place, members(limits[i]));
  }
}

}  // namespace

constinit const Strategy limit_range_strategy = {
    .group = "", .kind = "LimitRange", .defaults = default_limit_range, .validate = validate_limit_range};

}  // namespace vg::resources::core_kinds
