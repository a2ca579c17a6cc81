// What an eviction wants done to the machine (spec work-objects 4.4).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "admission/admit.h"
#include "admission/defaults/testing.h"
#include "admission/store_lookups.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::admission {
namespace {

using std::string_view;

// Pods and machines by name.
class Objects final : public Lookups {
 public:
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, int, std::less<>> failing;  // with which code, by resource

  Result<json::Value*> get(string_view resource, string_view, string_view name,
                           const json::StoragePtr& storage) const override {
    if (const auto found = failing.find(resource); found != failing.end())
      return fail(Status{.code = found->second, .reason = {}, .message = "no answer", .details = {}});
    const auto found = texts.find(fmt::format("{}/{}", resource, name));
    if (found == texts.end()) return nullptr;
    auto value = json::parse(found->second, storage);
    EXPECT_TRUE(value) << found->second;
    return new (storage->allocate(sizeof(json::Value), alignof(json::Value))) json::Value(std::move(*value));
  }
  Result<std::vector<json::Value*>> list(string_view, string_view, const json::StoragePtr&) const override {
    return std::vector<json::Value*>();
  }
  Result<std::vector<json::Value*>> list_labelled(string_view, string_view, string_view, string_view,
                                                  const json::StoragePtr&) const override {
    return std::vector<json::Value*>();
  }
  bool missed() const override { return false; }
};

struct EvictionTest : ::testing::Test {
  Objects objects;
  SystemClock clock;
  config::FixedConfig config{config::ClusterConfig::defaults("amd64")};
  std::deque<Result<json::Document>> requests;  // verdicts refer to them

  EvictionTest() {
    objects.texts["pods/p"] = R"({"metadata":{"namespace":"n","labels":{"kubevirt.io":"virt-launcher"},
        "annotations":{"kubevirt.io/domain":"m"}},"spec":{"nodeName":"node1"},"status":{"phase":"Running"}})";
    machine(R"({"spec":{"evictionStrategy":"External"},"status":{"nodeName":"node1"}})");
  }
  void machine(std::string text) { objects.texts["kubevirt.io/virtualmachineinstances/m"] = std::move(text); }

  Verdict evict(string_view eviction = "{}", bool dry_run = false) {
    auto& document = requests.emplace_back(json::Document::parse(
        fmt::format(R"({{"request":{{"uid":"1","operation":"CREATE","namespace":"n","name":"p","dryRun":{},)"
                    R"("object":{}}}}})",
                    dry_run, eviction)));
    const auto review = read_review(document->root());
    const ReadyLookups lookups(objects);
    const Environment environment{.config = config, .lookups = lookups, .clock = clock};
    return admit(*find_webhook("/pod-eviction-validate"), *review, environment, document->storage());
  }
};

TEST_F(EvictionTest, AMachineThatMovesIsMarked) {
  const Verdict verdict = evict();
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.refusal().code, 429);
  ASSERT_EQ(verdict.effects.size(), 1u);
  const SideEffect& effect = verdict.effects[0];
  EXPECT_EQ(effect.resource, "kubevirt.io/virtualmachineinstances");
  EXPECT_EQ(effect.ns, "n");
  EXPECT_EQ(effect.name, "m");
  EXPECT_EQ(json::to_text(effect.patch), R"([{"op":"add","path":"/status/evacuationNodeName","value":"node1"}])");
  EXPECT_FALSE(effect.dry_run);
  EXPECT_EQ(effect.failure.code, 429);
}

// Whoever evicts gives up at every other code than 429.
TEST_F(EvictionTest, WhatCannotBeLookedUpIsNotEvicted) {
  for (const string_view resource : {"pods", "kubevirt.io/virtualmachineinstances"})
    for (const int code : {500, 503, 504, 429, 403}) {
      objects.failing = {{std::string(resource), code}};
      const Verdict verdict = evict();
      EXPECT_FALSE(verdict.allowed) << resource << code;
      EXPECT_EQ(verdict.refusal().code, 429) << resource << code;
      EXPECT_TRUE(verdict.effects.empty()) << resource << code;
    }
}

TEST_F(EvictionTest, APodThatIsNotThereIsNobodysMatter) {
  objects.texts.erase("pods/p");
  EXPECT_TRUE(evict().allowed);
  objects.failing = {{"pods", 400}};
  EXPECT_TRUE(evict().allowed) << "no pod can have such a name";
}

TEST_F(EvictionTest, TheDeschedulerIsNamed) {
  constexpr string_view eviction = R"({"metadata":{"annotations":{"requested-by":"sigs.k8s.io/descheduler"}}})";
  EXPECT_EQ(json::to_text(evict(eviction).effects.at(0).patch),
            R"([{"op":"add","path":"/status/evacuationNodeName","value":"node1"},{"op":"add",)"
            R"("path":"/metadata/annotations","value":{"kubevirt.io/eviction-source":"descheduler"}}])");
  machine(R"({"metadata":{"annotations":{"a":"b"}},"spec":{"evictionStrategy":"External"},
      "status":{"nodeName":"node1"}})");
  EXPECT_EQ(json::to_text(evict(eviction).effects.at(0).patch),
            R"([{"op":"add","path":"/status/evacuationNodeName","value":"node1"},{"op":"add",)"
            R"("path":"/metadata/annotations/kubevirt.io~1eviction-source","value":"descheduler"}])");
  EXPECT_EQ(json::to_text(evict(R"({"metadata":{"annotations":{"requested-by":"me"}}})").effects.at(0).patch),
            R"([{"op":"add","path":"/status/evacuationNodeName","value":"node1"}])");
}

TEST_F(EvictionTest, ADryRunOnlyTries) {
  EXPECT_TRUE(evict("{}", true).effects.at(0).dry_run);
  EXPECT_TRUE(evict(R"({"deleteOptions":{"dryRun":["All"]}})").effects.at(0).dry_run);
  EXPECT_FALSE(evict(R"({"deleteOptions":{"dryRun":["None","All"]}})").effects.at(0).dry_run);
}

TEST_F(EvictionTest, NothingElseIsMarked) {
  const auto untouched = [this](std::string text) {
    machine(std::move(text));
    return evict().effects.empty();
  };
  EXPECT_TRUE(untouched(R"({"spec":{"evictionStrategy":"None"},"status":{"nodeName":"node1"}})"));
  EXPECT_TRUE(untouched(R"({"spec":{"evictionStrategy":"LiveMigrate"},"status":{"nodeName":"node1"}})"));
  EXPECT_TRUE(untouched(
      R"({"spec":{"evictionStrategy":"External"},"status":{"nodeName":"node1","evacuationNodeName":"node1"}})"));
  EXPECT_TRUE(untouched(R"({"spec":{"evictionStrategy":"External"},"status":{"nodeName":"node2"}})"));
}

TEST_F(EvictionTest, TheClusterDecidesOnlyForMachinesThatSayNothing) {
  config = config::FixedConfig(testing::configuration(R"({"evictionStrategy":"External"})"));
  machine(R"({"spec":{},"status":{"nodeName":"node1"}})");
  EXPECT_EQ(evict().refusal().code, 429);
  machine(R"({"spec":{"evictionStrategy":""},"status":{"nodeName":"node1"}})");
  EXPECT_TRUE(evict().allowed);
}

TEST_F(EvictionTest, AnEvictionThatCannotBeReadMarksNothing) {
  for (const string_view eviction : {"null", "1", R"({"metadata":1})", R"({"deleteOptions":{"dryRun":"All"}})"}) {
    const Verdict verdict = evict(eviction);
    EXPECT_EQ(verdict.refusal().code, 429) << eviction;
    EXPECT_TRUE(verdict.effects.empty()) << eviction;
  }
}

}  // namespace
}  // namespace vg::admission
