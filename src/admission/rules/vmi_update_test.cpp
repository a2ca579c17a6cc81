// Changes of a VMI: what a single example of a rule does not show.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/rule.h"
#include "admission/rules/machine/testing.h"
#include "admission/webhook.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told;

constexpr string_view update = "/virtualmachineinstances-validate-update";
constexpr string_view with_utilities = R"({"developerConfiguration":{"featureGates":["UtilityVolumes"]}})";
constexpr string_view without_media =
    R"({"developerConfiguration":{"disabledFeatureGates":["DeclarativeHotplugVolumes"]}})";

// --- machines with volumes -------------------------------------------------------------------------------------------

std::string pvc(string_view name, string_view claim = "c") {
  return fmt::format(R"({{"name":"{}","persistentVolumeClaim":{{"claimName":"{}"}}}})", name, claim);
}
std::string scsi(string_view name) { return fmt::format(R"({{"name":"{}","disk":{{"bus":"scsi"}}}})", name); }
std::string drive(string_view name) { return fmt::format(R"({{"name":"{}","cdrom":{{"bus":"sata"}}}})", name); }
const std::string dump = R"({"name":"dump","memoryDump":{"claimName":"c"}})";

using Items = std::vector<std::string>;

std::string machine(const Items& volumes, const Items& disks, string_view status = "{}", string_view more = "") {
  return fmt::format(R"({{"spec":{{"domain":{{"devices":{{"disks":[{}]{}}}}},"volumes":[{}]}},"status":{}}})",
                     fmt::join(disks, ","), more, fmt::join(volumes, ","), status);
}

// Volumes "0" and so on that the machine started with.
std::string started_with(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += fmt::format(R"({}{{"name":"{}","target":""}})", i ? "," : "", i);
  return fmt::format(R"({{"volumeStatus":[{}]}})", list);
}

const std::string one = machine({pvc("0")}, {scsi("0")}, started_with(1));
const std::string two = machine({pvc("0"), pvc("1")}, {scsi("0"), scsi("1")}, started_with(1));

constexpr string_view controller = "system:serviceaccount:kubevirt:kubevirt-controller";

std::vector<std::string> changed_by(string_view user, string_view before, string_view after,
                                    string_view configured = "{}") {
  json::Document old_vmi = testing::parsed(before), new_vmi = testing::parsed(after);
  const api::Type& type = *api::find_kind("kubevirt.io", "", "VirtualMachineInstance")->type;
  EXPECT_TRUE(api::canonicalize(old_vmi.root(), type)) << before;
  EXPECT_TRUE(api::canonicalize(new_vmi.root(), type)) << after;
  const config::ConfigPtr config = testing::configuration(configured, "amd64");
  const testing::KnownObjects known;
  const Context context{.config = *config,
                        .lookups = known,
                        .randomness = system_randomness(),
                        .own_namespace = "kubevirt",
                        .now = {},
                        .storage = new_vmi.storage()};
  Review review;
  review.operation_name = "UPDATE";
  review.resource.resource = "virtualmachineinstances";
  review.user.username = user;
  Causes causes;
  ask_rules(find_webhook("/virtualmachineinstances-validate-update")->rules(),
            {.context = context,
             .review = review,
             .webhook = *find_webhook(update),
             .object = &new_vmi.root(),
             .old_object = &old_vmi.root()},
            causes);
  return told(causes);
}

std::vector<std::string> changed(string_view before, string_view after, string_view configured = "{}") {
  return changed_by(controller, before, after, configured);
}

const auto refused = ElementsAre("Invalid ");

TEST(VmiUpdateTest, UsersLeaveTheSpecAndRestrictedLabels) {
  const auto labelled = [](string_view labels, string_view spec = "{}") {
    return fmt::format(R"({{"metadata":{{"labels":{}}},"spec":{}}})", labels, spec);
  };
  const std::string a = labelled(R"({"kubevirt.io/nodeName":"a"})"), b = labelled(R"({"kubevirt.io/nodeName":"b"})");
  const std::string none = labelled("{}"), empty = labelled(R"({"kubevirt.io/nodeName":""})");
  const auto unsupported = ElementsAre("NotSupported ");
  EXPECT_THAT(changed_by("alice", a, b), unsupported);
  EXPECT_THAT(changed_by("alice", a, none), unsupported);
  EXPECT_THAT(changed_by("alice", none, a), unsupported);
  EXPECT_THAT(changed_by("alice", none, empty), unsupported);
  EXPECT_THAT(changed_by("alice", a, a), IsEmpty());
  EXPECT_THAT(changed_by(controller, a, b), IsEmpty());
  EXPECT_THAT(changed_by("system:serviceaccount:other:kubevirt-controller", a, b), unsupported);
  // One cause, though both are wrong.
  EXPECT_THAT(changed_by("alice", a, labelled("{}", R"({"hostname":"h"})")), unsupported);
}

TEST(VmiUpdateTest, UsersMayTouchTheRest) {
  EXPECT_THAT(changed_by("alice", R"({"spec":{"volumes":[]}})",
                         R"({"metadata":{"annotations":{"a":"b"},"labels":{"kubevirt.io/foo":"x"}},"spec":{},
                             "status":{"phase":"Running"}})"),
              IsEmpty());
  EXPECT_THAT(changed_by("alice", R"({"spec":{"domain":{"memory":{"guest":"1Gi"}}}})",
                         R"({"spec":{"domain":{"memory":{"guest":"1024Mi"}}}})"),
              IsEmpty());
}

TEST(VmiUpdateTest, HandlersAreBoundToNodesWhileTheGateIsOn) {
  constexpr string_view handler = "system:serviceaccount:kubevirt:kubevirt-handler";
  constexpr string_view unbound = R"({"developerConfiguration":{"disabledFeatureGates":["NodeRestriction"]}})";
  EXPECT_THAT(changed_by(handler, "{}", "{}"), refused);
  EXPECT_THAT(changed_by(handler, "{}", "{}", unbound), IsEmpty());
  EXPECT_THAT(changed_by(controller, "{}", "{}"), IsEmpty());
}

TEST(VmiUpdateTest, VolumesAreCountedAgainstTheirDevices) {
  EXPECT_THAT(changed(one, machine({pvc("0"), pvc("1")}, {scsi("0")})), refused);
  EXPECT_THAT(changed(one, machine({pvc("0"), pvc("1")}, {scsi("0"), scsi("1")})), IsEmpty());
  EXPECT_THAT(changed(one, machine({pvc("0")}, {scsi("0"), scsi("1")})), refused);
  // Only the number of filesystems counts.
  EXPECT_THAT(changed(one, machine({pvc("0")}, {scsi("0")}, "{}", R"(,"filesystems":[{"name":"x","virtiofs":{}}])")),
              refused);
}

TEST(VmiUpdateTest, MediaComeAndGo) {
  const std::string full = machine({pvc("0"), pvc("1")}, {drive("0"), drive("1")}, started_with(1));
  const std::string ejected = machine({pvc("0")}, {drive("0"), drive("1")}, started_with(1));
  EXPECT_THAT(changed(full, ejected), IsEmpty());
  EXPECT_THAT(changed(full, ejected, without_media), refused);
  EXPECT_THAT(changed(ejected, full), IsEmpty());
  EXPECT_THAT(changed(ejected, full, without_media), IsEmpty());
  // A drive and its medium do not come together.
  EXPECT_THAT(changed(machine({pvc("0")}, {drive("0")}, started_with(1)), full), refused);
}

TEST(VmiUpdateTest, WhatTheMachineStartedWithStays) {
  const std::string before = machine({pvc("0"), pvc("1")}, {scsi("0"), scsi("1")}, started_with(2));
  EXPECT_THAT(changed(before, machine({pvc("0")}, {scsi("0")})), refused);
  EXPECT_THAT(changed(before, machine({pvc("0"), pvc("1", "other")}, {scsi("0"), scsi("1")})), refused);
  EXPECT_THAT(changed(before, machine({pvc("0"), pvc("1")}, {scsi("0"), R"({"name":"1","disk":{"bus":"virtio"}})"})),
              refused);
  EXPECT_THAT(changed(before, machine({pvc("1"), pvc("0")}, {scsi("1"), scsi("0")})), IsEmpty());
  // One goes, another comes under a name from the start.
  EXPECT_THAT(changed(machine({pvc("0")}, {scsi("0")}, started_with(2)), machine({pvc("1")}, {scsi("1")})), refused);
}

TEST(VmiUpdateTest, MigratedVolumesMayChange) {
  const string_view migrated = R"({"migratedVolumes":[{"volumeName":"0"}]})";
  const Items disks = {scsi("0")}, others = {R"({"name":"0","disk":{"bus":"virtio"}})"};
  const std::string permanent = machine({pvc("0")}, disks, started_with(1)), plugged = machine({pvc("0")}, disks);
  EXPECT_THAT(changed(permanent, machine({pvc("0", "other")}, disks, migrated)), IsEmpty());
  EXPECT_THAT(changed(permanent, machine({pvc("0", "other")}, others, migrated)), IsEmpty());
  EXPECT_THAT(changed(plugged, machine({pvc("0", "other")}, disks, migrated)), IsEmpty());
  EXPECT_THAT(changed(plugged, machine({pvc("0", "other")}, others, migrated)), refused);
  EXPECT_THAT(changed(plugged, machine({pvc("0", "other")}, disks)), refused);
}

TEST(VmiUpdateTest, WhatIsPluggedInStaysAsItIs) {
  EXPECT_THAT(changed(two, machine({pvc("0")}, {scsi("0")})), IsEmpty());
  EXPECT_THAT(
      changed(two, machine({pvc("0"), R"({"name":"1","containerDisk":{"image":"i"}})"}, {scsi("0"), scsi("1")})),
      refused);
  EXPECT_THAT(changed(two, machine({pvc("0"), pvc("1")}, {scsi("0"), scsi("x")})), refused);
  EXPECT_THAT(changed(two, machine({pvc("0"), pvc("1")}, {scsi("0"), R"({"name":"1","lun":{"bus":"scsi"}})"})),
              refused);
}

TEST(VmiUpdateTest, WhatCanBePluggedIn) {
  const auto adding = [](const std::string& volume, const std::string& disk) {
    return changed(one, machine({pvc("0"), volume}, {scsi("0"), disk}));
  };
  EXPECT_THAT(adding(R"({"name":"1","dataVolume":{"name":"d"}})", R"({"name":"1","lun":{"bus":"scsi"}})"), IsEmpty());
  EXPECT_THAT(adding(R"({"name":"1","containerDisk":{"image":"i"}})", scsi("1")), refused);
  EXPECT_THAT(adding(pvc("1"), scsi("x")), refused);
  for (const string_view disk :
       {R"("disk":{"bus":"usb"})", R"("disk":{})", R"("lun":{"bus":"virtio"})", R"("cdrom":{"bus":"scsi"})",
        R"("serial":"s")", R"("disk":{"bus":"scsi"},"dedicatedIOThread":true)"})
    EXPECT_THAT(adding(pvc("1"), fmt::format(R"({{"name":"1",{}}})", disk)), refused) << disk;
  EXPECT_THAT(adding(pvc("1"), R"({"name":"1","disk":{"bus":"scsi"},"bootOrder":0})"),
              ElementsAre("Invalid spec.domain.devices.disks[1].bootOrder"));
  EXPECT_THAT(adding(pvc("1"), R"({"name":"1","disk":{"bus":"virtio"},"dedicatedIOThread":true,"bootOrder":1})"),
              IsEmpty());
}

TEST(VmiUpdateTest, MemoryDumpsNeedNoDisk) {
  const std::string dumping = machine({pvc("0"), dump}, {scsi("0")}, started_with(1));
  EXPECT_THAT(changed(one, dumping), IsEmpty());
  EXPECT_THAT(changed(dumping, machine({pvc("0"), dump, pvc("1")}, {scsi("0"), scsi("1")})), IsEmpty());
  EXPECT_THAT(changed(dumping, one), IsEmpty());
}

// Where two volumes have one name, HP-03 to HP-11 look at the last one, and what stands before it would pass unseen.
TEST(VmiUpdateTest, VolumesHaveNamesOfTheirOwnAndOneSource) {
  const std::string before = machine({pvc("0")}, {scsi("0")}, started_with(1));
  EXPECT_THAT(changed(before, machine({pvc("0", "other"), pvc("0")}, {scsi("0")})),
              ElementsAre("Invalid spec.volumes[1].name"));
  EXPECT_THAT(changed(before, machine({pvc("0"), pvc("0", "other")}, {scsi("0")})), refused);
  const std::string both =
      R"({"name":"1","persistentVolumeClaim":{"claimName":"c"},"serviceAccount":{"serviceAccountName":"boss"}})";
  EXPECT_THAT(changed(before, machine({pvc("0"), both}, {scsi("0"), scsi("1")})),
              ElementsAre("Invalid spec.volumes[1]"));
}

TEST(VmiUpdateTest, UtilityVolumesTellEverythingAtOnce) {
  const auto spec = [](string_view volumes) {
    return fmt::format(R"({{"spec":{{"domain":{{"devices":{{}}}},"utilityVolumes":[{}]}}}})", volumes);
  };
  EXPECT_THAT(changed(spec(""), spec(R"({"name":""},{"name":"","claimName":"c"})"), with_utilities),
              ElementsAre("Required spec.utilityVolumes[0].name", "Required spec.utilityVolumes[0].claimName",
                          "Required spec.utilityVolumes[1].name", "Duplicate spec.utilityVolumes[1].name"));
  EXPECT_THAT(changed(spec(""), spec(R"({"name":""})")), ElementsAre("Invalid spec.utilityVolumes"));
  EXPECT_THAT(changed(spec(R"({"name":"a","claimName":"c"})"),
                      spec(R"({"name":"a","claimName":"c"},{"name":"b","claimName":"c"})"), with_utilities),
              IsEmpty());
}

TEST(VmiUpdateTest, LimitsOfSizeStay) {
  const auto domain = [](string_view members) {
    return fmt::format(R"({{"spec":{{"domain":{{"devices":{{}},{}}}}}}})", members);
  };
  EXPECT_THAT(changed(domain(R"("cpu":{"maxSockets":4})"), domain(R"("cpu":{"maxSockets":4,"sockets":2})")), IsEmpty());
  EXPECT_THAT(changed(domain(R"("cpu":{"maxSockets":4})"), domain(R"("cpu":{})")), refused);
  // Upstream crashes without a CPU.
  EXPECT_THAT(changed(domain(R"("memory":{"guest":"1Gi"})"), domain(R"("cpu":{"sockets":2})")), IsEmpty());
  EXPECT_THAT(changed(domain(R"("cpu":{"maxSockets":4})"), domain(R"("memory":{})")), refused);
  EXPECT_THAT(changed(domain(R"("memory":{"maxGuest":"1Gi"})"), domain(R"("memory":{"guest":"1Gi"})")), IsEmpty());
  EXPECT_THAT(changed(domain(R"("memory":{"guest":"1Gi"})"), domain(R"("memory":{"maxGuest":"1Gi"})")), IsEmpty());
}

}  // namespace
}  // namespace vg::admission
