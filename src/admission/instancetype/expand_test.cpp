#include "admission/instancetype/expand.h"

#include <gmock/gmock.h>

#include "admission/instancetype/testing.h"

namespace vg::admission::testing {
namespace {

using ::testing::HasSubstr;

struct ExpandTest : ::testing::Test {
  ExpandTest() {
    known.add_text(R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineClusterInstancetype",
        "metadata":{"name":"small"},"spec":{"cpu":{"guest":2},"memory":{"guest":"1Gi"}}})");
    known.add_text(R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineClusterPreference",
        "metadata":{"name":"linux"},"spec":{"cpu":{"preferredCPUTopology":"cores"},
        "devices":{"preferredDiskBus":"virtio","preferredInterfaceModel":"e1000","preferredInterfaceMasquerade":{}}}})");
    known.add_text(R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineClusterPreference",
        "metadata":{"name":"flat"},"spec":{"cpu":{"preferredCPUTopology":"spread","spreadOptions":{"ratio":0}}}})");
  }

  Context context() {
    return {.config = *config,
            .lookups = known,
            .randomness = system_randomness(),
            .own_namespace = "kubevirt",
            .now = {},
            .storage = document.storage()};
  }
  Result<json::Value> expand(std::string_view members, std::string_view machine = R"({"domain":{"devices":{}}})") {
    document = canonical("kubevirt.io", "VirtualMachine",
                         "{" + std::string(members) + R"("template":{"spec":)" + std::string(machine) + "}}");
    return expand_vm(document.root().get_object(), context());
  }
  std::string at(const Result<json::Value>& vm, std::string_view pointer) {
    return vm ? text_at(vm->get_object(), pointer) : vm.error().message;
  }

  KnownObjects known;
  config::ConfigPtr config = configuration("{}");
  json::Document document;
};

TEST_F(ExpandTest, AVmThatNamesNothingComesBackAsItIs) {
  const auto vm = expand("");
  EXPECT_EQ(at(vm, ""), json::to_text(document.root()));
}

TEST_F(ExpandTest, SizesPreferencesAndDefaultsTakeThePlaceOfTheNames) {
  const auto vm = expand(R"("instancetype":{"name":"small"},"preference":{"name":"linux"},)",
                         R"({"domain":{"devices":{}},"volumes":[{"name":"v","emptyDisk":{"capacity":"1Gi"}}]})");
  EXPECT_EQ(at(vm, "/spec/instancetype"), "");
  EXPECT_EQ(at(vm, "/spec/preference"), "");
  EXPECT_EQ(at(vm, "/spec/template/spec/domain/cpu"), R"({"cores":2,"sockets":1,"threads":1})");
  EXPECT_EQ(at(vm, "/spec/template/spec/domain/memory/guest"), R"("1Gi")");
  EXPECT_EQ(at(vm, "/spec/template/spec/architecture"), R"("amd64")");
  // Defaults of devices come first: the disk gets the preferred bus, the interface is bound already (K26).
  EXPECT_EQ(at(vm, "/spec/template/spec/domain/devices/disks"), R"([{"name":"v","disk":{"bus":"virtio"}}])");
  EXPECT_EQ(at(vm, "/spec/template/spec/domain/devices/interfaces/0/bridge"), "{}");
  EXPECT_EQ(at(vm, "/spec/template/spec/domain/devices/interfaces/0/masquerade"), "");
  EXPECT_EQ(at(vm, "/spec/template/spec/domain/devices/interfaces/0/model"), R"("e1000")");
}

TEST_F(ExpandTest, RevisionsInTheStatusAreForgotten) {
  document = parsed(R"({"metadata":{"name":"m","namespace":"default"},"spec":{"instancetype":{"name":"small"},
      "template":{"spec":{"domain":{"devices":{}}}}},"status":{"ready":true,"instancetypeRef":{"name":"small"},
      "preferenceRef":{"name":"x"}}})");
  const auto vm = expand_vm(document.root().get_object(), context());
  EXPECT_EQ(at(vm, "/status"), R"({"ready":true})");
}

TEST_F(ExpandTest, ConflictsAreToldInOneRefusal) {
  const auto vm = expand(R"("instancetype":{"name":"small"},)",
                         R"({"domain":{"devices":{},"cpu":{"cores":1},"memory":{"guest":"1Gi"}}})");
  ASSERT_FALSE(vm);
  EXPECT_EQ(vm.error().code, 400);
  EXPECT_THAT(vm.error().message,
              HasSubstr("spec.template.spec.domain.cpu.cores, spec.template.spec.domain.memory.guest"));
}

TEST_F(ExpandTest, WhatIsMissingOrMakesNoSenseIsRefused) {
  EXPECT_EQ(expand(R"("instancetype":{"name":"none"},)").error().code, 404);
  EXPECT_EQ(expand(R"("instancetype":{"inferFromVolume":"v"},)").error().code, 400);
  EXPECT_EQ(expand(R"("preference":{"name":"linux","kind":"Pod"},)").error().code, 400);
  EXPECT_THAT(at(expand(R"("instancetype":{"name":"small"},"preference":{"name":"flat"},)"), ""), HasSubstr("ratio"));
  config = configuration(R"({"network":{"permitBridgeInterfaceOnPodNetwork":false}})");
  EXPECT_EQ(expand(R"("instancetype":{"name":"small"},)").error().code, 400);
}

TEST_F(ExpandTest, ForRulesWhatCannotBeFoundIsNotNamed) {
  document =
      canonical("kubevirt.io", "VirtualMachine", R"({"instancetype":{"name":"none"},"preference":{"name":"linux"},
      "template":{"spec":{"domain":{"devices":{}},"volumes":[{"name":"v","emptyDisk":{"capacity":"1Gi"}}]}}})");
  const std::string before = json::to_text(document.root());
  const Expansion expansion = expand_template(document.root().get_object(), context());
  EXPECT_FALSE(expansion.chosen.instancetype);
  EXPECT_TRUE(expansion.chosen.preference);
  EXPECT_EQ(json::to_text(document.root()), before) << "the VM itself stays as it was sent";
  const auto& machine = expansion.machine_template.get_object();
  // Preferences come first: the default disk has no target (K27).
  EXPECT_EQ(text_at(machine, "/spec/domain/devices/disks"), R"([{"name":"v"}])");
  EXPECT_EQ(text_at(machine, "/spec/domain/cpu/sockets"), "1");
}

}  // namespace
}  // namespace vg::admission::testing
