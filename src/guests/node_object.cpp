#include "guests/node_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/names.h"
#include "base/node_limits.h"
#include "base/quantity.h"
#include "controllers/common/conditions.h"
#include "controllers/common/observed.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/copies/names.h"
#include "controllers/nodes.h"
#include "json/access.h"
#include "upstream_release.h"

namespace vg::guests {
namespace {

using json::Object;
using json::Value;
using std::string_view;
using Labels = std::map<std::string, std::string, std::less<>>;

constexpr string_view heartbeat_annotation = "kubevirt.io/heartbeat";
constexpr string_view ksm_annotation = "kubevirt.io/ksm-handler-managed";
constexpr string_view skip_annotation = "node-labeller.kubevirt.io/skip-node";
constexpr string_view emulation_annotation = "node.virtgate.io/emulation";
constexpr string_view no_vsock_annotation = "node.virtgate.io/no-vsock";
constexpr string_view no_virtiofs_annotation = "node.virtgate.io/no-virtiofs";
// No node starts one: that of QEMU 7.2 drops groups, which only root can.
constexpr string_view why_no_virtiofs = "this node has no virtiofsd that runs without root";
constexpr string_view no_cgroups_annotation = "node.virtgate.io/no-cgroups";
constexpr string_view pod_network_annotation = "node.virtgate.io/pod-network";
// Those of the labeller: one that is not true any more goes.
constexpr std::array own_prefixes = std::to_array<string_view>(
    {"cpu-feature.node.kubevirt.io/", "cpu-model.node.kubevirt.io/", "cpu-model-migration.node.kubevirt.io/",
     "host-model-cpu.node.kubevirt.io/", "host-model-required-features.node.kubevirt.io/",
     "cpu-vendor.node.kubevirt.io/", "machine-type.node.kubevirt.io/"});

void add(Labels& labels, string_view prefix, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string label = fmt::format("{}{}", prefix, name);
    if (qualified_name_defects(label).empty()) labels.emplace(std::move(label), "true");
  }
}

std::vector<std::string> without_obsolete(const std::vector<std::string>& models, const config::ClusterConfig& config) {
  const Object* obsolete = json::get_object(config.configuration(), "obsoleteCPUModels");
  std::vector<std::string> kept;
  for (const std::string& model : models)
    if (!obsolete || !json::get_bool_or(*obsolete, model, false)) kept.push_back(model);
  return kept;
}

Labels labels_of(const NodeFacts& facts) {
  const hypervisor::HostFacts& host = facts.host;
  Labels labels{{"kubernetes.io/hostname", std::string(facts.name)},
                {"kubernetes.io/arch", host.architecture},
                {"kubernetes.io/os", "linux"},
                {"cpumanager", "false"},  // NODE-03
                {"kubevirt.io/cpumanager", "false"},
                {"kubevirt.io/ksm-enabled", "false"},                                                     // NODE-04
                {std::string(controllers::schedulable_label), facts.is_schedulable ? "true" : "false"}};  // NODE-01
  add(labels, own_prefixes[0], host.cpu_features);
  add(labels, own_prefixes[1], without_obsolete(host.cpu_models, facts.config));
  add(labels, own_prefixes[2],
      without_obsolete(host.known_models.empty() ? host.cpu_models : host.known_models, facts.config));
  if (!host.host_model.empty()) add(labels, own_prefixes[3], {host.host_model});
  add(labels, own_prefixes[4], host.required_features);
  if (!host.vendor.empty()) add(labels, own_prefixes[5], {host.vendor});
  add(labels, own_prefixes[6], host.machine_types);
  return labels;
}

// NODE-05. Devices are offered even where CPUs are emulated: guests run, only slower, and the annotation says so.
Object room_of(const NodeFacts& facts, const json::StoragePtr& storage) {
  const unsigned sharers = std::max(facts.sharers, 1U);
  const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(facts.host.memory_bytes / sharers, INT64_MAX));
  const std::uint64_t thousandths = facts.host.cpus * 1000 / sharers;
  Object room({{"cpu", Quantity::from_milli(static_cast<std::int64_t>(thousandths)).canonical()},
               {"memory", Quantity::from_int(bytes, Quantity::Format::binary_si).canonical()},
               {"pods", "110"},
               {"ephemeral-storage", "1Ti"}},
              storage);
  for (const string_view device : {"kvm", "tun", "vhost-net"})
    room[fmt::format("devices.kubevirt.io/{}", device)] = "1k";
  if (facts.host.why_no_vsock.empty()) room["devices.kubevirt.io/vhost-vsock"] = "1k";  // NODE-05b
  return room;
}

Value ready_condition(const NodeFacts& facts, string_view now, const json::StoragePtr& storage) {
  return Value({{"type", "Ready"},
                {"status", facts.is_schedulable ? "True" : "False"},
                {"reason", facts.is_schedulable ? "KubeletReady" : "KubeletNotReady"},
                {"message", facts.is_schedulable ? "the hypervisor answers" : "the hypervisor does not answer"},
                {"lastHeartbeatTime", now},
                {"lastTransitionTime", now}},
               storage);
}

Object annotations_of(const NodeFacts& facts, string_view now, const json::StoragePtr& storage) {
  Object annotations({{heartbeat_annotation, now},
                      {ksm_annotation, "false"},  // NODE-04
                      {pod_network_annotation, "slirp"}},
                     storage);
  annotations[controllers::copies::copies_disks_annotation] = "true";
  if (!facts.host.why_no_vsock.empty()) annotations[no_vsock_annotation] = facts.host.why_no_vsock;
  annotations[no_virtiofs_annotation] = why_no_virtiofs;
  if (!facts.host.kvm) annotations[emulation_annotation] = facts.host.why_no_kvm;
  if (!facts.why_no_groups.empty()) annotations[no_cgroups_annotation] = facts.why_no_groups;
  return annotations;
}

// The largest ones, as the kubelet tells of them: each by its name, and by its name and digest.
json::Array images_of(const NodeFacts& facts, const json::StoragePtr& storage) {
  std::vector<const NodeImage*> largest;
  for (const NodeImage& image : facts.images) largest.push_back(&image);
  std::ranges::sort(largest, [](const NodeImage* a, const NodeImage* b) {
    return std::tie(b->bytes, a->reference) < std::tie(a->bytes, b->reference);
  });
  if (largest.size() > limits::node_images_shown_max) largest.resize(limits::node_images_shown_max);
  json::Array images(storage);
  for (const NodeImage* image : largest) {
    // The digest stands for the repository, whatever tag led to it.
    const std::size_t slash = image->reference.rfind('/') + 1, colon = image->reference.find(':', slash);
    json::Array names({image->reference}, storage);
    if (!image->digest.empty())
      names.emplace_back(fmt::format("{}@{}", string_view(image->reference).substr(0, colon), image->digest));
    images.emplace_back(Object({{"names", std::move(names)}, {"sizeBytes", image->bytes}}, storage));
  }
  return images;
}

Object status_of(const NodeFacts& facts, string_view now, const json::StoragePtr& storage) {
  const Object room = room_of(facts, storage);
  const Value info({{"architecture", facts.host.architecture},
                    {"operatingSystem", "linux"},
                    {"osImage", "linux"},
                    {"kernelVersion", ""},
                    {"kubeletVersion", upstream::kubernetes_release},
                    {"containerRuntimeVersion", facts.host.hypervisor_version},
                    {"kubeProxyVersion", ""},
                    {"bootID", ""},
                    {"machineID", ""},
                    {"systemUUID", ""}},
                   storage);
  json::Array addresses(storage);
  if (!facts.address.empty())
    addresses.emplace_back(Object({{"type", "InternalIP"}, {"address", facts.address}}, storage));
  addresses.emplace_back(Object({{"type", "Hostname"}, {"address", facts.name}}, storage));
  Object status({{"capacity", room},
                 {"allocatable", room},
                 {"addresses", std::move(addresses)},
                 {"conditions", json::Array({ready_condition(facts, now, storage)}, storage)},
                 {"nodeInfo", info}},
                storage);
  if (!facts.images.empty()) status["images"] = images_of(facts, storage);
  return status;
}

bool is_labellers(string_view label) {
  return std::ranges::any_of(own_prefixes, [&](string_view prefix) { return label.starts_with(prefix); });
}

bool is_own(string_view map, string_view name) {
  if (map == "annotations")
    return name == emulation_annotation || name == no_vsock_annotation || name == no_virtiofs_annotation ||
           name == no_cgroups_annotation;
  return is_labellers(name);
}

// NODE-06: the labels that the node has already, in place of those that would be right.
void leave_labels(Labels& wanted, const Object& stored) {
  std::erase_if(wanted, [](const auto& label) { return is_labellers(label.first); });
  const Object* metadata = json::get_object(stored, "metadata");
  const Object* old = metadata ? json::get_object(*metadata, "labels") : nullptr;
  if (!old) return;
  for (const auto& member : *old)
    if (is_labellers(member.key())) wanted.emplace(member.key(), json::as_string(&member.value()).value_or(""));
}

bool is_skipped(const Object& stored) {
  const Object* metadata = json::get_object(stored, "metadata");
  const Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  return annotations && json::find(*annotations, skip_annotation);
}

// The members of a map of the metadata as they should be: ours over those that are there.
void patch_map(json::PatchBuilder& patch, const Object& stored, string_view map, const Labels& wanted) {
  const json::StoragePtr& storage = patch.operations().storage();
  const Object* metadata = json::get_object(stored, "metadata");
  const Object* old = metadata ? json::get_object(*metadata, map) : nullptr;
  if (!old) patch.add(controllers::patch_path("/metadata", {map}), Value(boost::json::object_kind, storage));
  for (const auto& [name, value] : wanted)
    if (!old || json::get_string(*old, name) != value)
      patch.add(controllers::patch_path("/metadata", {map, name}), Value(value, storage));
  if (old)
    for (const auto& member : *old)
      if (is_own(map, member.key()) && !wanted.contains(string_view(member.key())))
        patch.remove(controllers::patch_path("/metadata", {map, member.key()}));
}

// The time of a condition that says the same as before stays.
Value merged_condition(const Object* stored_status, Value made) {
  const Object* old = controllers::find_condition(stored_status, "Ready");
  Object& ready = made.get_object();
  if (old && json::get_string_or(*old, "status") == json::get_string_or(ready, "status"))
    if (const Value* time = json::find(*old, "lastTransitionTime")) ready["lastTransitionTime"] = *time;
  return made;
}

}  // namespace

Value node_object(const NodeFacts& facts, controllers::Time now, const json::StoragePtr& storage) {
  const std::string time = controllers::time_text(now);
  Object labels(storage);
  for (const auto& [name, value] : labels_of(facts)) labels[name] = value;
  return Value(
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata",
        {{"name", facts.name}, {"labels", std::move(labels)}, {"annotations", annotations_of(facts, time, storage)}}},
       {"spec", Object(storage)},
       {"status", status_of(facts, time, storage)}},
      storage);
}

NodePatches node_patches(const Object& stored, const NodeFacts& facts, controllers::Time now,
                         const json::StoragePtr& storage) {
  const std::string time = controllers::time_text(now);
  json::PatchBuilder object(storage), status(storage);
  Labels labels = labels_of(facts);
  if (is_skipped(stored)) leave_labels(labels, stored);
  patch_map(object, stored, "labels", labels);
  Labels annotations;
  for (const auto& member : annotations_of(facts, time, storage))
    annotations.emplace(member.key(), member.value().get_string());
  patch_map(object, stored, "annotations", annotations);
  const Object* old = json::get_object(stored, "status");
  if (!old) status.add("/status", Value(boost::json::object_kind, storage));
  Object wanted = status_of(facts, time, storage);
  wanted["conditions"] = json::Array({merged_condition(old, ready_condition(facts, time, storage))}, storage);
  for (const auto& member : wanted) {
    const Value* there = old ? json::find(*old, member.key()) : nullptr;
    if (!there || *there != member.value())
      status.add(controllers::patch_path("/status", {member.key()}), member.value());
  }
  if (facts.images.empty() && old && json::find(*old, "images")) status.remove("/status/images");
  return {.object = object.take(), .status = status.take()};
}

json::Array away_patch(const Object& stored, const json::StoragePtr& storage) {
  json::PatchBuilder patch(storage);
  if (controllers::label_of(stored, controllers::schedulable_label) != "false")
    controllers::set_metadata_entries(patch, stored, "labels", {{controllers::schedulable_label, "false"}});
  return patch.take();
}

}  // namespace vg::guests
