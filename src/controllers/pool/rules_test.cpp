#include <gtest/gtest.h>

#include "controllers/pool/selection.h"
#include "controllers/pool/template.h"
#include "controllers/pool/update.h"
#include "controllers/testing.h"
#include "json/write.h"

namespace vg::controllers::pool {
namespace {

using std::chrono::seconds;

json::Document parse(std::string_view text) { return std::move(*json::Document::parse(text)); }

TEST(PoolRules, IndexOfAName) {  // 11.3
  EXPECT_EQ(index_of("p-7"), 7);
  EXPECT_EQ(index_of("my-pool-12"), 12);
  EXPECT_EQ(index_of("p"), 0);
  EXPECT_EQ(index_of("p-x"), 0);
  EXPECT_EQ(index_of("p-"), 0);
  EXPECT_EQ(index_of("p-1x"), 0);
  EXPECT_EQ(index_of("p-99999999999999999999"), 0);
}

TEST(PoolRules, EveryVmHasNamesOfItsOwn) {  // POOL-15, 16, 16b
  constexpr std::string_view text = R"({{"apiVersion":"pool.kubevirt.io/v1beta1","kind":"VirtualMachinePool",
    "metadata":{{"name":"p","namespace":"n","uid":"u","generation":4}},
    "spec":{{{}"virtualMachineTemplate":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{
      "dataVolumeTemplates":[{{"metadata":{{"name":"root"}}}}],
      "template":{{"spec":{{"volumes":[{{"name":"d","dataVolume":{{"name":"root"}}}},{{"name":"e","dataVolume":{{"name":"shared"}}}},
        {{"name":"f","persistentVolumeClaim":{{"claimName":"root"}}}},{{"name":"c","configMap":{{"name":"cfg"}}}},
        {{"name":"s","secret":{{"secretName":"sec"}}}},
        {{"name":"i","cloudInitNoCloud":{{"secretRef":{{"name":"user"}},"networkDataSecretRef":{{"name":"net"}}}}}}]}}}}}}}}}}}})";
  const auto volumes = [&](std::string_view naming) {
    const json::Document pool = parse(fmt::format(text, naming));
    json::Document memory;
    const json::Value vm = new_vm(pool.root().get_object(), 3, memory.storage());
    EXPECT_EQ(json::to_text(*json::find_path(vm, {"metadata", "labels"})),
              R"({"a":"b","kubevirt.io/vm-pool-revision-name":"p-4"})");
    EXPECT_EQ(json::to_text(*json::find_path(vm, {"spec", "template", "metadata", "labels"})),
              R"({"kubevirt.io/vm-pool-revision-name":"p-4"})");
    EXPECT_EQ(json::to_text(*json::find_path(vm, {"spec", "dataVolumeTemplates"})),
              R"([{"metadata":{"name":"root-3"}}])");
    EXPECT_EQ(json::to_text(*json::find_path(vm, {"metadata", "finalizers"})), R"(["pool.kubevirt.io/finalizer"])");
    EXPECT_EQ(json::as_string(json::find_path(vm, {"metadata", "name"})), "p-3");
    return json::to_text(*json::find_path(vm, {"spec", "template", "spec", "volumes"}));
  };
  EXPECT_EQ(volumes(""),
            R"([{"name":"d","dataVolume":{"name":"root-3"}},{"name":"e","dataVolume":{"name":"shared"}},)"
            R"({"name":"f","persistentVolumeClaim":{"claimName":"root-3"}},{"name":"c","configMap":{"name":"cfg"}},)"
            R"({"name":"s","secret":{"secretName":"sec"}},)"
            R"({"name":"i","cloudInitNoCloud":{"secretRef":{"name":"user"},"networkDataSecretRef":{"name":"net"}}}])");
  const std::string all =
      volumes(R"("nameGeneration":{"appendIndexToConfigMapRefs":true,"appendIndexToSecretRefs":true},)");
  for (const std::string_view name : {"cfg-3", "sec-3", "user-3", "net-3"})
    EXPECT_NE(all.find(fmt::format("\"{}\"", name)), std::string::npos) << name;
}

TEST(PoolRules, Revision) {  // POOL-17
  const json::Document pool = parse(
      R"({"kind":"VirtualMachinePool","metadata":{"name":"p","namespace":"n","uid":"u","generation":4},"spec":{"replicas":2}})");
  json::Document memory;
  const json::Value revision = new_revision(pool.root().get_object(), memory.storage());
  EXPECT_EQ(json::as_string(json::find_path(revision, {"metadata", "name"})), "p-4");
  EXPECT_EQ(json::get_int_or(revision, "revision", 0), 4);
  EXPECT_EQ(json::to_text(*json::find(revision, "data")), R"({"replicas":2})");
}

TEST(PoolRules, Selection) {  // 11.3
  TestWorld world;
  for (const auto& [name, time] :
       std::initializer_list<std::pair<std::string_view, int>>{{"p-2", 1}, {"p-10", 3}, {"p-1", 2}})
    world.put(kinds::vm,
              fmt::format(R"({{"metadata":{{"namespace":"n","name":"{}","creationTimestamp":"2026-01-01T00:00:0{}Z"}},
        "spec":{{"template":{{"metadata":{{"labels":{{"n":"{}"}}}},"spec":{{"nodeSelector":{{"zone":"z{}"}}}}}}}}}})",
                          name, time, name, time));
  const auto order = [&](std::string_view policy) {
    const json::Document parsed = parse(policy);
    std::string names;
    for (const json::Object* vm : select_vms(world.list(kinds::vm, "n"), parsed.root().if_object(), 1))
      names += fmt::format("{} ", json::get_string_or(*json::get_object(*vm, "metadata"), "name"));
    return names;
  };
  EXPECT_EQ(order(R"({"sortPolicy":"AscendingOrder"})"), "p-1 p-2 p-10 ");
  EXPECT_EQ(order(R"({"sortPolicy":"DescendingOrder"})"), "p-10 p-2 p-1 ");
  EXPECT_EQ(order(R"({"sortPolicy":"Oldest"})"), "p-2 p-1 p-10 ");
  EXPECT_EQ(order(R"({"sortPolicy":"Newest"})"), "p-10 p-1 p-2 ");
  EXPECT_EQ(order(R"({"sortPolicy":"Random"})").size(), order(R"({"sortPolicy":"Oldest"})").size());
  EXPECT_EQ(order(R"({"sortPolicy":"Oldest","selectors":{"labelSelector":{"matchLabels":{"n":"p-1"}}}})"), "p-1 ");
  EXPECT_EQ(order(R"({"sortPolicy":"Oldest","selectors":{"nodeSelectorRequirementMatcher":[
      {"key":"zone","operator":"In","values":["z1","z3"]}]}})"),
            "p-2 p-10 ");
  EXPECT_EQ(order(R"({"sortPolicy":"Oldest","selectors":{"labelSelector":{"matchLabels":{"n":"p-1"}},
      "nodeSelectorRequirementMatcher":[{"key":"zone","operator":"NotIn","values":["z2"]}]}})"),
            "");
  EXPECT_EQ(
      order(
          R"({"sortPolicy":"Oldest","selectors":{"nodeSelectorRequirementMatcher":[{"key":"disk","operator":"Exists"}]}})"),
      "");
}

TEST(PoolRules, WhatAVmiNeeds) {  // POOL-24, 24b
  const auto revision = [](std::string_view data_volumes, std::string_view hostname) {
    return parse(fmt::format(
        R"({{"data":{{"virtualMachineTemplate":{{"spec":{{"dataVolumeTemplates":{},"template":{{"spec":{{"hostname":"{}"}}}}}}}}}}}})",
        data_volumes, hostname));
  };
  const json::Document one = revision("[]", "a"), other_host = revision("[]", "b"),
                       other_disk = revision(R"([{"x":1}])", "a"), same = revision("[]", "a");
  const auto labelled = [](std::string_view label) {
    return parse(
        label.empty()
            ? R"({"metadata":{}})"
            : fmt::format(R"({{"metadata":{{"labels":{{"kubevirt.io/vm-pool-revision-name":"{}"}}}}}})", label));
  };
  const json::Document vm = labelled("p-2"), old_vmi = labelled("p-1"), new_vmi = labelled("p-2"), bare = labelled("");
  const auto need = [&](const json::Document* of_vm, const json::Document& vmi, const json::Document* of_vmi) {
    return need_of(vm.root().get_object(), of_vm ? of_vm->root().if_object() : nullptr, vmi.root().get_object(),
                   of_vmi ? of_vmi->root().if_object() : nullptr);
  };
  EXPECT_EQ(need(&one, new_vmi, &one), Need::nothing);
  EXPECT_EQ(need(nullptr, old_vmi, &one), Need::nothing);
  EXPECT_EQ(need(&one, bare, nullptr), Need::restart);
  EXPECT_EQ(need(&one, old_vmi, nullptr), Need::restart);
  EXPECT_EQ(need(&other_disk, old_vmi, &one), Need::new_vm);
  EXPECT_EQ(need(&other_host, old_vmi, &one), Need::restart);
  EXPECT_EQ(need(&same, old_vmi, &one), Need::label);
}

TEST(PoolRules, MaxUnavailable) {  // POOL-27, 12.5
  struct Case {
    std::string_view spec;
    std::int64_t replicas, expected;
  };
  const Case cases[] = {
      {"{}", 5, 5},
      {R"({"maxUnavailable":"30%"})", 5, 1},
      {R"({"maxUnavailable":"30%"})", 2, 1},
      {R"({"maxUnavailable":"50%"})", 5, 2},
      {R"({"maxUnavailable":3})", 5, 3},
      {R"({"maxUnavailable":0})", 5, 1},
      {R"({"maxUnavailable":"many"})", 5, 5},
      {"{}", 0, 1},
  };
  for (const Case& one : cases)
    EXPECT_EQ(max_unavailable(parse(one.spec).root().get_object(), one.replicas), one.expected) << one.spec;
}

TEST(PoolRules, Healing) {  // 11.5
  struct Case {
    std::string_view status, strategy;
    std::optional<seconds> expected;
  };
  constexpr std::string_view failing =
      R"("conditions":[{"type":"Ready","status":"False","lastProbeTime":"2026-01-02T03:03:05Z"}])";
  const auto shown = [&](std::string_view status) {
    return fmt::format(R"({{"printableStatus":"{}",{}}})", status, failing);
  };
  const std::string crash = shown("CrashLoopBackOff"), running = shown("Running");
  const Case cases[] = {
      {R"({"startFailure":{"consecutiveFailCount":3}})", "{}", seconds(0)},
      {R"({"startFailure":{"consecutiveFailCount":2}})", "{}", std::nullopt},
      {R"({"startFailure":{"consecutiveFailCount":2}})", R"({"startUpFailureThreshold":2})", seconds(0)},
      {crash, "{}", seconds(240)},
      {crash, R"({"minFailingToStartDuration":"60s"})", seconds(0)},
      {crash, R"({"minFailingToStartDuration":"90s"})", seconds(30)},
      {running, "{}", std::nullopt},
      {R"({"printableStatus":"ErrImagePull"})", "{}", std::nullopt},
  };
  for (const Case& one : cases) {
    const json::Document vm = parse(fmt::format(R"({{"status":{}}})", one.status)), strategy = parse(one.strategy);
    EXPECT_EQ(time_to_healing(vm.root().get_object(), strategy.root().get_object(), test_now), one.expected)
        << one.status;
  }
  for (const std::string_view status :
       {"ErrorUnschedulable", "DataVolumeError", "ErrorPvcNotFound", "ErrImagePull", "ImagePullBackOff"}) {
    const json::Document vm = parse(fmt::format(R"({{"status":{}}})", shown(status)));
    EXPECT_TRUE(time_to_healing(vm.root().get_object(), {}, test_now)) << status;
  }
}

}  // namespace
}  // namespace vg::controllers::pool
