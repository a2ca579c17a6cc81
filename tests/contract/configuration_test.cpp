// What every source of configuration (config/cluster_config.h) does: on one machine config::StoredConfig, in a cluster
// kube::LiveConfig over a copy of the KubeVirt objects (spec server 7).
#include "world.h"

namespace vg::contract {
namespace {

class ConfigurationContract : public ContractTest {
 protected:
  ConfigurationContract() : config_(world().configuration(ns_)) {}

  std::string path_of(std::string_view name, std::string_view ns = {}) const {
    return fmt::format("{}/{}", collection("kubevirt.io/v1", "kubevirts", ns), name);
  }
  static std::string kubevirt(std::string_view name, std::string_view configuration, std::string_view metadata = "") {
    return fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"KubeVirt","metadata":{{"name":"{}"{}}},)"
                       R"("spec":{{"configuration":{}}}}})",
                       name, metadata, configuration);
  }
  static std::string strategy_of(std::string_view strategy) {
    return fmt::format(R"({{"evictionStrategy":"{}"}})", strategy);
  }
  // Creates one that counts.
  void deploy(std::string_view name, std::string_view configuration, std::string_view metadata = "") {
    create(collection("kubevirt.io/v1", "kubevirts"), kubevirt(name, configuration, metadata));
    see(name, merge(path_of(name) + "/status", R"({"status":{"phase":"Deployed"}})"));
  }
  void change(std::string_view name, std::string_view configuration) {
    see(name, merge(path_of(name), fmt::format(R"({{"spec":{{"configuration":{}}}}})", configuration)));
  }
  void see(std::string_view name, const Reply& reply) { config_->await_seen(name, last_version_ = reply.version()); }
  void drop(std::string_view name) {
    remove(path_of(name));
    config_->await_seen(name, "");
  }

  config::ConfigPtr current() const { return config_->source().current(); }
  std::string strategy() const { return std::string(current()->eviction_strategy()); }

  std::unique_ptr<ConfigUnderTest> config_;
  std::string last_version_;
};

TEST_P(ConfigurationContract, WithoutAnObjectTheDefaultsHold) {
  const auto config = current();
  ASSERT_TRUE(config);
  EXPECT_EQ(config->resource_version(), "");
  EXPECT_EQ(config->eviction_strategy(), "None");
  EXPECT_EQ(config->default_architecture(), "amd64");
  EXPECT_TRUE(config->enabled(config::Gate::template_)) << "beta";
  EXPECT_FALSE(config->enabled(config::Gate::sidecar)) << "alpha";
  EXPECT_EQ(current(), config) << "nothing changed, so it is the same one";
}

TEST_P(ConfigurationContract, AnObjectIsLaidOverTheDefaults) {
  deploy("kubevirt", R"({"evictionStrategy":"LiveMigrate","developerConfiguration":{"featureGates":["Sidecar"]}})");
  const auto config = current();
  EXPECT_EQ(config->eviction_strategy(), "LiveMigrate");
  EXPECT_TRUE(config->enabled(config::Gate::sidecar));
  EXPECT_EQ(config->resource_version(), last_version_);
  EXPECT_EQ(config->default_network_interface(), config::ClusterConfig::defaults("amd64")->default_network_interface())
      << "what it does not mention stays";
}

TEST_P(ConfigurationContract, ChangesAreFollowed) {
  deploy("kubevirt", R"({"developerConfiguration":{"featureGates":[]}})");
  const auto before = current();
  EXPECT_FALSE(before->enabled(config::Gate::sidecar));
  change("kubevirt", R"({"developerConfiguration":{"featureGates":["Sidecar"]}})");
  EXPECT_TRUE(current()->enabled(config::Gate::sidecar));
  EXPECT_FALSE(before->enabled(config::Gate::sidecar)) << "whoever took one uses it to the end";
  change("kubevirt", R"({"developerConfiguration":{"featureGates":null}})");
  EXPECT_FALSE(current()->enabled(config::Gate::sidecar)) << "each version starts from the defaults";
  change("kubevirt", R"({"developerConfiguration":{"disabledFeatureGates":["Snapshot"]}})");
  EXPECT_FALSE(current()->enabled(config::Gate::snapshot));
  see("kubevirt", merge(path_of("kubevirt"), R"({"metadata":{"labels":{"x":"y"}}})"));
  EXPECT_EQ(current()->resource_version(), last_version_) << "any change of the object is one";
}

TEST_P(ConfigurationContract, AnObjectCountsOnceItHasAPhase) {
  const Reply made = create(collection("kubevirt.io/v1", "kubevirts"), kubevirt("kubevirt", strategy_of("External")));
  see("kubevirt", made);
  EXPECT_EQ(strategy(), "None");
  see("kubevirt", merge(path_of("kubevirt") + "/status", R"({"status":{"phase":"Deploying"}})"));
  EXPECT_EQ(strategy(), "External");
}

TEST_P(ConfigurationContract, ObjectsOfOtherNamespacesDoNotCount) {
  const std::string other = make_namespace();
  create(collection("kubevirt.io/v1", "kubevirts", other), kubevirt("a", strategy_of("External")));
  merge(path_of("a", other) + "/status", R"({"status":{"phase":"Deployed"}})");
  deploy("kubevirt", "{}");
  EXPECT_EQ(strategy(), "None");
}

TEST_P(ConfigurationContract, OfTwoTheFirstByNameCounts) {
  deploy("b", strategy_of("External"));
  EXPECT_EQ(strategy(), "External");
  deploy("a", strategy_of("LiveMigrate"));
  EXPECT_EQ(strategy(), "LiveMigrate");
  change("b", strategy_of("LiveMigrateIfPossible"));
  EXPECT_EQ(strategy(), "LiveMigrate");
  drop("a");
  EXPECT_EQ(strategy(), "LiveMigrateIfPossible");
}

TEST_P(ConfigurationContract, WhatWasInForceOutlivesItsObject) {
  deploy("kubevirt", strategy_of("LiveMigrate"));
  EXPECT_EQ(strategy(), "LiveMigrate");
  drop("kubevirt");
  EXPECT_EQ(strategy(), "LiveMigrate");
  deploy("kubevirt", strategy_of("External"));
  EXPECT_EQ(strategy(), "External") << "the next one counts again";
}

TEST_P(ConfigurationContract, WhatIsBeingDeletedDoesNotCount) {
  deploy("a", strategy_of("LiveMigrate"), R"(,"finalizers":["contract/wait"])");
  deploy("b", strategy_of("External"));
  EXPECT_EQ(strategy(), "LiveMigrate");
  remove(path_of("a"));
  see("a", read(path_of("a")));
  EXPECT_EQ(strategy(), "External") << "another one that stays takes its place";
  change("a", strategy_of("LiveMigrateIfPossible"));
  EXPECT_EQ(strategy(), "External");
  merge(path_of("a"), R"({"metadata":{"finalizers":null}})");
  config_->await_seen("a", "");
  EXPECT_EQ(strategy(), "External");
}

TEST_P(ConfigurationContract, WhatCannotBeUsedChangesNothing) {
  deploy("kubevirt", R"({"evictionStrategy":"LiveMigrate"})");
  EXPECT_EQ(strategy(), "LiveMigrate");
  const std::string good = last_version_;
  change("kubevirt", R"({"evictionStrategy":"External","imagePullPolicy":"Perhaps"})");
  EXPECT_EQ(strategy(), "LiveMigrate");
  EXPECT_EQ(current()->resource_version(), good) << "what is said to be in force is";
  change("kubevirt", R"({"evictionStrategy":"External","imagePullPolicy":null})");
  EXPECT_EQ(strategy(), "External");
  EXPECT_EQ(current()->resource_version(), last_version_);
}

TEST_P(ConfigurationContract, SomethingUnusableAtFirstLeavesTheDefaults) {
  deploy("kubevirt", R"({"evictionStrategy":"External","imagePullPolicy":"Perhaps"})");
  EXPECT_EQ(strategy(), "None");
  EXPECT_EQ(current()->resource_version(), "");
}

TEST_P(ConfigurationContract, WhoeverComesLaterSeesTheSame) {
  deploy("kubevirt", strategy_of("LiveMigrate"));
  const auto late = world().configuration(ns_);
  late->await_seen("kubevirt", last_version_);
  EXPECT_EQ(late->source().current()->eviction_strategy(), "LiveMigrate");
  EXPECT_EQ(late->source().current()->resource_version(), last_version_);
}

INSTANTIATE_TEST_SUITE_P(configuration, ConfigurationContract, both_modes(), mode_name);

}  // namespace
}  // namespace vg::contract
