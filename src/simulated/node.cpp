#include "simulated/node.h"

#include <fmt/format.h>

#include <array>

#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/observed.h"
#include "controllers/common/patch.h"
#include "controllers/nodes.h"
#include "json/access.h"
#include "simulated/made_up.h"
#include "simulated/settings.h"
#include "upstream_release.h"

namespace vg::simulated {
namespace {

using controllers::Pass;
using controllers::Turn;
using json::Object;
using json::Value;
using std::string_view;

constexpr string_view heartbeat_annotation = "kubevirt.io/heartbeat";
constexpr string_view ksm_annotation = "kubevirt.io/ksm-handler-managed";
constexpr std::chrono::seconds heartbeat_interval{60};  // NODE-02

// NODE-03, NODE-04, NODE-06 and spec vmi-lifecycle 5.2: one model for all, so that everything can be moved anywhere.
constexpr string_view true_labels[] = {
    "simulated.virtgate.io/node",
    controllers::schedulable_label,
    "machine-type.node.kubevirt.io/q35",
    "machine-type.node.kubevirt.io/pc-q35-rhel9.6.0",
    "machine-type.node.kubevirt.io/virt",
    "machine-type.node.kubevirt.io/s390-ccw-virtio",
    "cpu-model.node.kubevirt.io/Haswell",
    "cpu-model.node.kubevirt.io/Skylake-Server",
    "cpu-model-migration.node.kubevirt.io/Haswell",
    "cpu-model-migration.node.kubevirt.io/Skylake-Server",
    "host-model-cpu.node.kubevirt.io/Skylake-Server",
    "host-model-required-features.node.kubevirt.io/vmx",
    "cpu-feature.node.kubevirt.io/vmx",
    "cpu-feature.node.kubevirt.io/invtsc",
    "cpu-feature.node.kubevirt.io/aes",
    "cpu-vendor.node.kubevirt.io/Intel",
    "cpu-timer.node.kubevirt.io/tsc-scalable",
};
constexpr std::pair<string_view, string_view> other_labels[] = {
    {"kubernetes.io/os", "linux"},
    {"kubevirt.io/cpumanager", "true"},
    {"cpumanager", "true"},
    {"kubevirt.io/ksm-enabled", "false"},
    {"cpu-timer.node.kubevirt.io/tsc-frequency", "2400000000"},
    {"node-role.kubernetes.io/worker", ""},
};
// NODE-05. Room for a few hundred guests of the usual size on each.
constexpr std::pair<string_view, string_view> amounts[] = {
    {"cpu", "512"},
    {"memory", "4Ti"},
    {"pods", "1000"},
    {"ephemeral-storage", "10Ti"},
    {"hugepages-2Mi", "256Gi"},
    {"hugepages-1Gi", "256Gi"},
    {"devices.kubevirt.io/kvm", "1k"},
    {"devices.kubevirt.io/tun", "1k"},
    {"devices.kubevirt.io/vhost-net", "1k"},
    {"devices.kubevirt.io/vhost-vsock", "1k"},
};

Object labels_of(string_view name, string_view architecture, const json::StoragePtr& storage) {
  Object labels(storage);
  for (const string_view label : true_labels) labels[label] = "true";
  for (const auto& [label, value] : other_labels) labels[label] = value;
  labels["kubernetes.io/hostname"] = name;
  labels["kubernetes.io/arch"] = architecture;
  return labels;
}

Value ready_condition(string_view now, const json::StoragePtr& storage) {
  return Value({{"type", "Ready"},
                {"status", "True"},
                {"reason", "KubeletReady"},
                {"message", "the node is simulated, and always ready"},
                {"lastHeartbeatTime", now},
                {"lastTransitionTime", now}},
               storage);
}

Pass sync(const Turn& turn) {
  Pass pass;
  const Object* node = turn.world.get(controllers::kinds::node, "", turn.key.name);
  if (!node) return pass;
  const controllers::NodeInfo info = controllers::NodeInfo::read(*node);
  if (!is_simulated(&info) || is_silent(info)) return pass;
  const auto due = Timestamp{.seconds = info.heartbeat.value_or(0)}.on_clock() + heartbeat_interval;
  const auto schedulable = info.labels.find(controllers::schedulable_label);
  const bool is_schedulable = schedulable != info.labels.end() && schedulable->second == "true";
  // A clock that was set back must not leave a node silent until it is right again.
  const bool is_ahead = due > turn.now + heartbeat_interval;
  if (is_schedulable && turn.now < due && !is_ahead) {
    pass.look_again(std::chrono::ceil<milliseconds>(due - turn.now));
    return pass;
  }
  pass.add({.verb = controllers::Verb::patch,
            .resource = controllers::kinds::node,
            .ns = {},
            .name = turn.key.name,
            .identity = controllers::Identity::own(),
            .document = Value(heartbeat_patch(*node, turn.now, turn.storage), turn.storage),
            .account = controllers::Account::handler});
  pass.look_again(heartbeat_interval);
  return pass;
}

}  // namespace

std::string node_name(std::int64_t index) { return fmt::format("node{:02}", index + 1); }

Value node_object(string_view name, string_view architecture, controllers::Time now, const json::StoragePtr& storage) {
  const std::string time = controllers::time_text(now);
  Object room(storage);
  for (const auto& [resource, amount] : amounts) room[resource] = amount;
  const Value info({{"architecture", architecture},
                    {"operatingSystem", "linux"},
                    {"osImage", "simulated"},
                    {"kernelVersion", "simulated"},
                    {"kubeletVersion", upstream::kubernetes_release},
                    {"containerRuntimeVersion", "simulated"},
                    {"kubeProxyVersion", ""},
                    {"bootID", ""},
                    {"machineID", ""},
                    {"systemUUID", ""}},
                   storage);
  return Value({{"apiVersion", "v1"},
                {"kind", "Node"},
                {"metadata",
                 {{"name", name},
                  {"labels", labels_of(name, architecture, storage)},
                  {"annotations", {{heartbeat_annotation, time}, {ksm_annotation, "false"}}}}},
                {"spec", Object(storage)},
                {"status",
                 {{"capacity", room},
                  {"allocatable", room},
                  {"addresses",
                   {{{"type", "InternalIP"}, {"address", made_up_node_address(name)}},
                    {{"type", "Hostname"}, {"address", name}}}},
                  {"conditions", json::Array({ready_condition(time, storage)}, storage)},
                  {"nodeInfo", info}}}},
               storage);
}

json::Array heartbeat_patch(const Object& node, controllers::Time now, const json::StoragePtr& storage) {
  json::PatchBuilder patch(storage);
  controllers::set_metadata_entries(patch, node, "annotations", {{heartbeat_annotation, controllers::time_text(now)}});
  controllers::set_metadata_entries(patch, node, "labels", {{controllers::schedulable_label, "true"}});  // NODE-01
  return patch.take();
}

controllers::Controller heartbeat_controller() {
  return {.name = "simulated-node",
          .resource = controllers::kinds::node,
          .component = "virt-handler",
          .triggers = {},
          .sync = sync};
}

}  // namespace vg::simulated
