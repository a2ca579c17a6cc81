// For tests of the VMI controller: VMIs of a few words, and what one pass makes of them.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/common/conditions.h"
#include "controllers/placement.h"
#include "controllers/testing.h"
#include "controllers/vmi/act.h"
#include "controllers/vmi/vmi.h"
#include "json/write.h"

namespace vg::controllers::vmi::testing {

inline const Key key{.ns = "ns", .name = "a"};
inline constexpr std::string_view uid = "11111111-1111-4111-8111-111111111111";

inline constexpr std::string_view node_text =
    R"({"metadata":{"name":"n1","labels":{"kubevirt.io/schedulable":"true"},
        "annotations":{"kubevirt.io/heartbeat":"2026-01-02T03:04:00Z"}},
        "status":{"allocatable":{"cpu":"8","memory":"16Gi","devices.kubevirt.io/kvm":"9","devices.kubevirt.io/tun":"9",
                                 "devices.kubevirt.io/vhost-net":"9","devices.kubevirt.io/vhost-vsock":"9"}}})";

struct VmiText {
  std::string status = R"({"phase":"Pending"})";
  std::string spec = R"({"domain":{"devices":{}}})";
  std::string metadata = {};  // members, each after a comma
};

inline std::string text_of(const VmiText& vmi) {
  return fmt::format(
      R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{{"name":"a","namespace":"ns",)"
      R"("uid":"{}","resourceVersion":"5","finalizers":["kubevirt.io/foregroundDeleteVirtualMachine"]{}}},)"
      R"("spec":{},"status":{}}})",
      uid, vmi.metadata, vmi.spec, vmi.status);
}

inline const std::string pod = placement_uid(uid);
inline constexpr std::string_view deleting = R"(,"deletionTimestamp":"2026-01-02T03:04:04Z")";
// A status on node n1, with more members.
inline std::string placed_status(std::string_view phase, std::string_view more = {}) {
  return fmt::format(
      R"({{"phase":"{}","nodeName":"n1","activePods":{{"{}":"n1"}},"launcherContainerImageVersion":"{}"{}}})", phase,
      pod, launcher_image(), more);
}

inline TestWorld& with_node(TestWorld& world) { return world.put(kinds::node, node_text); }

// What one pass makes of it.
struct Result {
  TestPass made;
  const json::Object* object = nullptr;  // null: nothing was written
  const json::Object* status = nullptr;

  std::string_view phase() const { return status ? json::get_string_or(*status, "phase") : "nothing written"; }
  std::string condition(std::string_view type) const {
    if (!find_condition(status, type)) return "none";
    return fmt::format("{} {}", condition_status(status, type), condition_reason(status, type));
  }
  std::vector<std::string> phases() const {
    std::vector<std::string> found;
    if (const json::Array* times = status ? json::get_array(*status, "phaseTransitionTimestamps") : nullptr)
      for (const json::Value& time : *times) found.emplace_back(json::get_string_or(time, "phase"));
    return found;
  }
  std::vector<std::string> finalizers() const {
    std::vector<std::string> found;
    const json::Array* listed = json::get_array(*json::get_object(*object, "metadata"), "finalizers");
    if (listed)
      for (const json::Value& one : *listed) found.emplace_back(one.get_string());
    return found;
  }
  std::string text(std::initializer_list<std::string_view> path) const {
    const json::Object* here = object;
    const json::Value* value = nullptr;
    for (const std::string_view name : path) {
      value = here ? json::find(*here, name) : nullptr;
      here = value ? value->if_object() : nullptr;
    }
    if (!value) return "none";
    return value->is_string() ? std::string(value->get_string()) : json::to_text(*value);
  }
};

inline Result pass(const TestWorld& world, Time now = test_now) {
  Result result{.made = sync(vmi_controller(), world, key, now)};
  const Effect* update = result.made.find(Verb::update, kinds::vmi);
  if (!update) return result;
  result.object = &update->document.get_object();
  result.status = json::get_object(*result.object, "status");
  return result;
}

inline Result pass_of(const VmiText& vmi, Time now = test_now) {
  TestWorld world;
  with_node(world).put(kinds::vmi, text_of(vmi));
  return pass(world, now);
}

inline constexpr std::string_view claim_spec =
    R"({"domain":{"devices":{}},"volumes":[{"name":"root","persistentVolumeClaim":{"claimName":"data"}}]})";

inline std::string claim(std::string_view phase, std::string_view metadata = {}) {
  return fmt::format(R"({{"metadata":{{"name":"data","namespace":"ns"{}}},"spec":{{"accessModes":["ReadWriteOnce"],
      "volumeMode":"Filesystem","resources":{{"requests":{{"storage":"1Gi"}}}}}},
      "status":{{"phase":"{}","capacity":{{"storage":"1Gi"}}}}}})",
                     metadata, phase);
}

}  // namespace vg::controllers::vmi::testing
