#include "controllers/vm/instancetypes.h"

#include <gmock/gmock.h>

#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::conditions_of;
using testing::effects_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::merged;
using testing::Scene;

constexpr string_view small =
    R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineInstancetype","metadata":{"name":"small","namespace":"n","uid":"it-uid","generation":1,"labels":{"l":"1"}},"spec":{"cpu":{"guest":2},"memory":{"guest":"1Gi"}}})";
constexpr string_view linux_ =
    R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineClusterPreference","metadata":{"name":"linux","uid":"p-uid","generation":4},"spec":{"cpu":{"preferredCPUTopology":"cores"},"devices":{"preferredAutoattachPodInterface":false,"preferredAutoattachInputDevice":true}}})";
constexpr string_view both =
    R"({"spec":{"instancetype":{"name":"small","kind":"VirtualMachineInstancetype"},"preference":{"name":"linux"},"template":{"spec":{"domain":{"memory":null}}}}})";

Scene scene_of(string_view more = "{}") {
  Scene scene;
  scene.put("instancetype.kubevirt.io/virtualmachineinstancetypes", small);
  scene.put("instancetype.kubevirt.io/virtualmachineclusterpreferences", linux_);
  scene.vm(merged(both, more));
  return scene;
}

std::string in(const Effect* effect, string_view pointer) {
  if (!effect) return "no such effect";
  const json::Value* found = json::resolve(effect->document, *json::Pointer::parse(pointer));
  return found ? json::to_text(*found) : "";
}

TEST(VmInstancetypes, AreWrittenDownAtFirstSight) {
  Scene scene = scene_of();
  const json::Value status = scene.status_after();
  EXPECT_EQ(effects_text(scene.last),
            "create controllerrevisions, create controllerrevisions, patch_status virtualmachines, "
            "create controllerrevisions, create virtualmachineinstances");
  // VMC-96: both references in one write, and the start in the same pass.
  const Effect& references = scene.last.pass.effects[2];
  for (const string_view reference : {"instancetypeRef", "preferenceRef"})
    EXPECT_THAT(json::to_text(references.document), HasSubstr(reference));
  const Effect& revision = scene.last.pass.effects[0];  // VMC-95
  EXPECT_EQ(in(&revision, "/metadata/name"), R"("a-small-v1beta1-it-uid-1")");
  EXPECT_EQ(
      in(&revision, "/metadata/labels"),
      R"({"instancetype.kubevirt.io/object-generation":"1","instancetype.kubevirt.io/object-kind":"VirtualMachineInstancetype","instancetype.kubevirt.io/object-name":"small","instancetype.kubevirt.io/object-uid":"it-uid","instancetype.kubevirt.io/object-version":"v1beta1"})");
  EXPECT_EQ(in(&revision, "/data/metadata/labels"), "");
  EXPECT_EQ(in(&revision, "/data/spec/cpu/guest"), "2");
  EXPECT_EQ(
      json::to_text(*json::find(status, "instancetypeRef")),
      R"({"name":"small","kind":"VirtualMachineInstancetype","controllerRevisionRef":{"name":"a-small-v1beta1-it-uid-1"}})");  // VMC-94a
  const Effect* vmi = scene.last.find(Verb::create, kinds::vmi);
  EXPECT_EQ(in(vmi, "/spec/domain/cpu/cores"), "2");  // row 18
  EXPECT_EQ(in(vmi, "/spec/domain/memory/guest"), R"("1Gi")");
  EXPECT_EQ(in(vmi, "/metadata/annotations/kubevirt.io~1instancetype-name"), R"("small")");  // row 17
  EXPECT_EQ(in(vmi, "/metadata/annotations/kubevirt.io~1cluster-preference-name"), R"("linux")");
  EXPECT_EQ(in(vmi, "/spec/domain/devices/autoattachPodInterface"), "false");  // row 13
  EXPECT_EQ(in(vmi, "/spec/networks"), "");
  EXPECT_EQ(in(vmi, "/spec/domain/devices/inputs/0/name"), R"("default-0")");  // row 15
  const Effect& start = scene.last.pass.effects[3];                            // VMC-72
  EXPECT_EQ(in(&start, "/data/spec/instancetype/revisionName"), R"("a-small-v1beta1-it-uid-1")");
  EXPECT_EQ(effects_text(scene.pass()), "");
}

TEST(VmInstancetypes, MissingOnesKeepTheVmAsItIs) {  // VMC-90, spec vm-controller Q-19
  Scene scene;
  scene.put("instancetype.kubevirt.io/virtualmachineclusterpreferences", linux_);
  scene.vm(merged(both, R"({"spec":{"runStrategy":"Halted"}})")).vmi();
  EXPECT_THAT(conditions_of(scene.status_after()), HasSubstr("Failure=True/FailedFindInstancetype"));
  EXPECT_EQ(scene.last.find(Verb::remove, kinds::vmi), nullptr);
  Scene other;
  other.put("instancetype.kubevirt.io/virtualmachineinstancetypes", small);
  other.vm(both);
  EXPECT_THAT(conditions_of(other.status_after()), HasSubstr("Failure=True/FailedFindPreference"));
}

TEST(VmInstancetypes, ConflictsAreTold) {  // VMC-91, VMC-95
  Scene scene = scene_of(R"({"spec":{"template":{"spec":{"domain":{"cpu":{"cores":3}}}}}})");
  EXPECT_THAT(conditions_of(scene.status_after()), HasSubstr("Failure=True/FailedCreate"));
  EXPECT_THAT(scene.last.events(), ElementsAre("FailedCreate Warning"));
}

// A VM that runs, or is to run, with this instance type by a reference that it has.
Scene scene_with_reference(string_view more, string_view revision_labels) {
  Scene scene = scene_of(merged(
      R"({"status":{"instancetypeRef":{"name":"small","kind":"VirtualMachineInstancetype","controllerRevisionRef":{"name":"old"}}}})",
      more));
  scene.put(kinds::revision, fmt::format(R"({{"metadata":{{"name":"old","namespace":"n","labels":{}}},"data":{}}})",
                                         revision_labels, small));
  return scene;
}
constexpr string_view current_label = R"({"instancetype.kubevirt.io/object-version":"v1beta1"})";
constexpr string_view with_cores = R"({"spec":{"template":{"spec":{"domain":{"cpu":{"cores":3}}}}}})";

TEST(VmInstancetypes, AConflictThatCameLaterKeepsItFromStarting) {  // VMC-63
  Scene scene = scene_with_reference(with_cores, current_label);
  EXPECT_THAT(conditions_of(scene.status_after()), HasSubstr("Failure=True/FailedCreate"));
  EXPECT_THAT(scene.last.events(), ElementsAre("FailedCreate Warning"));
  EXPECT_EQ(scene.last.find(Verb::create, kinds::vmi), nullptr);
}

TEST(VmInstancetypes, AConflictSaysNothingOfARestart) {  // VMC-100a
  constexpr string_view marked =
      R"({"status":{"conditions":[{"type":"RestartRequired","status":"True","message":"m"}]}})";
  for (const auto& [before, expected] : {std::pair<string_view, bool>{"{}", false}, {marked, true}}) {
    Scene scene = scene_with_reference(merged(with_cores, before), current_label);
    const std::string started =
        merged(both, R"({"spec":{"instancetype":{"revisionName":"old"},"template":{"spec":{"hostname":"x"}}}})");
    scene.started_as(started).vmi();
    EXPECT_EQ(conditions_of(scene.status_after()).contains("RestartRequired=True/"), expected) << before;
  }
}

struct UpgradeRow {
  string_view id, labels, effects;
};

TEST(VmInstancetypes, RevisionsOfAnOlderLayoutAreMadeAnew) {
  constexpr UpgradeRow rows[] = {
      {"VMC-97 current", current_label, "create controllerrevisions, patch_status virtualmachines"},
      {"VMC-97 older", R"({"instancetype.kubevirt.io/object-version":"v1alpha2"})",
       "create controllerrevisions, patch_status virtualmachines, create controllerrevisions, "
       "patch_status virtualmachines, remove controllerrevisions"},
      {"VMC-97 oldest", "{}",
       "create controllerrevisions, patch_status virtualmachines, create controllerrevisions, "
       "patch_status virtualmachines, remove controllerrevisions"},
  };
  for (const UpgradeRow& row : rows) {
    SCOPED_TRACE(row.id);
    Scene scene = scene_with_reference(R"({"spec":{"runStrategy":"Halted"}})", row.labels);
    const json::Value status = scene.status_after();
    EXPECT_EQ(effects_text(scene.last), row.effects);
    const Effect* removed = scene.last.find(Verb::remove, kinds::revision);
    EXPECT_EQ(json::get_string_or(status.at("instancetypeRef").at("controllerRevisionRef"), "name"),
              removed ? "a-small-v1beta1-it-uid-1" : "old");
    if (!removed) continue;
    EXPECT_EQ(removed->name, "old");
    EXPECT_TRUE(removed->may_fail);
    EXPECT_THAT(json::to_text(scene.last.pass.effects[3].document), HasSubstr(R"("op":"test")"));
  }
}

TEST(VmInstancetypes, ANewChoiceMakesANewReference) {  // VMC-94a
  Scene scene = scene_of(
      R"({"spec":{"runStrategy":"Halted"},"status":{"instancetypeRef":{"name":"large","kind":"VirtualMachineInstancetype","controllerRevisionRef":{"name":"gone"}}}})");
  scene.put(
      kinds::revision,
      R"({"metadata":{"name":"gone","namespace":"n","labels":{"instancetype.kubevirt.io/object-name":"large"}}})");
  const json::Value status = scene.status_after();
  EXPECT_EQ(json::get_string_or(status.at("instancetypeRef").at("controllerRevisionRef"), "name"),
            "a-small-v1beta1-it-uid-1");
}

TEST(VmInstancetypes, ARevisionCanBeNamed) {  // VMC-94b
  Scene scene = scene_of(R"({"spec":{"runStrategy":"Halted","instancetype":{"revisionName":"mine"}}})");
  scene.put(
      kinds::revision,
      fmt::format(
          R"({{"metadata":{{"name":"mine","namespace":"n","labels":{{"instancetype.kubevirt.io/object-version":"v1beta1"}}}},"data":{}}})",
          small));
  const json::Value status = scene.status_after();
  EXPECT_EQ(json::get_string_or(status.at("instancetypeRef").at("controllerRevisionRef"), "name"), "mine");
}

TEST(VmInstancetypes, AnotherOfTheSameNameIsAnError) {  // VMC-95
  Scene scene = scene_of(R"({"spec":{"runStrategy":"Halted"}})");
  scene.put(kinds::revision,
            R"({"metadata":{"name":"a-small-v1beta1-it-uid-1","namespace":"n"},"data":{"spec":{"cpu":{"guest":9}}}})");
  EXPECT_THAT(conditions_of(scene.status_after()), HasSubstr("Failure=True/FailedCreate"));
}

TEST(VmInstancetypes, CanBeExpanded) {  // VMC-92, VMC-93, VMC-98
  for (const string_view policy : {"expand", "expandAll"}) {
    Scene scene = scene_of();
    scene.configure(fmt::format(R"({{"instancetype":{{"referencePolicy":"{}"}}}})", policy));
    scene.status_after();
    EXPECT_EQ(effects_text(scene.last), "patch virtualmachines") << policy;
    const json::Value vm(*scene.world.get(kinds::vm, "n", "a"));
    EXPECT_EQ(json::find_path(vm, {"spec", "instancetype"}), nullptr);
    EXPECT_EQ(json::to_text(*json::find_path(vm, {"spec", "template", "spec", "domain", "cpu", "cores"})), "2");
  }
}

TEST(VmInstancetypes, ExpandLeavesAReferenceAlone) {  // VMC-92, VMC-93
  const auto effects = [](string_view policy) {
    Scene scene = scene_of();
    scene.status_after();
    scene.configure(fmt::format(R"({{"instancetype":{{"referencePolicy":"{}"}}}})", policy));
    return effects_text(scene.pass());
  };
  EXPECT_EQ(effects("expand"), "");
  EXPECT_EQ(effects("expandAll"),
            "patch virtualmachines, patch_status virtualmachines, remove controllerrevisions, "
            "remove controllerrevisions");
}

TEST(VmInstancetypes, AnotherSizeNeedsARestart) {
  Scene scene = scene_of();
  scene.status_after();
  scene.put("instancetype.kubevirt.io/virtualmachineinstancetypes",
            merged(small, R"({"metadata":{"name":"large","uid":"large-uid"},"spec":{"cpu":{"guest":4}}})"));
  const json::Value stored(*scene.world.get(kinds::vm, "n", "a"));
  scene.world.put(
      kinds::vm, testing::canonical("VirtualMachine",
                                    merged(json::to_text(stored),
                                           R"({"metadata":{"generation":2},"spec":{"instancetype":{"name":"large"}}})"))
                     .root());
  EXPECT_THAT(conditions_of(scene.status_after()), HasSubstr("RestartRequired=True/"));
}

}  // namespace
}  // namespace vg::controllers::vm
