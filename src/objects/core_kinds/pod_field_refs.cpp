#include <algorithm>
#include <array>
#include <string>

#include "base/quantity.h"
#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 5> volume_fields = {"metadata.annotations", "metadata.labels", "metadata.name",
                                                           "metadata.namespace", "metadata.uid"};
constexpr std::array<std::string_view, 9> variable_fields = {
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
// Paths that can be asked for somewhere; any other is no path at all.
constexpr std::array<std::string_view, 15> known_fields = {
    "metadata.annotations", "metadata.labels",         "metadata.name",      "metadata.namespace", "metadata.uid",
    "spec.nodeName",        "spec.restartPolicy",      "spec.schedulerName", "spec.host",          "status.phase",
    "status.hostIP",        "spec.serviceAccountName", "status.hostIPs",     "status.podIP",       "status.podIPs"};
constexpr std::array<std::string_view, 6> resources = {"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
                                                       "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
constexpr std::array<std::string_view, 2> cpu_divisors = {"1m", "1"};
constexpr std::array<std::string_view, 13> byte_divisors = {"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                                            "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};

struct Subscripted {
  std::string_view path, key;
  bool found = false;
};

// metadata.labels['key']
Subscripted split_subscript(std::string_view path) {
  const std::size_t open = path.find("['");
  if (!path.ends_with("']") || open == std::string_view::npos || open == 0 || open + 4 > path.size())
    return {.path = path, .key = {}, .found = false};
  return {.path = path.substr(0, open), .key = path.substr(open + 2, path.size() - open - 4), .found = true};
}

std::string lower(std::string_view value) {
  std::string small(value);
  std::ranges::transform(small, small.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return small;
}

bool is_huge_pages(std::string_view resource) {
  return resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
}

void check_divisor(FieldCauses& causes, const Place& at, std::string_view resource, const json::Value* divisor) {
  const auto unit = quantity_of(divisor);
  if (!unit || unit->is_zero()) return;
  const bool cpu = resource.ends_with(".cpu");
  const bool bytes =
      resource.ends_with(".memory") || resource.ends_with(".ephemeral-storage") || is_huge_pages(resource);
  const Supported units = cpu ? Supported(cpu_divisors) : Supported(byte_divisors);
  if ((cpu || bytes) && std::ranges::find(units, std::string_view(unit->to_string())) == units.end())
    causes.invalid(at.field("divisor"), cpu ? "must be 1 or 1m for cpu" : "must be a unit, for example 1, 1M or 1Mi");
}

}  // namespace

void check_field_ref(FieldCauses& causes, const Place& at, const json::Object& ref, FieldUse use) {
  const std::string_view path = text(ref, "fieldPath");
  if (text(ref, "apiVersion").empty()) return causes.required(at.field("apiVersion"), "only v1 is supported");
  if (path.empty()) return causes.required(at.field("fieldPath"), "the path of the field, for example metadata.name");
  const Subscripted split = split_subscript(path);
  const bool known = split.found ? split.path == "metadata.annotations" || split.path == "metadata.labels"
                                 : std::ranges::find(known_fields, path) != known_fields.end();
  if (text(ref, "apiVersion") != "v1" || !known)
    return causes.invalid(at.field("fieldPath"), "not supported as a field reference");
  if (split.found) {
    const std::string key = split.path == "metadata.annotations" ? lower(split.key) : std::string(split.key);
    return causes.defects(at, key, qualified_name_defects(key));
  }
  const Supported fields = use == FieldUse::volume ? Supported(volume_fields) : Supported(variable_fields);
  check_supported(causes, at.field("fieldPath"), path == "spec.host" ? "spec.nodeName" : path, fields);
}

void check_resource_field_ref(FieldCauses& causes, const Place& at, const json::Object& ref, FieldUse use) {
  const std::string_view resource = text(ref, "resource");
  if (use == FieldUse::volume && text(ref, "containerName").empty())
    causes.required(at.field("containerName"), "the name of the container");
  else if (resource.empty())
    causes.required(at.field("resource"), "the resource, for example limits.memory");
  else if (!is_huge_pages(resource))
    check_supported(causes, at.field("resource"), resource, resources);
  check_divisor(causes, at, resource, json::find(ref, "divisor"));
}

}  // namespace vg::resources::core_kinds
