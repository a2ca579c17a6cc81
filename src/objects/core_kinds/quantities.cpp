#include "objects/core_kinds/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view huge_pages_prefix = "hugepages-";
constexpr std::string_view requests_prefix = "requests.";

enum Use : unsigned {
  in_containers = 1,
  in_quotas = 2,
  whole = 4,       // only whole numbers of it exist
  in_general = 8,  // known as the name of a resource at all
};

struct Known {
  std::string_view name;
  unsigned uses;
};

constexpr std::array<Known, 20> known_resources = {{
    {"cpu", in_containers | in_quotas | in_general},
    {"memory", in_containers | in_quotas | in_general},
    {"ephemeral-storage", in_containers | in_quotas | in_general},
    {"storage", in_general},
    {"requests.cpu", in_quotas | in_general},
    {"requests.memory", in_quotas | in_general},
    {"requests.storage", in_quotas | in_general},
    {"requests.ephemeral-storage", in_quotas | in_general},
    {"limits.cpu", in_quotas | in_general},
    {"limits.memory", in_quotas | in_general},
    {"limits.ephemeral-storage", in_quotas | in_general},
    {"pods", in_quotas | whole | in_general},
    {"resourcequotas", in_quotas | whole | in_general},
    {"services", in_quotas | whole | in_general},
    {"replicationcontrollers", in_quotas | whole | in_general},
    {"secrets", in_quotas | whole | in_general},
    {"configmaps", in_quotas | whole | in_general},
    {"persistentvolumeclaims", in_quotas | whole | in_general},
    {"services.nodeports", in_quotas | whole | in_general},
    {"services.loadbalancers", in_quotas | whole | in_general},
}};

bool is_known(std::string_view name, Use use) {
  const auto* const found = std::ranges::find(known_resources, name, &Known::name);
  return found != known_resources.end() && (found->uses & use) != 0;
}

bool is_qualified(std::string_view name) { return name.find('/') != std::string_view::npos; }

// Kubernetes' own: without a domain, or in one of its domains.
bool is_native(std::string_view name) {
  return !is_qualified(name) || name.find("kubernetes.io/") != std::string_view::npos;
}

bool is_quota_huge_page_resource(std::string_view name) {
  return is_huge_page_resource(name) ||
         (name.starts_with(requests_prefix) && is_huge_page_resource(name.substr(requests_prefix.size())));
}

bool is_extended(std::string_view name) {
  return !is_native(name) && !name.starts_with(requests_prefix) &&
         qualified_name_defects(fmt::format("{}{}", requests_prefix, name)).empty();
}

// More may be promised of it than there is.
bool can_overcommit(std::string_view name) { return is_native(name) && !is_huge_page_resource(name); }

bool check_resource_name(FieldCauses& causes, const Place& at, std::string_view name) {
  const Defects defects = qualified_name_defects(name);
  causes.defects(at, name, defects);
  if (!defects.empty()) return false;
  if (is_qualified(name) || is_known(name, in_general) || is_quota_huge_page_resource(name)) return true;
  causes.invalid(at, "must be a resource of Kubernetes, or have a domain, for example example.com/gpu");
  return false;
}

void check_container_resource(FieldCauses& causes, const Place& at, std::string_view name) {
  check_resource_name(causes, at, name);
  if (!is_qualified(name)) {
    if (!is_known(name, in_containers) && !is_huge_page_resource(name))
      causes.invalid(at, "must be cpu, memory, ephemeral-storage, hugepages-SIZE or a resource with a domain");
  } else if (!is_native(name) && !is_extended(name)) {
    causes.invalid(at, "must be a valid name of a resource with a domain");
  }
}

void check_huge_pages(FieldCauses& causes, const Place& at, std::string_view name, const json::Value& value) {
  const auto size = Quantity::parse(name.substr(huge_pages_prefix.size()));
  const auto wanted = quantity_of(&value);
  const bool whole_size = size && size->sign() > 0 && size->milli_value() % 1000 == 0;
  if (!whole_size || !wanted || wanted->value() % size->value() != 0)
    causes.invalid(at, "must be a multiple of the page size in its name");
}

struct Seen {
  bool compute = false;
  bool huge_pages = false;
};

void check_list(FieldCauses& causes, const Place& at, const json::Object& list, Seen& seen) {
  for (const auto& member : list) {
    const std::string_view name = member.key();
    const Place place = at.key(name);
    check_container_resource(causes, place, name);
    check_amount(causes, place, name, member.value());
    if (is_huge_page_resource(name)) {
      seen.huge_pages = true;
      check_huge_pages(causes, place, name, member.value());
    }
    seen.compute = seen.compute || name == "cpu" || name == "memory";
  }
}

void check_against_limits(FieldCauses& causes, const Place& at, const json::Object& requests,
                          const json::Object& limits) {
  for (const auto& member : requests) {
    const std::string_view name = member.key();
    const auto limit = quantity_of(json::find(limits, name));
    const auto request = quantity_of(&member.value());
    if (!request) continue;
    if (!limit) {
      if (!can_overcommit(name))
        causes.required(at.field("limits"), fmt::format("{} cannot be overcommitted and requires a limit", name));
    } else if (!can_overcommit(name) && *request != *limit) {
      causes.invalid(at.field("requests"),
                     fmt::format("{} cannot be overcommitted: request and limit must be equal", name));
    } else if (*request > *limit) {
      causes.invalid(at.field("requests"), fmt::format("must not be more than the {} limit", name));
    }
  }
}

}  // namespace

std::optional<Quantity> quantity_of(const json::Value* value) {
  const auto written = json::as_string(value);
  if (!written) return std::nullopt;
  auto parsed = Quantity::parse_json(*written);
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

Quantity amount(const json::Object& list, std::string_view resource) {
  return quantity_of(json::find(list, resource)).value_or(Quantity());
}

void round_amounts(json::Object& in, std::string_view list) {
  auto* amounts = json::get_object(in, list);
  if (!amounts) return;
  for (auto& member : *amounts) {
    const auto quantity = quantity_of(&member.value());
    if (!quantity) continue;
    const Quantity rounded = Quantity::from_milli(quantity->milli_value(), quantity->format());
    // Huge amounts saturate as thousandths; they have nothing to round.
    if (rounded > *quantity && quantity->milli_value() < std::numeric_limits<std::int64_t>::max())
      member.value() = rounded.to_string();
  }
}

void round_requirements(json::Object& in, std::string_view requirements) {
  if (auto* object = json::get_object(in, requirements)) {
    round_amounts(*object, "limits");
    round_amounts(*object, "requests");
  }
}

bool is_huge_page_resource(std::string_view name) { return name.starts_with(huge_pages_prefix); }

void check_amount(FieldCauses& causes, const Place& at, std::string_view resource, const json::Value& value) {
  const auto quantity = quantity_of(&value);
  if (!quantity) return;  // canonical form refused it long ago
  if (quantity->sign() < 0) causes.invalid(at, "must be 0 or more");
  if ((is_known(resource, whole) || is_extended(resource)) && quantity->milli_value() % 1000 != 0)
    causes.invalid(at, "must be a whole number");
}

void check_limit_resource(FieldCauses& causes, const Place& at, std::string_view resource) {
  check_container_resource(causes, at, resource);
}

void check_quota_resource(FieldCauses& causes, const Place& at, std::string_view resource) {
  check_resource_name(causes, at, resource);
  if (!is_qualified(resource) && !is_known(resource, in_quotas) && !is_quota_huge_page_resource(resource))
    causes.invalid(at, "must be a resource that a quota supports");
}

void check_requirements(FieldCauses& causes, const Place& at, const json::Object& requirements) {
  const json::Object& limits = members(requirements, "limits");
  const json::Object& requests = members(requirements, "requests");
  Seen seen;
  check_list(causes, at.field("limits"), limits, seen);
  check_list(causes, at.field("requests"), requests, seen);
  check_against_limits(causes, at, requests, limits);
  if (seen.huge_pages && !seen.compute) causes.forbidden(at, "hugepages requires cpu or memory");
}

void check_overhead(FieldCauses& causes, const Place& at, const json::Object& overhead) {
  Seen seen;
  check_list(causes, at.field("limits"), overhead, seen);
  if (seen.huge_pages && !seen.compute) causes.forbidden(at, "hugepages requires cpu or memory");
}

}  // namespace vg::resources::core_kinds
