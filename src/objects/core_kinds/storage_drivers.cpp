// What CSI drivers and the cluster tell each other. No driver is called by this server.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/storage_class.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::size_t driver_name_bytes_max = 63;

void check_driver_name(FieldCauses& causes, const Place& at, std::string_view name) {
  if (name.empty()) causes.required(at, "name the driver");
  if (name.size() > driver_name_bytes_max)
    causes.too_long(at, fmt::format("must have at most {} bytes", driver_name_bytes_max));
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  causes.defects(at, name, dns1123_subdomain_defects(lower));
}

// --- drivers ---------------------------------------------------------------------------------------------------------

void default_driver(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  default_pointer(spec, "attachRequired", true);
  default_pointer(spec, "podInfoOnMount", false);
  default_pointer(spec, "storageCapacity", false);
  default_pointer(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  if (items(spec, "volumeLifecycleModes").empty()) set_texts(spec, "volumeLifecycleModes", {"Persistent"});
  default_pointer(spec, "requiresRepublish", false);
  default_pointer(spec, "seLinuxMount", false);
}

void check_token_requests(FieldCauses& causes, const Place& at, const json::Array& requests) {
  static constexpr std::int64_t seconds_min = 600;
  static constexpr std::int64_t seconds_max = std::int64_t{1} << 32U;
  std::set<std::string_view> audiences;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const json::Object& request = members(requests[i]);
    const Place place = at.item(i);
    if (!audiences.insert(text(request, "audience")).second)
      causes.duplicate(place.field("audience"), text(request, "audience"));
    if (const auto seconds = json::get_int(request, "expirationSeconds");
        seconds && (*seconds < seconds_min || *seconds > seconds_max))
      causes.invalid(place.field("expirationSeconds"), "must be between 10 minutes and 2^32 seconds");
  }
}

void validate_driver(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                     std::vector<StatusCause>& into) {
  static constexpr std::array<std::string_view, 3> policies = {"File", "None", "ReadWriteOnceWithFSType"};
  static constexpr std::array<std::string_view, 2> modes = {"Persistent", "Ephemeral"};
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  if (!old) check_driver_name(causes, top("name"), name_of(object));
  check_supported(causes, at.field("fsGroupPolicy"), text(spec, "fsGroupPolicy"), policies);
  check_token_requests(causes, at.field("tokenRequests"), items(spec, "tokenRequests"));
  for (const json::Value& mode : items(spec, "volumeLifecycleModes"))
    check_supported(causes, at.field("volumeLifecycleModes"), as_text(mode), modes);
  if (const auto seconds = json::get_int(spec, "nodeAllocatableUpdatePeriodSeconds"); seconds && *seconds < 10)
    causes.invalid(at.field("nodeAllocatableUpdatePeriodSeconds"), "must be greater than or equal to 10 seconds");
  if (!old) return;
  const json::Object& before = members(*old, "spec");
  if (!same_member(spec, before, "attachRequired")) causes.invalid(at.field("attachedRequired"), cannot_change);
  check_immutable(causes, at, spec, before, {"volumeLifecycleModes"});
}

// --- nodes -----------------------------------------------------------------------------------------------------------

void check_node_driver(FieldCauses& causes, const Place& at, const json::Object& driver) {
  static constexpr std::size_t id_bytes_max = 256;
  check_driver_name(causes, at.field("name"), text(driver, "name"));
  const std::string_view id = text(driver, "nodeID");
  if (id.empty()) causes.required(at.field("nodeID"), "the name of the node in the driver");
  if (id.size() > id_bytes_max)
    causes.invalid(at.field("nodeID"), fmt::format("must be {} characters or less", id_bytes_max));
  if (const auto count = json::get_int(members(driver, "allocatable"), "count"))
    check_not_negative(causes, at.field("allocatable").field("count"), *count);
  std::set<std::string_view> keys;
  for (const json::Value& key : items(driver, "topologyKeys")) {
    if (!keys.insert(as_text(key)).second) causes.duplicate(at, as_text(key));
    causes.defects(at, as_text(key), qualified_name_defects(as_text(key)));
  }
}

json::Value without_allocatable(const json::Object& driver) {
  json::Object copy = driver;
  json::erase(copy, "allocatable");
  return json::Value(std::move(copy));
}

void validate_csi_node(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                       std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Array& drivers = items(members(object, "spec"), "drivers");
  const Place spec = top("spec");
  const Place at = spec.field("drivers");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    const json::Object& driver = members(drivers[i]);
    check_node_driver(causes, at.item(i), driver);
    if (!names.insert(text(driver, "name")).second) causes.duplicate(at.item(i).field("name"), text(driver, "name"));
  }
  if (!old) return;
  std::map<std::string_view, const json::Object*> before;
  for (const json::Value& driver : items(members(*old, "spec"), "drivers"))
    before.emplace(text(driver, "name"), &members(driver));
  for (const json::Value& driver : drivers) {
    const auto found = before.find(text(driver, "name"));
    if (found == before.end()) continue;
    const json::Value wanted = without_allocatable(members(driver));
    const json::Value had = without_allocatable(*found->second);
    if (!same(&wanted, &had)) causes.invalid(at, cannot_change);
  }
}

// --- attachments -----------------------------------------------------------------------------------------------------

void validate_attachment(const json::Object& object, const json::Object* old, const WriteContext& context,
                         std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return;
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_driver_name(causes, at.field("attacher"), text(spec, "attacher"));
  const json::Object& source = members(spec, "source");
  const bool inline_volume = has(source, "inlineVolumeSpec");
  const bool named = has(source, "persistentVolumeName");
  const Place place = at.field("source");
  static constexpr std::string_view one_of = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (!inline_volume && !named) causes.required(place, one_of);
  if (inline_volume && named) causes.forbidden(place, one_of);
  if (named)
    causes.defects(place.field("persistentVolumeName"), text(source, "persistentVolumeName"),
                   dns1123_subdomain_defects(text(source, "persistentVolumeName")));
  const std::string_view node = text(spec, "nodeName");
  causes.defects(at.field("nodeName"), node, dns1123_subdomain_defects(node));
  if (old && !same_member(object, *old, "spec")) causes.invalid(at, cannot_change);
}

// --- capacities and attribute classes --------------------------------------------------------------------------------

void validate_capacity(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                       std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  check_label_selector(causes, top("nodeTopology"), members(object, "nodeTopology"));
  const std::string_view name = text(object, "storageClassName");
  causes.defects(top("storageClassName"), name, dns1123_subdomain_defects(name));
  for (const std::string_view member : {"capacity", "maximumVolumeSize"})
    if (const auto quantity = quantity_of(json::find(object, member)); quantity && quantity->sign() < 0)
      causes.invalid(top(member), "must not be below 0");
  if (old) check_immutable(causes, whole_object, object, *old, {"nodeTopology", "storageClassName"});
}

void validate_attributes_class(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                               std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (old)
    for (const std::string_view member : {"driverName", "parameters"})
      if (!same_member(object, *old, member)) causes.forbidden(top(member), cannot_change);
  check_provisioner(causes, top("driverName"), text(object, "driverName"));
  if (members(object, "parameters").empty()) causes.required(top("parameters"), "the parameters of the driver");
  check_parameters(causes, members(object, "parameters"));
}

}  // namespace

constinit const Strategy csi_driver_strategy = {
    .group = "storage.k8s.io", .kind = "CSIDriver", .defaults = default_driver, .validate = validate_driver};
constinit const Strategy csi_node_strategy = {
    .group = "storage.k8s.io", .kind = "CSINode", .validate = validate_csi_node};
constinit const Strategy volume_attachment_strategy = {.group = "storage.k8s.io",
                                                       .kind = "VolumeAttachment",
                                                       .prepare_create = prepare_plain_create,
                                                       .validate = validate_attachment};
constinit const Strategy storage_capacity_strategy = {
    .group = "storage.k8s.io", .kind = "CSIStorageCapacity", .validate = validate_capacity};
constinit const Strategy attributes_class_strategy = {
    .group = "storage.k8s.io", .kind = "VolumeAttributesClass", .validate = validate_attributes_class};

}  // namespace vg::resources::core_kinds
