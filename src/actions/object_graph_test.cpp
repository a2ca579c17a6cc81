#include <fmt/format.h>
#include <gmock/gmock.h>

#include "actions/testing.h"
#include "json/access.h"

namespace vg::actions {
namespace {

using ::testing::HasSubstr;
using testing::instance_action;
using testing::machine_action;
using ::testing::Not;

// "VirtualMachine demo(VirtualMachineInstance demo,Secret s)"; optional nodes with '?', other namespaces in front.
std::string print_node(const json::Value& node) {
  const json::Object& reference = node.at("objectReference").as_object();
  const std::string_view ns = json::as_string(&reference.at("namespace")).value();
  std::string text = fmt::format(
      "{}{} {}{}", node.as_object().contains("optional") ? "?" : "", json::as_string(&reference.at("kind")).value(),
      ns == "ns" ? "" : fmt::format("{}/", ns), json::as_string(&reference.at("name")).value());
  const json::Value* children = node.as_object().if_contains("children");
  if (!children) return text;
  text += "(";
  for (const json::Value& child : children->as_array()) text += print_node(child) + ",";
  text.back() = ')';
  return text;
}

std::string graph(testing::Given& given) {
  const auto decision = given.decide();
  return decision ? print_node(std::get<Reply>(decision->front()).document) : decision.error().message;
}

TEST(ObjectGraph, OfAMachineAlone) {
  auto given = machine_action("objectgraph");
  given.machine(R"({"spec":{"template":{"spec":{}}}})");
  EXPECT_EQ(graph(given), "VirtualMachine demo");
  EXPECT_THAT(given.outcome(),
              HasSubstr(R"({"objectReference":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"demo",)"
                        R"("namespace":"ns"},"labels":{"kubevirt.io/dependency-type":"compute"}})"));
}

constexpr std::string_view rich = R"({"spec":{
  "instancetype":{"name":"it","kind":"VirtualMachineInstancetype","revisionName":"rev"},
  "preference":{"name":"pr","kind":"virtualmachineclusterpreference"},
  "template":{"spec":{
    "accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"keys"}}}},
                         {"userPassword":{"source":{"secret":{"secretName":"words"}}}}],
    "domain":{"devices":{"tpm":{"persistent":true}}},
    "networks":[{"name":"a","pod":{}},{"name":"b","multus":{"networkName":"net"}},
                {"name":"c","multus":{"networkName":"far/net"}}],
    "volumes":[{"name":"1","dataVolume":{"name":"dv"}},{"name":"2","persistentVolumeClaim":{"claimName":"pvc"}},
               {"name":"3","configMap":{"name":"cm"}},{"name":"4","secret":{"secretName":"se"}},
               {"name":"5","serviceAccount":{"serviceAccountName":"sa"}},{"name":"6","emptyDisk":{}},
               {"name":"7","cloudInitNoCloud":{"secretRef":{"name":"user"},"networkDataSecretRef":{"name":"nets"}}}]}}},
  "status":{"created":true,"preferenceRef":{"controllerRevisionRef":{"name":"pref-rev"}}}})";

TEST(ObjectGraph, OfAMachineWithEverything) {
  auto given = machine_action("objectgraph");
  given.machine(rich)
      .pod(R"({"metadata":{"name":"other","annotations":{"kubevirt.io/domain":"else"}}})")
      .pod(R"({"metadata":{"name":"pod","ownerReferences":[{"kind":"VirtualMachineInstance","name":"demo"}]}})")
      .state_claim(R"({"metadata":{"name":"old","creationTimestamp":"2020-01-01T00:00:00Z"}})")
      .state_claim(R"({"metadata":{"name":"new","creationTimestamp":"2021-01-01T00:00:00Z"}})")
      .state_claim(
          R"({"metadata":{"name":"gone","creationTimestamp":"2022-01-01T00:00:00Z","deletionTimestamp":"x"}})");
  EXPECT_EQ(graph(given),
            "VirtualMachine demo(VirtualMachineInstance demo(Pod pod),?VirtualMachineInstancetype it,"
            "ControllerRevision rev,?VirtualMachineClusterPreference /pr,ControllerRevision pref-rev,Secret keys,"
            "Secret words,DataVolume dv(PersistentVolumeClaim dv),PersistentVolumeClaim pvc,ConfigMap cm,Secret se,"
            "ServiceAccount sa,Secret user,Secret nets,PersistentVolumeClaim new,"
            "?NetworkAttachmentDefinition net,?NetworkAttachmentDefinition far/net)");
}

TEST(ObjectGraph, ShowsWhatIsAskedFor) {
  auto given = machine_action("objectgraph");
  given.machine(rich).state_claim(R"({"metadata":{"name":"state"}})").body(R"({"includeOptionalNodes":false})");
  EXPECT_THAT(graph(given), Not(HasSubstr("?")));
  given.body(R"({"labelSelector":{"matchLabels":{"kubevirt.io/dependency-type":"network"}}})");
  EXPECT_EQ(graph(given), "VirtualMachine demo(?NetworkAttachmentDefinition net,?NetworkAttachmentDefinition far/net)");
  given.body(R"({"labelSelector":{"matchExpressions":[{"key":"x","operator":"Nonsense"}]}})");
  EXPECT_THAT(graph(given), HasSubstr("Secret keys"));
}

TEST(ObjectGraph, KnowsAMatcherByItsKindAlone) {
  for (std::string_view kind : {"", "virtualmachineinstancetypes", "Nothing"}) {
    auto given = machine_action("objectgraph");
    given.machine(fmt::format(R"({{"spec":{{"instancetype":{{"name":"it","kind":"{}"}},"template":{{}}}}}})", kind));
    EXPECT_EQ(graph(given), "VirtualMachine demo") << kind;
  }
}

TEST(ObjectGraph, OfAMachineThatLostItsState) {
  EXPECT_EQ(machine_action("objectgraph").machine(rich).outcome(), "500");
  constexpr std::string_view gone = R"({"metadata":{"name":"gone","deletionTimestamp":"x"}})";
  EXPECT_EQ(machine_action("objectgraph").machine(rich).state_claim(gone).state_claim(gone).outcome(), "500");
  auto last = machine_action("objectgraph");
  EXPECT_THAT(graph(last.machine(rich).state_claim(gone)), HasSubstr("PersistentVolumeClaim gone"));
}

TEST(ObjectGraph, OfAnInstance) {
  auto given = instance_action("objectgraph");
  given
      .instance(R"({"spec":{"domain":{"firmware":{"bootloader":{"efi":{"persistent":true}}}},
                    "volumes":[{"name":"2","persistentVolumeClaim":{"claimName":"pvc"}}]},
                    "status":{"volumeStatus":[{"name":"x"},{"name":"persistent-state-for-demo",
                              "persistentVolumeClaimInfo":{"claimName":"state"}}]}})")
      .pod(R"({"metadata":{"name":"pod","annotations":{"kubevirt.io/domain":"demo"}}})");
  EXPECT_EQ(graph(given), "VirtualMachineInstance demo(Pod pod,PersistentVolumeClaim pvc,PersistentVolumeClaim state)");
}

}  // namespace
}  // namespace vg::actions
