#include "housekeeping/first_start.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "base/test_files.h"
#include "housekeeping/default_instancetypes.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "objects/draft.h"
#include "ports/object_store_testing.h"
#include "store/testing.h"

namespace vg::resources {
namespace {

struct FirstStartTest : ::testing::Test {
  store::TemporaryFolder folder;
  ManualClock clock{Clock::Wall(std::chrono::hours(500'000))};
  std::unique_ptr<store::EmbeddedStore> store;
  const FirstStart facts{.ca_bundle = "PEM", .architecture = "arm64"};
  const FirstStart alone{.ca_bundle = "PEM",
                         .architecture = "arm64",
                         .system = SystemFacts{.ca_bundle = "PEM", .address = "192.0.2.7", .port = 6443},
                         .default_instancetypes = true};
  static constexpr std::string_view types = "instancetype.kubevirt.io/virtualmachineclusterinstancetypes";
  static constexpr std::string_view preferences = "instancetype.kubevirt.io/virtualmachineclusterpreferences";

  FirstStartTest() {
    store::Options options;
    options.path = folder.file("store.db");
    store = store::must_open(std::move(options));
  }
  std::string text(std::string_view key, std::string_view ns, std::string_view name,
                   std::initializer_list<std::string_view> path) const {
    const auto object = store->get(key, ns, name);
    if (!object) return "(no object)";
    const auto document = json::Document::parse(object->json());
    return std::string(json::as_string(json::find_path(document->root(), path)).value_or("(absent)"));
  }
  void remove(std::string_view key, std::string_view ns, std::string_view name) {
    ASSERT_TRUE(
        vg::testing::commit(*store, vg::testing::remove({std::string(key), std::string(ns), std::string(name)})));
  }
  // Takes a name out of the memory of what was made, as if it were new in this program.
  void forget(std::string_view member, std::string_view name) {
    const auto map = store->get("configmaps", "kubevirt", made_defaults_map);
    json::Document memory;
    json::Value object = load_object(*map, memory.storage());
    std::string names(json::as_string(json::find_path(object, {"data", member})).value_or(""));
    const auto at = names.find(fmt::format(" {} ", name));
    ASSERT_NE(at, std::string::npos);
    names.erase(at, name.size() + 1);
    object.get_object()["data"].get_object()[member] = names;
    Write write{.kind = WriteKind::update,
                .key = map->key(),
                .object = make_draft(object.get_object(), *find_resource("configmaps"))};
    ASSERT_TRUE(vg::testing::commit(*store, std::move(write)));
  }
};

TEST_F(FirstStartTest, TheDefaultRangeOfServicesHoldsThisServer) {
  static constexpr std::string_view key = "networking.k8s.io/servicecidrs";
  ASSERT_TRUE(first_start(*store, facts, clock));
  EXPECT_FALSE(store->get(key, "", "kubernetes")) << "another control plane's to make";
  ASSERT_TRUE(first_start(*store, alone, clock));
  const auto made = store->get(key, "", "kubernetes");
  ASSERT_TRUE(made);
  const auto document = json::Document::parse(made->json());
  EXPECT_EQ(json::to_text(*json::find_path(document->root(), {"spec", "cidrs"})), R"(["192.0.2.7/32"])");
  const json::Value& ready = json::find_path(document->root(), {"status", "conditions"})->get_array().at(0);
  EXPECT_EQ(json::get_string_or(ready, "type"), "Ready");
  EXPECT_EQ(json::get_string_or(ready, "status"), "True");
  EXPECT_FALSE(json::find_path(document->root(), {"metadata", "finalizers"}));
  ASSERT_TRUE(first_start(*store, alone, clock));
  EXPECT_EQ(store->get(key, "", "kubernetes")->revision(), made->revision()) << "made once";
}

TEST_F(FirstStartTest, CreatesWhatAnOperatorWould) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease", "kubevirt"})
    EXPECT_EQ(text("namespaces", "", name, {"status", "phase"}), "Active") << name;
  EXPECT_EQ(text("kubevirt.io/kubevirts", "kubevirt", "kubevirt", {"status", "phase"}), "Deployed");
  EXPECT_EQ(text("kubevirt.io/kubevirts", "kubevirt", "kubevirt", {"status", "defaultArchitecture"}), "arm64");
  EXPECT_EQ(text("configmaps", "kubevirt", "kubevirt-ca", {"data", "ca-bundle"}), "PEM");
  EXPECT_EQ(
      text("configmaps", "kube-system", "kube-apiserver-legacy-service-account-token-tracking", {"data", "since"}),
      "2027-01-15");
  for (const char* name : {"system-cluster-critical", "system-node-critical"})
    EXPECT_EQ(text("scheduling.k8s.io/priorityclasses", "", name, {"preemptionPolicy"}), "PreemptLowerPriority")
        << name;
  EXPECT_GE(store->count("apiextensions.k8s.io/customresourcedefinitions"), 20u);
  for (const char* part : {"spec", "status"})
    EXPECT_EQ(text("apiextensions.k8s.io/customresourcedefinitions", "", "virtualmachines.kubevirt.io",
                   {part, part == std::string_view("spec") ? "names" : "acceptedNames", "listKind"}),
              "VirtualMachineList");
  EXPECT_TRUE(store->get("apiregistration.k8s.io/apiservices", "", "v1.apps"));
  EXPECT_FALSE(store->get("apiregistration.k8s.io/apiservices", "", "v1.apiregistration.k8s.io"))
      << "an aggregator does not list itself";
  EXPECT_EQ(config_version(*store),
            fmt::to_string(store->get("kubevirt.io/kubevirts", "kubevirt", "kubevirt")->revision()));
}

TEST_F(FirstStartTest, WhatIsMissingOfFlowControlComesBackAndTheRestStays) {
  static constexpr std::string_view levels = "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations";
  static constexpr std::string_view flows = "flowcontrol.apiserver.k8s.io/flowschemas";
  ASSERT_TRUE(first_start(*store, facts, clock));
  EXPECT_EQ(text(levels, "", "exempt", {"spec", "type"}), "Exempt");
  EXPECT_EQ(text(flows, "", "service-accounts", {"spec", "priorityLevelConfiguration", "name"}), "workload-low");
  const Revision kept = store->get(flows, "", "exempt")->revision();
  remove(flows, "", "catch-all");
  remove(levels, "", "catch-all");
  ASSERT_TRUE(first_start(*store, facts, clock));
  EXPECT_EQ(text(flows, "", "catch-all", {"spec", "priorityLevelConfiguration", "name"}), "catch-all");
  EXPECT_EQ(text(levels, "", "catch-all", {"spec", "limited", "limitResponse", "type"}), "Reject");
  EXPECT_EQ(store->get(flows, "", "exempt")->revision(), kept);
}

TEST_F(FirstStartTest, ServesTheAggregatedApisOfTheFacts) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  std::ifstream file(test_files::source("facts/apiservices.json"));
  const auto wanted = json::Document::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(wanted);
  ASSERT_EQ(wanted->root().as_array().size(), 2U);
  for (const json::Value& fact : wanted->root().as_array()) {
    const std::string_view name = fact.at("metadata").at("name").as_string();
    const ObjectPtr stored = store->get("apiregistration.k8s.io/apiservices", "", name);
    ASSERT_TRUE(stored) << name;
    const auto ours = json::Document::parse(stored->json());
    for (const std::string_view member : {"group", "version", "groupPriorityMinimum"})
      EXPECT_EQ(ours->root().at("spec").at(member), fact.at("spec").at(member)) << name << " " << member;
  }
}

TEST_F(FirstStartTest, FieldsBelongToWhoWouldWriteThemInACluster) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  const auto owners = [&](std::string_view key, std::string_view ns, std::string_view name) {
    std::string found;
    const auto document = json::Document::parse(store->get(key, ns, name)->json());
    for (const json::Value& entry : json::find_path(document->root(), {"metadata", "managedFields"})->as_array())
      found += fmt::format("{}{}/{} ", json::get_string_or(entry, "manager"), json::get_string_or(entry, "operation"),
                           json::get_string_or(entry, "subresource"));
    return found;
  };
  EXPECT_EQ(owners("namespaces", "", "default"), "kube-apiserverUpdate/ ");
  EXPECT_EQ(owners("kubevirt.io/kubevirts", "kubevirt", "kubevirt"),
            "virt-operatorUpdate/ virt-operatorUpdate/status ");
  EXPECT_EQ(owners("configmaps", "kubevirt", "kubevirt-ca"), "virt-operatorUpdate/ ");
  EXPECT_EQ(owners("apiextensions.k8s.io/customresourcedefinitions", "", "virtualmachines.kubevirt.io"),
            "kube-apiserverUpdate/status virt-operatorUpdate/ ");
}

// spec storage 1.3, 10
TEST_F(FirstStartTest, StorageIsThereOnceAndItsConfigurationIsKept) {
  constexpr std::string_view classes = "storage.k8s.io/storageclasses", configs = "cdi.kubevirt.io/cdiconfigs";
  constexpr std::string_view mark = "storageclass.kubernetes.io/is-default-class";
  FirstStart whole = facts;
  whole.storage = StorageFacts{.upload_url = "https://h:1", .upload_authority = "PEM"};
  ASSERT_TRUE(first_start(*store, whole, clock));
  EXPECT_EQ(text(classes, "", "local", {"metadata", "annotations", mark}), "true");
  EXPECT_EQ(text(classes, "", "local", {"volumeBindingMode"}), "Immediate");
  EXPECT_EQ(text("cdi.kubevirt.io/storageprofiles", "", "local", {"status", "cloneStrategy"}), "copy");
  EXPECT_EQ(text(configs, "", "config", {"status", "uploadProxyURL"}), "https://h:1");  // UPL-15: with its scheme
  EXPECT_EQ(text(configs, "", "config", {"status", "uploadProxyCA"}), "PEM");
  EXPECT_EQ(text(configs, "", "config", {"status", "filesystemOverhead", "storageClass", "local"}), "0");
  EXPECT_TRUE(plan_first_start(*store, whole, clock).empty());
  whole.storage->upload_url = "https://h:2";
  remove(classes, "", "local");
  ASSERT_TRUE(first_start(*store, whole, clock));
  EXPECT_EQ(text(configs, "", "config", {"status", "uploadProxyURL"}), "https://h:2");
  EXPECT_FALSE(store->get(classes, "", "local"));  // who deleted it meant it
}

TEST_F(FirstStartTest, WhereNodesAreOthersLocalIsNotTheDefault) {
  FirstStart external = facts;
  external.storage = StorageFacts{.is_default = false};
  ASSERT_TRUE(first_start(*store, external, clock));
  EXPECT_EQ(text("storage.k8s.io/storageclasses", "", "local", {"provisioner"}), "virtgate.io/local");
  EXPECT_EQ(text("storage.k8s.io/storageclasses", "", "local",
                 {"metadata", "annotations", "storageclass.kubernetes.io/is-default-class"}),
            "(absent)");
}

TEST_F(FirstStartTest, TheSecondStartChangesNothing) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  EXPECT_TRUE(plan_first_start(*store, facts, clock).empty());
  ASSERT_TRUE(first_start(*store, alone, clock));
  EXPECT_TRUE(plan_first_start(*store, alone, clock).empty());
}

TEST_F(FirstStartTest, WhatClientsAddToIsThere) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  EXPECT_EQ(text(kubevirts_key, "kubevirt", "kubevirt", {"status", "observedDeploymentConfig"}), "(absent)");
  ASSERT_TRUE(first_start(*store, alone, clock));
  const auto document = json::Document::parse(store->get(kubevirts_key, "kubevirt", "kubevirt")->json());
  EXPECT_TRUE(json::find_path(document->root(), {"spec", "configuration", "developerConfiguration"}));
  const auto config =
      json::Document::parse(text(kubevirts_key, "kubevirt", "kubevirt", {"status", "observedDeploymentConfig"}));
  ASSERT_TRUE(config);
  EXPECT_EQ(json::get_string_or(config->root(), "kubeVirtVersion"), kubevirt_version);
  EXPECT_NE(text(kubevirts_key, "kubevirt", "kubevirt", {"status", "observedKubeVirtRegistry"}), "(absent)");
}

TEST_F(FirstStartTest, OnlyAWholeClusterHasWhatAControlPlaneKeeps) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  for (const char* key : {"serviceaccounts", "services"}) EXPECT_EQ(store->count(key), 0u) << key;
  EXPECT_FALSE(store->get("configmaps", "default", "kube-root-ca.crt"));
  EXPECT_EQ(store->count(types) + store->count(preferences), 0u);

  ASSERT_TRUE(first_start(*store, alone, clock));
  for (const char* ns : {"default", "kube-system", "kube-public", "kube-node-lease", "kubevirt"}) {
    EXPECT_TRUE(store->get("serviceaccounts", ns, "default")) << ns;
    EXPECT_EQ(text("configmaps", ns, "kube-root-ca.crt", {"data", "ca.crt"}), "PEM") << ns;
  }
  EXPECT_EQ(text("services", "default", "kubernetes", {"spec", "clusterIP"}), "192.0.2.7");
  EXPECT_EQ(text("configmaps", "kube-system", "extension-apiserver-authentication", {"data", "client-ca-file"}), "PEM");
  for (const char* key : {"endpoints", "discovery.k8s.io/endpointslices"})
    EXPECT_EQ(store->get(key, "default", "kubernetes") != nullptr, find_resource(key) != nullptr) << key;
  EXPECT_EQ(store->count(types), 65u);
  EXPECT_EQ(store->count(preferences), 54u);
}

TEST_F(FirstStartTest, AnotherAddressIsToldAtTheNextStart) {
  ASSERT_TRUE(first_start(*store, alone, clock));
  FirstStart moved = alone;
  moved.system->address = "2001:db8::7";
  ASSERT_TRUE(first_start(*store, moved, clock));
  EXPECT_EQ(text("services", "default", "kubernetes", {"spec", "clusterIP"}), "2001:db8::7");
  EXPECT_TRUE(plan_first_start(*store, moved, clock).empty());
}

TEST_F(FirstStartTest, ADefaultThatWasDeletedOrChangedStaysSo) {
  ASSERT_TRUE(first_start(*store, alone, clock));
  remove(types, "", "u1.small");
  const Revision before = store->get(types, "", "u1.large")->revision();
  ASSERT_TRUE(vg::testing::commit(*store, vg::testing::update({std::string(preferences), "", "fedora"}, "mine")));
  EXPECT_TRUE(plan_first_start(*store, alone, clock).empty());
  EXPECT_FALSE(store->get(types, "", "u1.small"));
  EXPECT_EQ(store->get(types, "", "u1.large")->revision(), before);
}

TEST_F(FirstStartTest, ANewerProgramAddsWhatIsNew) {
  ASSERT_TRUE(first_start(*store, alone, clock));
  remove(types, "", "u1.small");
  remove(types, "", "u1.large");
  forget("instancetypes", "u1.large");
  forget("instancetypes", "u1.medium");
  const Revision before = store->get(types, "", "u1.medium")->revision();
  ASSERT_TRUE(first_start(*store, alone, clock));
  EXPECT_TRUE(store->get(types, "", "u1.large"));
  EXPECT_FALSE(store->get(types, "", "u1.small"));
  EXPECT_EQ(store->get(types, "", "u1.medium")->revision(), before) << "somebody has one of that name";
  EXPECT_TRUE(plan_first_start(*store, alone, clock).empty());
}

TEST_F(FirstStartTest, WithoutItsMemoryAllDefaultsComeBack) {
  ASSERT_TRUE(first_start(*store, alone, clock));
  remove(types, "", "u1.small");
  remove("configmaps", "kubevirt", made_defaults_map);
  EXPECT_EQ(plan_first_start(*store, alone, clock).size(), 2u);
  ASSERT_TRUE(first_start(*store, alone, clock));
  EXPECT_EQ(store->count(types), 65u);
}

TEST_F(FirstStartTest, BringsBackWhatIsMissing) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  ASSERT_TRUE(vg::testing::commit(*store, vg::testing::remove({"configmaps", "kubevirt", "kubevirt-ca"})));
  ASSERT_TRUE(vg::testing::commit(*store, vg::testing::remove({"kubevirt.io/kubevirts", "kubevirt", "kubevirt"})));
  EXPECT_EQ(config_version(*store), "");
  EXPECT_EQ(plan_first_start(*store, facts, clock).size(), 2u);
  ASSERT_TRUE(first_start(*store, facts, clock));
  EXPECT_NE(config_version(*store), "");
}

}  // namespace
}  // namespace vg::resources
