#include "objects/quota_usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "json/document.h"

namespace vg::resources {
namespace {

json::Document parsed(const std::string& text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? std::move(*document) : json::Document();
}

QuotaFacts facts(std::string_view key, const std::string& object) {
  const json::Document document = parsed(object);
  return quota_facts(key, &document.root().get_object());
}

std::string print(const Usage& usage) {
  std::vector<std::string> parts;
  for (const auto& [name, quantity] : usage) parts.push_back(fmt::format("{}={}", name, quantity.to_string()));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string usage(std::string_view key, const std::string& object) { return print(facts(key, object).usage); }

std::string container(const std::string& name, const std::string& requests, const std::string& limits = "",
                      const std::string& more = "") {
  return R"({"name":")" + name + R"(","resources":{"requests":{)" + requests + R"(},"limits":{)" + limits + "}}" +
         more + "}";
}

std::string pod(const std::string& spec, const std::string& status = "") {
  return R"({"metadata":{"name":"p"},"spec":{)" + spec + R"(},"status":{)" + status + "}}";
}

Quota quota(const std::string& spec, const std::string& status = "") {
  const json::Document document =
      parsed(R"({"metadata":{"name":"q"},"spec":{)" + spec + R"(},"status":{)" + status + "}}");
  return read_quota(document.root().get_object());
}

TEST(QuotaUsage, PodsTakeWhatRunsTogetherOrWhatTheirStartTakes) {
  EXPECT_EQ(usage("pods", pod(R"("containers":[)" + container("a", R"("cpu":"100m","memory":"1Gi")", R"("cpu":"1")") +
                              "," + container("b", R"("cpu":"200m")") + "]")),
            "count/pods=1 cpu=300m limits.cpu=1 memory=1Gi pods=1 requests.cpu=300m requests.memory=1Gi");
  // The start takes more of one resource, and a container that stays is added to all.
  EXPECT_EQ(usage("pods", pod(R"("initContainers":[)" +
                              container("stays", R"("cpu":"50m")", "", R"(,"restartPolicy":"Always")") + "," +
                              container("first", R"("cpu":"500m")") + R"(],"containers":[)" +
                              container("a", R"("cpu":"100m")") + R"(],"overhead":{"cpu":"10m","memory":"8Mi"})")),
            "count/pods=1 cpu=560m memory=8Mi pods=1 requests.cpu=560m requests.memory=8Mi");
}

TEST(QuotaUsage, OverheadRaisesOnlyLimitsThatAreThere) {
  EXPECT_EQ(usage("pods", pod(R"("containers":[)" + container("a", "", R"("cpu":"1")") +
                              R"(],"overhead":{"cpu":"500m","memory":"8Mi"})")),
            "count/pods=1 cpu=500m limits.cpu=1500m memory=8Mi pods=1 requests.cpu=500m requests.memory=8Mi");
}

TEST(QuotaUsage, ExtendedResourcesAndHugePages) {
  EXPECT_EQ(
      usage("pods",
            pod(R"("containers":[)" +
                container("a", R"("example.com/gpu":"2","hugepages-2Mi":"4Mi","ephemeral-storage":"1Gi")") + "]")),
      "count/pods=1 ephemeral-storage=1Gi hugepages-2Mi=4Mi pods=1 requests.ephemeral-storage=1Gi "
      "requests.example.com/gpu=2 requests.hugepages-2Mi=4Mi");
}

TEST(QuotaUsage, WhatAPodSaysOfItselfCountsBeforeItsContainers) {
  EXPECT_EQ(usage("pods", pod(R"("resources":{"requests":{"cpu":"2"}},"containers":[)" +
                              container("a", R"("cpu":"100m","memory":"1Mi")") + "]")),
            "count/pods=1 cpu=2 memory=1Mi pods=1 requests.cpu=2 requests.memory=1Mi");
}

TEST(QuotaUsage, AResizedContainerHoldsTheLargerAmount) {
  const std::string spec = R"("containers":[)" + container("c", R"("cpu":"1")") + "]";
  const auto status = [](const std::string& held, const std::string& more = "") {
    return R"("containerStatuses":[{"name":"c","allocatedResources":{"cpu":")" + held + R"("}}])" + more;
  };
  EXPECT_EQ(usage("pods", pod(spec, status("2"))), "count/pods=1 cpu=2 pods=1 requests.cpu=2");
  EXPECT_EQ(usage("pods", pod(spec, status("500m"))), "count/pods=1 cpu=1 pods=1 requests.cpu=1");
  EXPECT_EQ(
      usage("pods", pod(spec, status("500m", R"(,"conditions":[{"type":"PodResizePending","reason":"Infeasible"}])"))),
      "count/pods=1 cpu=500m pods=1 requests.cpu=500m");
}

TEST(QuotaUsage, AFinishedPodIsOnlyAnObject) {
  const std::string spec = R"("containers":[)" + container("c", R"("cpu":"1")") + "]";
  EXPECT_EQ(usage("pods", pod(spec, R"("phase":"Succeeded")")), "count/pods=1");
  EXPECT_EQ(usage("pods", pod(spec, R"("phase":"Failed")")), "count/pods=1");
}

TEST(QuotaUsage, ServicesByTheirPorts) {
  const auto service = [](const std::string& spec) { return R"({"spec":{)" + spec + "}}"; };
  const std::string ports = R"("ports":[{"port":1},{"port":2,"nodePort":30000}])";
  const std::string one = "count/services=1 services=1 ";
  EXPECT_EQ(usage("services", service(ports)), one + "services.loadbalancers=0 services.nodeports=0");
  EXPECT_EQ(usage("services", service(R"("type":"NodePort",)" + ports)),
            one + "services.loadbalancers=0 services.nodeports=2");
  EXPECT_EQ(usage("services", service(R"("type":"LoadBalancer",)" + ports)),
            one + "services.loadbalancers=1 services.nodeports=2");
  EXPECT_EQ(usage("services", service(R"("type":"LoadBalancer","allocateLoadBalancerNodePorts":false,)" + ports)),
            one + "services.loadbalancers=1 services.nodeports=1");
}

TEST(QuotaUsage, ClaimsByTheirClassInWholeBytes) {
  EXPECT_EQ(usage("persistentvolumeclaims",
                  R"({"spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1500m"}}}})"),
            "count/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 "
            "gold.storageclass.storage.k8s.io/requests.storage=2 persistentvolumeclaims=1 requests.storage=2");
  EXPECT_EQ(usage("persistentvolumeclaims", R"({"spec":{"resources":{"requests":{"storage":"1Gi"}}},
                   "status":{"allocatedResources":{"storage":"2Gi"}}})"),
            "count/persistentvolumeclaims=1 persistentvolumeclaims=1 requests.storage=2Gi");
}

TEST(QuotaUsage, OtherObjectsAreCounted) {
  EXPECT_EQ(print(quota_facts("configmaps", nullptr).usage), "configmaps=1 count/configmaps=1");
  EXPECT_EQ(print(quota_facts("kubevirt.io/virtualmachines", nullptr).usage), "count/virtualmachines.kubevirt.io=1");
  EXPECT_EQ(print(quota_facts("events", nullptr).usage), "");
}

TEST(QuotaUsage, WhichObjectsANameIsAbout) {
  const auto resource = [](std::string_view name) { return counted_resource(name).value_or("-"); };
  for (const std::string_view name : {"pods", "count/pods", "cpu", "requests.memory", "limits.ephemeral-storage",
                                      "hugepages-2Mi", "requests.hugepages-2Mi", "requests.example.com/gpu"})
    EXPECT_EQ(resource(name), "pods") << name;
  for (const std::string_view name :
       {"requests.storage", "persistentvolumeclaims", "gold.storageclass.storage.k8s.io/requests.storage"})
    EXPECT_EQ(resource(name), "persistentvolumeclaims") << name;
  EXPECT_EQ(resource("services.nodeports"), "services");
  EXPECT_EQ(resource("count/virtualmachines.kubevirt.io"), "kubevirt.io/virtualmachines");
  for (const std::string_view name : {"count/foo.example.com", "count/nodes", "count/events", "example.com/gpu"})
    EXPECT_EQ(resource(name), "-") << name;
}

TEST(QuotaScopes, OfPods) {
  const auto matches = [](const std::string& spec, const QuotaFacts& of) { return matches_scopes(quota(spec), of); };
  const QuotaFacts plain = facts("pods", pod(R"("containers":[{"name":"c"}])"));
  const QuotaFacts busy =
      facts("pods", pod(R"("priorityClassName":"high","activeDeadlineSeconds":5,"containers":[)" +
                        container("c", R"("cpu":"1")") +
                        R"(],"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":
                  [{"weight":1,"podAffinityTerm":{"topologyKey":"t","namespaces":["x"]}}]}})"));
  for (const auto& [spec, of_plain, of_busy] : std::vector<std::tuple<std::string, bool, bool>>{
           {"", true, true},
           {R"("scopes":["Terminating"])", false, true},
           {R"("scopes":["NotTerminating"])", true, false},
           {R"("scopes":["BestEffort"])", true, false},
           {R"("scopes":["NotBestEffort","Terminating"])", false, true},
           {R"("scopes":["CrossNamespacePodAffinity"])", false, true},
           {R"("scopes":["PriorityClass"])", false, true},
           {R"("scopes":["VolumeAttributesClass"])", false, false},
       }) {
    EXPECT_EQ(matches(spec, plain), of_plain) << spec;
    EXPECT_EQ(matches(spec, busy), of_busy) << spec;
  }
  const auto selects = [&](const std::string& op, const std::string& values, const QuotaFacts& of) {
    return matches(R"("scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":")" + op +
                       R"(","values":[)" + values + "]}]}",
                   of);
  };
  EXPECT_TRUE(selects("In", R"("low","high")", busy));
  EXPECT_FALSE(selects("In", R"("low")", busy));
  EXPECT_FALSE(selects("In", R"("low")", plain));
  EXPECT_TRUE(selects("NotIn", R"("low")", plain));
  EXPECT_FALSE(selects("NotIn", R"("high")", busy));
  EXPECT_TRUE(selects("DoesNotExist", "", plain));
  EXPECT_FALSE(selects("DoesNotExist", "", busy));
}

TEST(QuotaScopes, OfClaimsAndOfWhatHasNone) {
  const Quota fast = quota(R"("scopeSelector":{"matchExpressions":[{"scopeName":"VolumeAttributesClass",
                              "operator":"In","values":["fast"]}]})");
  EXPECT_TRUE(matches_scopes(fast, facts("persistentvolumeclaims",
                                         R"({"spec":{"volumeAttributesClassName":"slow"},
                                             "status":{"currentVolumeAttributesClassName":"fast"}})")));
  EXPECT_FALSE(matches_scopes(fast, facts("persistentvolumeclaims", R"({"spec":{}})")));
  EXPECT_FALSE(matches_scopes(quota(R"("scopes":["NotTerminating"])"), quota_facts("configmaps", nullptr)));
}

std::string problem(const Quota& of, const QuotaChange& change) {
  const auto found = find_quota_problem(of, change);
  EXPECT_TRUE(!found || found->code == 403);
  return found ? found->message : "";
}

TEST(QuotaProblem, NamesWhatIsTooMuchInOrder) {
  const QuotaFacts map = quota_facts("configmaps", nullptr);
  const QuotaChange made{.resource_key = "configmaps", .name = "c", .after = &map};
  const std::string hard = R"("hard":{"configmaps":"1","count/configmaps":"1","pods":"0"})";
  EXPECT_EQ(problem(quota(hard, hard + R"(,"used":{"configmaps":"0","count/configmaps":"0"})"), made), "");
  EXPECT_EQ(problem(quota(hard, hard + R"(,"used":{"configmaps":"1","count/configmaps":"1"})"), made),
            "configmaps \"c\" is forbidden: exceeded quota: q, requested: configmaps=1,count/configmaps=1, "
            "used: configmaps=1,count/configmaps=1, limited: configmaps=1,count/configmaps=1");
  EXPECT_EQ(problem(quota(hard, hard + R"(,"used":{"configmaps":"1"})"), made),
            "configmaps \"c\" is forbidden: status unknown for quota: q, resources: configmaps,count/configmaps");
  EXPECT_EQ(problem(quota(hard), made), "") << "nothing is enforced before it was counted";
}

TEST(QuotaUsage, ClaimsOfDevicesTakeThemByClass) {
  const auto used = [](const std::string& requests) {
    return usage("resource.k8s.io/resourceclaims", R"({"spec":{"devices":{"requests":[)" + requests + "]}}}");
  };
  const std::string count = "count/resourceclaims.resource.k8s.io=1";
  const std::string two = R"({"deviceClassName":"gold","allocationMode":"ExactCount","count":2})";
  const std::string three = R"({"deviceClassName":"gold","allocationMode":"ExactCount","count":3})";
  const std::string all = R"({"deviceClassName":"tin","allocationMode":"All"})";
  const std::string later = R"({"deviceClassName":"tin","allocationMode":"Later","count":5})";
  const auto exactly = [](const std::string& request) { return R"({"name":"r","exactly":)" + request + "}"; };
  const auto first = [](const std::string& choices) { return R"({"name":"r","firstAvailable":[)" + choices + "]}"; };
  EXPECT_EQ(used(""), count);
  EXPECT_EQ(used(exactly(two)), count + " gold.deviceclass.resource.k8s.io/devices=2");
  EXPECT_EQ(used(exactly(two) + "," + exactly(three)), count + " gold.deviceclass.resource.k8s.io/devices=5");
  EXPECT_EQ(used(exactly(later)), count + " tin.deviceclass.resource.k8s.io/devices=0");
  EXPECT_EQ(used(first(three + "," + two + "," + all)),
            count + " gold.deviceclass.resource.k8s.io/devices=3 tin.deviceclass.resource.k8s.io/devices=32");
  EXPECT_EQ(counted_resource("gold.deviceclass.resource.k8s.io/devices"), "resource.k8s.io/resourceclaims");
  EXPECT_FALSE(only_counted("resource.k8s.io/resourceclaims"));
}

TEST(QuotaProblem, GrowingIsRefusedAndShrinkingIsNot) {
  const auto claim = [](const std::string& storage) {
    return facts("persistentvolumeclaims", R"({"spec":{"resources":{"requests":{"storage":")" + storage + R"("}}}})");
  };
  const Quota full = quota(R"("hard":{"requests.storage":"4Gi"})",
                           R"("hard":{"requests.storage":"4Gi"},"used":{"requests.storage":"5Gi"})");
  const QuotaFacts small = claim("1Gi"), large = claim("2Gi");
  const auto change = [&](const QuotaFacts& from, const QuotaFacts& to) {
    return QuotaChange{.resource_key = "persistentvolumeclaims", .name = "c", .before = &from, .after = &to};
  };
  EXPECT_EQ(problem(full, change(small, large)),
            "persistentvolumeclaims \"c\" is forbidden: exceeded quota: q, requested: requests.storage=1Gi, "
            "used: requests.storage=5Gi, limited: requests.storage=4Gi");
  EXPECT_EQ(problem(full, change(large, small)), "");
  EXPECT_EQ(print(quota_delta(full, change(large, small))), "requests.storage=-1Gi");
  QuotaChange of_status = change(small, large);
  of_status.spec_changed = false;
  EXPECT_EQ(problem(full, of_status), "");
}

TEST(QuotaProblem, EveryContainerSaysWhatIsLimited) {
  const json::Document document =
      parsed(pod(R"("containers":[)" + container("b", R"("cpu":"1")") + "," + container("a", "") +
                 R"(],"initContainers":[)" + container("i", "") + "]"));
  const json::Object& object = document.root().get_object();
  const QuotaFacts of = quota_facts("pods", &object);
  const std::string hard = R"("hard":{"requests.cpu":"9","limits.cpu":"9","requests.ephemeral-storage":"1"})";
  EXPECT_EQ(problem(quota(hard, hard), {.resource_key = "pods", .name = "p", .after = &of, .pod = &object}),
            "pods \"p\" is forbidden: failed quota: q: must specify limits.cpu for: a,b,i; requests.cpu for: a,i");
}

}  // namespace
}  // namespace vg::resources
