#include "offline/warnings.h"

#include <gmock/gmock.h>

#include <set>

#include "offline/catalogue.h"
#include "offline/field_advice.h"
#include "offline/references.h"
#include "offline/testing.h"

namespace vg::offline::testing {
namespace {

using std::string_view;

SmallWorld world_with(string_view gate) {
  json::Array gates;
  if (!gate.empty()) gates.emplace_back(gate);
  const Value settings = json::Object{{"developerConfiguration", json::Object{{"featureGates", gates}}}};
  return {.known = KnownObjects(), .config = config::FixedConfig(config_of(settings)), .clock = ManualClock()};
}

// Ids of the warnings about a manifest.
std::set<std::string> ids_of(string_view manifest, string_view gate = {}) {
  SmallWorld world = world_with(gate);
  std::set<std::string> ids;
  for (const Finding& finding : world.check({{"f.json", std::string(manifest)}}).findings) ids.insert(finding.id);
  return ids;
}

TEST(Warnings, EachHasAnExampleThatItFindsAndOneThatItDoesNot) {
  for (const Warning& warning : warnings()) {
    EXPECT_TRUE(ids_of(warning.bad, warning.gate).contains(std::string(warning.id))) << warning.id;
    EXPECT_FALSE(ids_of(warning.good, warning.gate).contains(std::string(warning.id))) << warning.id;
    for (const string_view text : {warning.title, warning.field, warning.why, warning.advice})
      EXPECT_FALSE(text.empty()) << warning.id;
    EXPECT_FALSE(warning.title.ends_with('.')) << warning.id;
    // Examples are objects that the server takes.
    for (const string_view text : {warning.good, warning.bad}) {
      const Outcome outcome = world_with(warning.gate).check({{"f.json", std::string(text)}});
      EXPECT_EQ(outcome.count(Severity::refusal), 0u)
          << warning.id << ' ' << ::testing::PrintToString(SmallWorld::lines(outcome));
    }
  }
}

TEST(Warnings, TakeObjectsOfAnyShape) {
  for (const char* text :
       {R"({"kind":"VirtualMachine"})", R"({"kind":"VirtualMachine","spec":[]})",
        R"({"kind":"VirtualMachine","spec":{"template":{"spec":{"volumes":[1,{},{"containerDisk":2}]}}}})",
        R"({"kind":"VirtualMachineInstance","spec":{"volumes":{"a":1}}})"}) {
    const auto document = json::Document::parse(text);
    const KnownObjects known;
    const ObjectsBeside beside(known, {}, StandIn::none, false);
    const Manifest manifest = manifest_of(document->root().get_object(), "default", beside);
    for (const Warning& warning : warnings()) {
      Remarks found;
      warning.look(manifest, found);
      EXPECT_TRUE(found.empty()) << warning.id;
    }
    EXPECT_TRUE(references_of(document->root().get_object(), "default").empty());
  }
}

TEST(References, AreThoseOfAMachineThatNothingElseAnswers) {
  const auto vm = json::Document::parse(R"({"kind":"VirtualMachine","spec":{
    "dataVolumeTemplates":[{"metadata":{"name":"own"}}],"template":{"spec":{
    "networks":[{"name":"a","multus":{"networkName":"other/net"}},{"name":"b","multus":{"networkName":"net"}}],
    "volumes":[{"dataVolume":{"name":"own"}},{"persistentVolumeClaim":{"claimName":"c"}},
    {"configMap":{"name":"maybe","optional":true}},{"secret":{"secretName":"s"}},
    {"serviceAccount":{"serviceAccountName":"default"}}]}}}})");
  std::vector<std::string> found;
  for (const Reference& reference : references_of(vm->root().get_object(), "lab"))
    found.push_back(
        fmt::format("{} {} {}/{}", reference.field, reference.to.resource, reference.to.ns, reference.to.name));
  const std::string nets = "k8s.cni.cncf.io/network-attachment-definitions";
  EXPECT_THAT(found, ::testing::ElementsAre(
                         "spec.template.spec.volumes[1].persistentVolumeClaim.claimName persistentvolumeclaims lab/c",
                         "spec.template.spec.volumes[3].secret.secretName secrets lab/s",
                         "spec.template.spec.networks[0].multus.networkName " + nets + " other/net",
                         "spec.template.spec.networks[1].multus.networkName " + nets + " lab/net"));
}

TEST(References, ToAClaimAreAnsweredByItsDataVolume) {
  SmallWorld world;
  const std::string volume =
      "apiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\nmetadata: {name: c}\nspec: {source: {blank: {}}, "
      "storage: {resources: {requests: {storage: 1Gi}}}}\n---\n";
  const std::string machine =
      "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec:\n  domain: {devices: {}, "
      "memory: {guest: 1Gi}}\n  volumes: [{name: a, persistentVolumeClaim: {claimName: c}}]\n";
  EXPECT_THAT(SmallWorld::lines(world.check({{"f", volume + machine}})), ::testing::IsEmpty());
}

TEST(Warnings, AreManyAndSayNothingOfAnOrdinaryVm) {
  EXPECT_GE(warnings().size(), 25u);
  SmallWorld world;
  const Outcome outcome = world.check({{"f.yaml", R"(
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  dataVolumeTemplates:
  - metadata: {name: web-root}
    spec:
      source: {registry: {url: "docker://registry.example/fedora:42"}}
      storage: {accessModes: [ReadWriteMany], resources: {requests: {storage: 30Gi}}}
  template:
    metadata: {labels: {app: web}}
    spec:
      evictionStrategy: LiveMigrate
      terminationGracePeriodSeconds: 180
      domain:
        cpu: {cores: 2}
        memory: {guest: 4Gi}
        devices:
          disks:
          - {name: root, disk: {bus: virtio}}
          - {name: init, disk: {bus: virtio}}
          interfaces: [{name: default, masquerade: {}, ports: [{port: 80}]}]
      networks: [{name: default, pod: {}}]
      volumes:
      - {name: root, dataVolume: {name: web-root}}
      - {name: init, cloudInitNoCloud: {userData: "#cloud-config\nssh_authorized_keys: [ssh-ed25519 AAAA]"}}
)"}});
  EXPECT_THAT(SmallWorld::lines(outcome), ::testing::IsEmpty());
}

TEST(Warnings, ClaimsAreLookedUpWhereverTheyStand) {
  const std::string vmi =
      "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec:\n  domain: {devices: {}, "
      "memory: {guest: 1Gi}}\n  volumes: [{name: a, persistentVolumeClaim: {claimName: c}}]\n";
  const std::string claim =
      "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {accessModes: [ReadWriteOnce], "
      "resources: {requests: {storage: 1Gi}}}\n";
  for (const std::size_t threads : {1, 3}) {
    SmallWorld world;
    EXPECT_THAT(SmallWorld::lines(world.check({{"a", vmi}, {"b", claim}}, {.threads = threads})),
                ::testing::ElementsAre("6:47 warning WISE-04 spec.volumes[0].persistentVolumeClaim.claimName"));
  }
}

TEST(Catalogue, HasEachIdOnceWithASentence) {
  std::set<string_view> seen;
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_TRUE(seen.insert(entry.id).second) << entry.id;
    EXPECT_FALSE(entry.holds.empty()) << entry.id;
    EXPECT_TRUE(entry.why.ends_with('.')) << entry.id << " has no reason; reasons.cpp has one for each subject";
    EXPECT_EQ(find_entry(entry.id), &entry);
  }
  EXPECT_GT(seen.size(), 200u);
  EXPECT_EQ(find_entry("NONE-01"), nullptr);
}

TEST(Catalogue, WhatIsSaidOfFilesHasGoodAndBadExamples) {
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.rule || entry.id.starts_with("WISE")) continue;
    EXPECT_NE(entry.bad.empty(), entry.id != ids::too_large) << entry.id;  // nobody would read that one
    if (entry.bad.empty()) continue;
    EXPECT_TRUE(ids_of(entry.bad).contains(std::string(entry.id))) << entry.id;
    EXPECT_FALSE(ids_of(entry.good).contains(std::string(entry.id))) << entry.id;
  }
}

TEST(FieldAdvice, NamesWhatWasMeantOrWhereItBelongs) {
  const api::Type& vm = *api::find_kind("kubevirt.io", "v1", "VirtualMachine")->type;
  EXPECT_EQ(advise_field(vm, "spec.runstrategy"), "did you mean \"runStrategy\"? Letter case counts.");
  EXPECT_EQ(advise_field(vm, "spec.template.spec.volumes[0].persistentVolumeClaims"),
            "did you mean \"persistentVolumeClaim\"?");
  EXPECT_EQ(advise_field(vm, "spec.template.spec.cpu"), "\"cpu\" belongs to spec.template.spec.domain.");
  EXPECT_EQ(advise_field(vm, "spec.template.spec.domain.volumes"), "\"volumes\" belongs to spec.template.spec.");
  EXPECT_EQ(advise_field(vm, "spec.template.spec.domain.xyzzy"), "");
  EXPECT_EQ(advise_field(vm, "nowhere.at[0].all"), "");
}

}  // namespace
}  // namespace vg::offline::testing
