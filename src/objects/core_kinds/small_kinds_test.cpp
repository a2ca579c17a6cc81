// Kinds with a few rules each.
#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string object(const std::string& api_version, const std::string& kind, const std::string& rest,
                   const std::string& name = "x") {
  return R"({"apiVersion":")" + api_version + R"(","kind":")" + kind + R"(","metadata":{"name":")" + name +
         R"(","namespace":"n"})" + rest + "}";
}

TEST(CoreKindsEvent, StandsBesideItsObject) {
  const auto event = [](const std::string& rest) { return create(object("v1", "Event", rest)).causes; };
  EXPECT_EQ(event(R"(,"involvedObject":{"namespace":"n"})"), CauseList());
  EXPECT_EQ(event(R"(,"involvedObject":{"namespace":"m"})"), one("Invalid", "involvedObject.namespace"));
  EXPECT_EQ(event(R"(,"involvedObject":{})"), one("Invalid", "involvedObject.namespace"));
}

TEST(CoreKindsEvent, NewerEventsSayMore) {
  const std::string time = R"(,"eventTime":"2026-01-02T03:04:05.000006Z","involvedObject":{"namespace":"m"})";
  EXPECT_EQ(create(object("v1", "Event", time)).causes, (CauseList{{"Required", "reportingComponent"},
                                                                   {"Invalid", "reportingComponent"},
                                                                   {"Invalid", "reportingComponent"},
                                                                   {"Required", "reportingInstance"},
                                                                   {"Required", "action"},
                                                                   {"Required", "reason"}}));
  const std::string long_message(1025, 'x');
  EXPECT_EQ(create(object("v1", "Event",
                          time + R"(,"reportingComponent":"kubevirt.io/vm","reportingInstance":"i",
      "action":"a","reason":"r","message":")" +
                              long_message + "\""))
                .causes,
            one("Invalid", "message"));
}

TEST(CoreKindsServiceAccount, SecretsAreNames) {
  const Outcome made =
      create(object("v1", "ServiceAccount", R"(,"secrets":[{"name":"a","namespace":"b","kind":"Secret"}])"));
  EXPECT_EQ(made.at("/secrets"), R"([{"name":"a"}])");
}

TEST(CoreKindsControllerRevision, DataIsAnObjectAndStays) {
  const auto revision = [](const std::string& rest) { return object("apps/v1", "ControllerRevision", rest); };
  EXPECT_EQ(create(revision(R"(,"revision":-1)")).causes, (CauseList{{"Invalid", "revision"}, {"Required", "data"}}));
  EXPECT_EQ(create(revision(R"(,"revision":1,"data":[])")).causes, one("Required", "data"));
  const std::string good = revision(R"(,"revision":1,"data":{"a":{}})");
  EXPECT_EQ(update(good, revision(R"(,"revision":2,"data":{"a":{}})")).causes, CauseList());
  EXPECT_EQ(update(good, revision(R"(,"revision":1,"data":{})")).causes, one("Invalid", "data"));
}

TEST(CoreKindsPriorityClass, ValueAndPolicy) {
  const auto priority = [](const std::string& rest, const std::string& name = "x") {
    return object("scheduling.k8s.io/v1", "PriorityClass", rest, name);
  };
  EXPECT_EQ(create(priority(R"(,"value":1)")).at("/preemptionPolicy"), R"("PreemptLowerPriority")");
  EXPECT_EQ(create(priority(R"(,"value":1000000001)")).causes, one("Forbidden", "value"));
  EXPECT_EQ(create(priority(R"(,"value":1)", "system-mine")).causes, one("Forbidden", "metadata.name"));
  EXPECT_EQ(create(priority(R"(,"value":2000001000)", "system-node-critical")).causes, CauseList());
  EXPECT_EQ(create(priority(R"(,"value":1,"preemptionPolicy":"Maybe")")).causes,
            one("NotSupported", "preemptionPolicy"));
  EXPECT_EQ(update(priority(R"(,"value":1)"), priority(R"(,"value":2,"preemptionPolicy":"Never")")).causes,
            (CauseList{{"Forbidden", "value"}, {"Invalid", "preemptionPolicy"}}));
}

TEST(CoreKindsStorageClass, Fields) {
  const auto storage = [](const std::string& rest) { return object("storage.k8s.io/v1", "StorageClass", rest); };
  const Outcome made = create(storage(R"(,"provisioner":"Example.com/x")"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/reclaimPolicy"), R"("Delete")");
  EXPECT_EQ(made.at("/volumeBindingMode"), R"("Immediate")");
  EXPECT_EQ(create(storage(R"(,"reclaimPolicy":"Recycle","volumeBindingMode":"Later","parameters":{"":"x"},
      "allowedTopologies":[{"matchLabelExpressions":[{"key":"a","values":["x","x"]}]}])"))
                .causes,
            (CauseList{{"Required", "provisioner"},
                       {"Invalid", "parameters"},
                       {"NotSupported", "reclaimPolicy"},
                       {"NotSupported", "volumeBindingMode"},
                       {"Duplicate", "allowedTopologies[0].matchLabelExpressions[0].values[1]"}}));
  EXPECT_EQ(update(storage(R"(,"provisioner":"a/b")"),
                   storage(R"(,"provisioner":"a/c","parameters":{"x":"y"},"reclaimPolicy":"Retain",
                              "volumeBindingMode":"WaitForFirstConsumer","allowVolumeExpansion":true)"))
                .causes,
            (CauseList{{"Forbidden", "parameters"},
                       {"Forbidden", "provisioner"},
                       {"Forbidden", "reclaimPolicy"},
                       {"Invalid", "volumeBindingMode"}}));
}

TEST(CoreKindsResourceQuota, ResourcesAndScopes) {
  const auto quota = [](const std::string& spec) { return object("v1", "ResourceQuota", R"(,"spec":{)" + spec + "}"); };
  EXPECT_EQ(
      create(quota(R"("hard":{"pods":"1.5","storage":"1","magic":"1","example.com/gpu":"1","count/pods":"2"})")).causes,
      (CauseList{{"Invalid", "spec.hard[magic]"},
                 {"Invalid", "spec.hard[magic]"},
                 {"Invalid", "spec.hard[pods]"},
                 {"Invalid", "spec.hard[storage]"}}));
  EXPECT_EQ(create(quota(R"("hard":{"cpu":"-1"},"scopes":["BestEffort","NotBestEffort","Odd"])")).causes,
            (CauseList{{"Invalid", "spec.hard[cpu]"},
                       {"Invalid", "spec.scopes"},
                       {"Invalid", "spec.scopes"},
                       {"Invalid", "spec.scopes"}}));
  EXPECT_EQ(
      create(quota(R"("scopeSelector":{"matchExpressions":[{"scopeName":"BestEffort","operator":"In"}]})")).causes,
      (CauseList{{"Invalid", "spec.scopeSelector.matchExpressions.operator"},
                 {"Required", "spec.scopeSelector.matchExpressions.values"}}));
  EXPECT_EQ(update(quota(R"("hard":{"pods":"1"},"scopes":["BestEffort"])"), quota(R"("hard":{"pods":"2"})")).causes,
            one("Invalid", "spec.scopes"));
}

TEST(CoreKindsLease, Numbers) {
  const auto lease = [](const std::string& spec) {
    return create(object("coordination.k8s.io/v1", "Lease", R"(,"spec":{)" + spec + "}")).causes;
  };
  EXPECT_EQ(lease(R"("leaseDurationSeconds":0,"leaseTransitions":-1)"),
            (CauseList{{"Invalid", "spec.leaseDurationSeconds"}, {"Invalid", "spec.leaseTransitions"}}));
  EXPECT_EQ(lease(R"("preferredHolder":"me")"), one("Forbidden", "spec.preferredHolder"));
  EXPECT_EQ(lease(R"("strategy":"Mine")"), one("NotSupported", "spec.strategy.strategy"));
  EXPECT_EQ(lease(R"("strategy":"example.com/mine","preferredHolder":"me")"), CauseList());
}

std::string crd(const std::string& spec, const std::string& name = "things.example.com") {
  return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", R"(,"spec":{)" + spec + "}", name);
}
const std::string version =
    R"("versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{}}}])";

TEST(CoreKindsDefinition, IsCompleted) {
  const Outcome made =
      create(crd(R"("group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},)" + version));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/names"), R"({"kind":"Thing","listKind":"ThingList","plural":"things","singular":"thing"})");
  EXPECT_EQ(made.at("/spec/conversion"), R"({"strategy":"None"})");
  EXPECT_EQ(made.at("/status/storedVersions"), R"(["v1"])");
}

TEST(CoreKindsDefinition, NamesFitTogether) {
  const std::string spec =
      R"("group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},)" + version;
  EXPECT_EQ(create(crd(spec, "thing.example.com")).causes, one("Invalid", "metadata.name"));
  EXPECT_EQ(
      create(crd(R"("group":"local","scope":"Galaxy","names":{"plural":"things","kind":"Thing","listKind":"Thing"},)" +
                     version,
                 "things.local"))
          .causes,
      (CauseList{{"Invalid", "spec.group"}, {"NotSupported", "spec.scope"}, {"Invalid", "spec.names.listKind"}}));
}

TEST(CoreKindsDefinition, Versions) {
  const std::string names = R"("group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},)";
  EXPECT_EQ(create(crd(names + R"("versions":[{"name":"V1","served":true,"storage":false},
                                              {"name":"V1","served":true,"storage":false}])"))
                .causes,
            (CauseList{{"Required", "spec.versions[0].schema.openAPIV3Schema"},
                       {"Required", "spec.versions[1].schema.openAPIV3Schema"},
                       {"Invalid", "spec.versions[0].name"},
                       {"Invalid", "spec.versions[1].name"},
                       {"Invalid", "spec.versions"},
                       {"Invalid", "spec.versions"},
                       {"Invalid", "status.storedVersions"}}));
  const std::string next = R"("versions":[{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{}}}])";
  EXPECT_EQ(update(crd(names + version), crd(names + next)).causes, one("Invalid", "status.storedVersions[0]"));
}

}  // namespace
}  // namespace vg::resources::core_kinds
