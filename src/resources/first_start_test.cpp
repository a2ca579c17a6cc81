#include "resources/first_start.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "json/access.h"
#include "json/document.h"
#include "ports/object_store_testing.h"
#include "store/testing.h"

namespace vg::resources {
namespace {

struct FirstStartTest : ::testing::Test {
  store::TemporaryFolder folder;
  ManualClock clock{Clock::Wall(std::chrono::hours(500'000))};
  std::unique_ptr<store::EmbeddedStore> store;
  const FirstStart facts{.ca_bundle = "PEM", .architecture = "arm64"};

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
};

TEST_F(FirstStartTest, CreatesWhatAnOperatorWould) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease", "kubevirt"})
    EXPECT_EQ(text("namespaces", "", name, {"status", "phase"}), "Active") << name;
  EXPECT_EQ(text("kubevirt.io/kubevirts", "kubevirt", "kubevirt", {"status", "phase"}), "Deployed");
  EXPECT_EQ(text("kubevirt.io/kubevirts", "kubevirt", "kubevirt", {"status", "defaultArchitecture"}), "arm64");
  EXPECT_EQ(text("configmaps", "kubevirt", "kubevirt-ca", {"data", "ca-bundle"}), "PEM");
  EXPECT_GE(store->count("apiextensions.k8s.io/customresourcedefinitions"), 20u);
  EXPECT_EQ(config_version(*store),
            fmt::to_string(store->get("kubevirt.io/kubevirts", "kubevirt", "kubevirt")->revision()));
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

TEST_F(FirstStartTest, TheSecondStartChangesNothing) {
  ASSERT_TRUE(first_start(*store, facts, clock));
  EXPECT_TRUE(plan_first_start(*store, facts, clock).empty());
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
