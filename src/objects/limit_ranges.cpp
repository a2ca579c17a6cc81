#include "objects/limit_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/limits.h"
#include "json/access.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"
#include "objects/pod_demand.h"

namespace vg::resources {
namespace {

using core_kinds::items;
using core_kinds::members;
using core_kinds::quantity_of;
using core_kinds::text;

constexpr std::string_view pods = "pods";
constexpr std::string_view claims = "persistentvolumeclaims";

class Problems {
 public:
  explicit Problems(std::vector<std::string>& into) : into_(into) {}

  void check(const json::Object& limit, std::string_view type, const Demand& demand) {
    for (const auto& member : members(limit, "min")) at_least(type, member.key(), member.value(), demand);
    for (const auto& member : members(limit, "max")) at_most(type, member.key(), member.value(), demand);
    for (const auto& member : members(limit, "maxLimitRequestRatio"))
      in_ratio(type, member.key(), member.value(), demand);
  }

  void check_claim(const json::Object& limit, const Amounts& requests) {
    static constexpr std::string_view type = "PersistentVolumeClaim";
    for (const auto& member : members(limit, "min")) at_least(type, member.key(), member.value(), {requests, {}});
    for (const auto& member : members(limit, "max")) {
      const auto bound = quantity_of(&member.value());
      const Quantity* request = find(requests, member.key());
      if (!bound) continue;
      if (!request)
        usage("maximum", member.key(), type, *bound, ". No request is specified");
      else if (*request > *bound)
        usage("maximum", member.key(), type, *bound, ", but request is ", request);
    }
  }

 private:
  static const Quantity* find(const Amounts& amounts, std::string_view resource) {
    const auto found = amounts.find(resource);
    return found == amounts.end() ? nullptr : &found->second;
  }
  // "maximum cpu usage per Container is 2", and what is the matter.
  void usage(std::string_view bound_kind, std::string_view resource, std::string_view type, const Quantity& bound,
             std::string_view matter, const Quantity* value = nullptr) {
    say(fmt::format("{} {} usage per {} is {}{}{}", bound_kind, resource, type, bound.to_string(), matter,
                    value ? value->to_string() : std::string()));
  }
  void ratio(std::string_view resource, std::string_view type, const Quantity& bound, std::string_view matter) {
    say(fmt::format("{} max limit to request ratio per {} is {}, but {}", resource, type, bound.to_string(), matter));
  }
  void say(std::string problem) {
    if (into_.size() < limits::causes_in_message_max) into_.push_back(std::move(problem));
  }

  void at_least(std::string_view type, std::string_view resource, const json::Value& value, const Demand& demand) {
    const auto bound = quantity_of(&value);
    const Quantity* request = find(demand.requests, resource);
    const Quantity* limit = find(demand.limits, resource);
    if (!bound) return;
    if (!request) return usage("minimum", resource, type, *bound, ". No request is specified");
    if (*request < *bound) return usage("minimum", resource, type, *bound, ", but request is ", request);
    if (limit && *limit < *bound) usage("minimum", resource, type, *bound, ", but limit is ", limit);
  }

  void at_most(std::string_view type, std::string_view resource, const json::Value& value, const Demand& demand) {
    const auto bound = quantity_of(&value);
    const Quantity* request = find(demand.requests, resource);
    const Quantity* limit = find(demand.limits, resource);
    if (!bound) return;
    if (!limit) return usage("maximum", resource, type, *bound, ". No limit is specified");
    if (*limit > *bound) return usage("maximum", resource, type, *bound, ", but limit is ", limit);
    if (request && *request > *bound) usage("maximum", resource, type, *bound, ", but request is ", request);
  }

  void in_ratio(std::string_view type, std::string_view resource, const json::Value& value, const Demand& demand) {
    const auto bound = quantity_of(&value);
    const Quantity* request = find(demand.requests, resource);
    const Quantity* limit = find(demand.limits, resource);
    if (!bound) return;
    if (!request || request->sign() == 0)
      return ratio(resource, type, *bound, "no request is specified or request is 0");
    if (!limit || limit->sign() == 0) return ratio(resource, type, *bound, "no limit is specified or limit is 0");
    const double provided = static_cast<double>(limit->milli_value()) / static_cast<double>(request->milli_value());
    if (provided * 1000 > static_cast<double>(bound->milli_value()))
      ratio(resource, type, *bound, fmt::format("provided ratio is {:f}", provided));
  }

  std::vector<std::string>& into_;
};

void for_each_limit(std::span<const json::Value> ranges, auto&& visit) {
  for (const json::Value& range : ranges)
    for (const json::Value& limit : items(members(members(range), "spec"), "limits")) visit(members(limit));
}

void fill(json::Object& container, std::string_view list, const json::Object& defaults) {
  if (defaults.empty()) return;
  json::Object& amounts = json::ensure_object(json::ensure_object(container, "resources"), list);
  for (const auto& member : defaults) core_kinds::default_pointer(amounts, member.key(), member.value());
}

}  // namespace

bool has_limits(std::string_view key) { return key == pods || key == claims; }

std::size_t limit_work(const json::Object& object, std::span<const json::Value> ranges) {
  const json::Object& spec = members(object, "spec");
  const std::size_t containers = items(spec, "containers").size() + items(spec, "initContainers").size();
  std::size_t work = 0;
  for_each_limit(ranges, [&](const json::Object& limit) {
    std::size_t names = 0;
    for (const std::string_view list : {"min", "max", "default", "defaultRequest", "maxLimitRequestRatio"})
      names += members(limit, list).size();
    const std::string_view type = text(limit, "type");
    work += type == "Container" ? (1 + names) * containers : type == "Pod" ? names + containers : names;
  });
  return work;
}

void apply_limit_defaults(json::Object& pod, std::span<const json::Value> ranges) {
  json::Object& spec = json::ensure_object(pod, "spec");
  for_each_limit(ranges, [&](const json::Object& limit) {
    if (text(limit, "type") != "Container") return;
    for (const std::string_view list : {"initContainers", "containers"})
      core_kinds::for_each_object(spec, list, [&](json::Object& container) {
        fill(container, "limits", members(limit, "default"));
        fill(container, "requests", members(limit, "defaultRequest"));
      });
  });
}

std::vector<std::string> find_limit_problems(const json::Object& object, std::string_view key,
                                             std::span<const json::Value> ranges) {
  std::vector<std::string> found;
  Problems problems(found);
  const json::Object& spec = members(object, "spec");
  for_each_limit(ranges, [&](const json::Object& limit) {
    const std::string_view type = text(limit, "type");
    if (key == claims) {
      if (type == "PersistentVolumeClaim")
        problems.check_claim(limit, amounts_of(members(members(spec, "resources"), "requests")));
    } else if (type == "Container") {
      for (const std::string_view list : {"initContainers", "containers"})
        for (const json::Value& container : items(spec, list))
          problems.check(limit, type, demand_of(members(container)));
    } else if (type == "Pod") {
      problems.check(limit, type, demand_of_pod(spec));
    }
  });
  return found;
}

}  // namespace vg::resources
