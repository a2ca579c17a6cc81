// Migrations, clones and launcher pods.
#include <gmock/gmock.h>

#include "admission/defaults/testing.h"

namespace vg::admission::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using MigrationTest = DefaultsTest;
using CloneTest = DefaultsTest;

TEST_F(MigrationTest, LabelAndFinalizerAreSetWhateverWasThere) {
  const Asked asked = ask("/migration-mutate-create",
                          R"({"metadata":{"name":"m","labels":{"kubevirt.io/vmi-name":"old","a":"b"},)"
                          R"("finalizers":["kubevirt.io/migrationJobFinalize"]},"spec":{"vmiName":"new"}})");
  EXPECT_EQ(asked.at("/metadata/labels/kubevirt.io~1vmi-name"), R"("new")");
  EXPECT_EQ(asked.at("/metadata/labels/a"), R"("b")");
  EXPECT_EQ(asked.at("/metadata/finalizers"),
            R"(["kubevirt.io/migrationJobFinalize","kubevirt.io/migrationJobFinalize"])");
  ASSERT_EQ(asked.verdict.patch.size(), 1U);
  EXPECT_EQ(asked.verdict.patch[0].path, "/metadata");
}

TEST_F(CloneTest, AMissingTargetIsInvented) {
  const Asked asked = ask("/vm-clone-mutate-create",
                          R"({"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"s"}}})");
  EXPECT_EQ(asked.at("/spec/target"), R"({"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"clone-s-xxxxx"})");
  ASSERT_EQ(asked.verdict.patch.size(), 1U);
}

TEST_F(CloneTest, AMissingNameIsInventedAlone) {
  const Asked asked = ask("/vm-clone-mutate-create", R"({"spec":{"source":{"name":"s"},"target":{"kind":"Other"}}})");
  EXPECT_EQ(asked.at("/spec/target/kind"), R"("Other")");
  EXPECT_EQ(asked.at("/spec/target/name"), R"("clone-s-xxxxx")");
}

TEST_F(CloneTest, ANamedTargetIsLeftAlone) {
  const Asked asked = ask("/vm-clone-mutate-create", R"({"spec":{"target":{"kind":"VirtualMachine","name":"t"}}})");
  EXPECT_TRUE(asked.allowed());
  EXPECT_THAT(asked.verdict.patch, IsEmpty());
}

TEST_F(CloneTest, ACloneOfNothingIsRefused) {
  const Asked asked = ask("/vm-clone-mutate-create", R"({"spec":{}})");
  EXPECT_EQ(asked.code(), 400);
  EXPECT_THAT(asked.verdict.refusal().message, HasSubstr("spec.source"));
}

struct LauncherPodTest : DefaultsTest {
  LauncherPodTest() { add_vmi("{}"); }

  void add_vmi(std::string_view domain) {
    known.add_text(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",)"
                   R"("metadata":{"name":"m","namespace":"default"},"spec":{"domain":)" +
                   with_filesystem(domain) +
                   R"(,"volumes":[{"name":"tok","containerPath":{"path":"/var/run/t/sub","readOnly":true}}]}})");
  }
  static std::string with_filesystem(std::string_view domain) {
    json::Document document = parsed(domain);
    json::Document devices = parsed(R"({"filesystems":[{"name":"tok","virtiofs":{}}]})");
    document.root().as_object()["devices"] = devices.root();
    return json::to_text(document.root());
  }
  static std::string pod(std::string_view containers = "", std::string_view label = "virt-launcher") {
    return R"({"metadata":{"name":"p","namespace":"default","labels":{"kubevirt.io":")" + std::string(label) +
           R"("},"ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",)"
           R"("name":"m","uid":"u"}]},)"
           R"("spec":{"containers":[{"name":"compute","image":"img",)"
           R"("volumeMounts":[{"name":"v","mountPath":"/var/run"},)"
           R"({"name":"w","mountPath":"/var/run/t"}]})" +
           std::string(containers) +
           R"(],"volumes":[{"name":"v","emptyDir":{}},)"
           R"({"name":"w","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}}]}})";
  }
};

TEST_F(LauncherPodTest, AContainerShowsTheMountToTheGuest) {
  const Asked asked = ask("/virt-launcher-pod-mutate", pod());
  ASSERT_EQ(asked.verdict.patch.size(), 1U);
  EXPECT_EQ(asked.verdict.patch[0].op, "add");
  EXPECT_EQ(asked.verdict.patch[0].path, "/spec/containers/-");
  EXPECT_EQ(asked.at("/spec/containers/1/name"), R"("virtiofs-tok")");
  EXPECT_EQ(asked.at("/spec/containers/1/image"), R"("img")");
  EXPECT_EQ(asked.at("/spec/containers/1/args/1"), R"("--shared-dir=/virtiofs-data/tok")");
  EXPECT_EQ(asked.at("/spec/containers/1/args/6"), R"("--translate-uid=host:107:0:1")");
  EXPECT_EQ(asked.at("/spec/containers/1/volumeMounts/1"),
            R"({"name":"w","readOnly":true,"mountPath":"/virtiofs-data/tok","subPath":"sub"})");
  EXPECT_EQ(asked.at("/spec/containers/1/resources"),
            R"({"limits":{"cpu":"100m","memory":"80M"},"requests":{"cpu":"10m","memory":"1M"}})");
}

TEST_F(LauncherPodTest, AGuaranteedPodStaysSo) {
  config =
      configuration(R"({"supportContainerResources":[{"type":"virtiofs","resources":{"limits":{"cpu":"250m"}}}]})");
  add_vmi(R"({"cpu":{"dedicatedCpuPlacement":true}})");
  EXPECT_EQ(ask("/virt-launcher-pod-mutate", pod()).at("/spec/containers/1/resources"),
            R"({"limits":{"cpu":"250m","memory":"80M"},"requests":{"cpu":"250m","memory":"80M"}})");
}

TEST_F(LauncherPodTest, WhatDoesNotFitLeavesThePodAsItIs) {
  const std::string done = R"(,{"name":"virtiofs-tok","image":"img"})";
  EXPECT_THAT(ask("/virt-launcher-pod-mutate", pod(done)).verdict.patch, IsEmpty());
  EXPECT_THAT(ask("/virt-launcher-pod-mutate", pod("", "virt-handler")).verdict.patch, IsEmpty());
  known.break_resource("kubevirt.io/virtualmachineinstances");
  const Asked unanswered = ask("/virt-launcher-pod-mutate", pod());
  EXPECT_TRUE(unanswered.allowed());
  EXPECT_THAT(unanswered.verdict.patch, IsEmpty());
}

struct CompleteObjectTest : DefaultsTest {
  json::Document document;
  Verdict complete(std::string_view group, std::string_view kind, std::string_view text,
                   const Value* old_object = nullptr) {
    document = parsed(text);
    const Context context{.config = *config,
                          .lookups = known,
                          .randomness = randomness,
                          .own_namespace = "kubevirt",
                          .now = {},
                          .storage = document.storage()};
    return complete_object({.group = group, .kind = kind, .object = document.root(), .old_object = old_object},
                           context);
  }
};

TEST_F(CompleteObjectTest, TheObjectIsCompletedWhereItLies) {
  const Verdict verdict = complete("kubevirt.io", "VirtualMachineInstanceMigration",
                                   R"({"metadata":{"name":"m","odd":1},"spec":{"vmiName":"v"}})");
  EXPECT_TRUE(verdict.allowed);
  EXPECT_THAT(verdict.patch, IsEmpty());
  EXPECT_EQ(json::to_text(*json::find(document.root(), "metadata")),
            R"({"name":"m","labels":{"kubevirt.io/vmi-name":"v"},"finalizers":["kubevirt.io/migrationJobFinalize"]})");
}

TEST_F(CompleteObjectTest, WhatIsCompletedOnCreateAloneIsLeftAloneLater) {
  const json::Document before = parsed(R"({"metadata":{"name":"m"},"spec":{"vmiName":"v"}})");
  EXPECT_TRUE(complete("kubevirt.io", "VirtualMachineInstanceMigration",
                       R"({"metadata":{"name":"m"},"spec":{"vmiName":"v"}})", &before.root())
                  .allowed);
  EXPECT_EQ(json::find_path(document.root(), {"metadata", "finalizers"}), nullptr);
}

TEST_F(CompleteObjectTest, AnObjectThatCannotBeReadIsRefused) {
  EXPECT_EQ(complete("kubevirt.io", "VirtualMachine", R"({"spec":{"running":"yes"}})").refusal().code, 400);
  EXPECT_TRUE(complete("example.org", "Unknown", R"({"spec":1})").allowed);
}

TEST(MutateTest, ThePatchIsOneTextInTheOrderOfSteps) {
  Value spec(json::Object{{"a", 1}});
  const std::vector<PatchStep> steps = {{.op = "replace", .path = "/spec", .value = &spec},
                                        {.op = "add", .path = "/b/-", .value = &spec}};
  EXPECT_EQ(print_patch(steps),
            R"([{"op":"replace","path":"/spec","value":{"a":1}},{"op":"add","path":"/b/-","value":{"a":1}}])");
  EXPECT_EQ(print_patch({}), "");
}

}  // namespace
}  // namespace vg::admission::testing
