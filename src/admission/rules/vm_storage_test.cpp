#include "admission/rules/vm_storage.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"
#include "base/time_rfc3339.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string add_text(string_view disk, string_view source = R"({"dataVolume":{"name":"d"}})", string_view name = "x") {
  return fmt::format(R"({{"addVolumeOptions":{{"name":"{}","disk":{},"volumeSource":{}}}}})", name, disk, source);
}

constexpr string_view scsi = R"({"disk":{"bus":"scsi"}})";
constexpr string_view remove_x = R"({"removeVolumeOptions":{"name":"x"}})";

using Check = void (*)(const Case&, Causes&);

// A VM under review, in canonical form, beside what exists.
class VmStorageTest : public ::testing::Test {
 protected:
  std::vector<std::string> told(Check check, string_view object, string_view old_object = "") {
    json::Document document = decoded(object);
    json::Document old = decoded(old_object.empty() ? "{}" : old_object);
    const config::ConfigPtr config = testing::configuration("{}");
    const Context context{.config = *config,
                          .lookups = known,
                          .randomness = system_randomness(),
                          .own_namespace = "kubevirt",
                          .now = Clock::Wall(std::chrono::seconds(parse_rfc3339(testing::fixed_time)->seconds)),
                          .storage = document.storage()};
    Review review;
    review.operation_name = old_object.empty() ? "CREATE" : "UPDATE";
    review.name_space = "default";
    review.resource.resource = "virtualmachines";
    const Case judged{.context = context,
                      .review = review,
                      .webhook = *find_webhook("/status-validate"),
                      .object = &document.root(),
                      .old_object = old_object.empty() ? nullptr : &old.root()};
    Causes causes;
    check(judged, causes);
    ended = causes.ended();
    return testing::told(causes);
  }

  // `template_spec`: of the machine. `list`: of volume requests.
  std::vector<std::string> requested(string_view list, string_view template_spec = no_disks) {
    return told(check_volume_requests,
                fmt::format(R"({{"metadata":{{"name":"m","namespace":"ns"}},"spec":{{"template":{{"spec":{}}}}},
                                 "status":{{"ready":true,"volumeRequests":{}}}}})",
                            template_spec, list));
  }

  void running(string_view spec, string_view rest = "") {
    known.add_text(fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
                                    "metadata":{{"name":"m","namespace":"ns"{}}},"spec":{}}})",
                               rest, spec));
  }

  static constexpr string_view no_disks = R"({"domain":{"devices":{}}})";
  testing::KnownObjects known;
  bool ended = false;

 private:
  static json::Document decoded(string_view text) {
    json::Document document = testing::parsed(text);
    EXPECT_TRUE(api::canonicalize(document.root(), *api::find_kind("kubevirt.io", "", "VirtualMachine")->type)) << text;
    return document;
  }
};

TEST_F(VmStorageTest, RequestsAreJudgedInOrderAndTheFirstDefectEnds) {
  const std::string boots_at_zero = add_text(R"({"disk":{"bus":"scsi"},"bootOrder":0})");
  EXPECT_THAT(requested(fmt::format("[{},{{}}]", boots_at_zero)),
              ElementsAre("Invalid spec.domain.devices.disks[1].bootOrder"));
  EXPECT_THAT(requested(fmt::format("[{{}},{}]", boots_at_zero)), ElementsAre("Invalid Status.volumeRequests"));
  EXPECT_THAT(requested("[]"), IsEmpty());
}

TEST_F(VmStorageTest, VolumeThatIsThereMustBeTheOneThatIsAskedFor) {
  const auto there = [&](string_view source) {
    return requested(
        fmt::format("[{}]", add_text(scsi, R"({"persistentVolumeClaim":{"claimName":"c"},"dataVolume":{"name":"d"}})")),
        fmt::format(
            R"({{"domain":{{"devices":{{"disks":[{{"name":"x","disk":{{}}}}]}}}},"volumes":[{{"name":"x",{}}}]}})",
            source));
  };
  EXPECT_THAT(there(R"("persistentVolumeClaim":{"claimName":"c"})"), IsEmpty());
  EXPECT_THAT(there(R"("persistentVolumeClaim":{"claimName":"c","hotpluggable":true})"),
              ElementsAre("Invalid Status.volumeRequests"));
  EXPECT_THAT(there(R"("dataVolume":{"name":"d"})"), ElementsAre("Invalid Status.volumeRequests"));
}

TEST_F(VmStorageTest, OutcomeIsJudgedAsAWhole) {
  constexpr string_view with_x =
      R"({"domain":{"devices":{"disks":[{"name":"x","disk":{}}]}},"volumes":[{"name":"x","sysprep":{}}]})";
  EXPECT_THAT(requested(fmt::format("[{}]", remove_x), with_x), IsEmpty());
  // Only the disk is left behind when the names differ.
  EXPECT_THAT(
      requested(fmt::format("[{}]", remove_x),
                R"({"domain":{"devices":{"disks":[{"name":"y","disk":{}}]}},"volumes":[{"name":"x","sysprep":{}}]})"),
      ElementsAre("Invalid spec.template.spec.domain.devices.disks[0].name"));
  EXPECT_THAT(requested(fmt::format("[{},{}]", add_text(scsi), add_text(scsi, "{}", "Y"))),
              ElementsAre("Invalid spec.template.spec.domain.devices.disks.domain.devices.disks[1].name",
                          "Invalid spec.template.spec.volumes[1]"));
}

TEST_F(VmStorageTest, RemovingAndAddingOneName) {
  constexpr string_view reserved =
      R"({"domain":{"devices":{"disks":[{"name":"x","disk":{"bus":"ide"}}]}},"volumes":[{"name":"x","dataVolume":{"name":"d"}}]})";
  EXPECT_THAT(requested(fmt::format("[{},{}]", remove_x, add_text(scsi)), reserved), IsEmpty());
  EXPECT_THAT(requested(fmt::format("[{},{}]", add_text(scsi), remove_x), reserved), IsEmpty());
  EXPECT_THAT(requested(fmt::format("[{}]", add_text(scsi)), reserved),
              ElementsAre("Invalid spec.template.spec.domain.devices.disks[0].disk.bus"));
}

TEST_F(VmStorageTest, RunningMachineIsJudgedToo) {
  running(R"({"domain":{"devices":{}},"volumes":[{"name":"x","sysprep":{}}]})");
  EXPECT_THAT(requested(fmt::format("[{}]", add_text(scsi))), ElementsAre("Invalid Status.volumeRequests"));
  running(R"({"domain":{"devices":{"disks":[{"name":"y","disk":{}}]}}})");
  EXPECT_THAT(requested(fmt::format("[{}]", add_text(scsi))),
              ElementsAre("Invalid spec.template.spec.domain.devices.disks[0].name"));
  running(R"({"domain":{"devices":{"disks":[{"name":"y","disk":{}}]}}})",
          R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_THAT(requested(fmt::format("[{}]", add_text(scsi))), IsEmpty());
}

TEST_F(VmStorageTest, RunningMachineIsReadAsItsTypeHasIt) {
  running(R"({"domain":{"devices":{"disks":[{"name":"x","disk":{},"cache":""}]}},
              "volumes":[{"name":"x","dataVolume":{"name":"d","hotpluggable":false},"persistentVolumeClaim":null}]})");
  EXPECT_THAT(requested(fmt::format("[{}]", add_text(scsi))), IsEmpty());
  running(R"({"domain":5})");
  EXPECT_THAT(requested(fmt::format("[{}]", add_text(scsi))), IsEmpty());
  EXPECT_TRUE(ended);
}

TEST_F(VmStorageTest, MigrationIsOneBetweenStartAndEnd) {
  const auto told_of = [&](string_view state) {
    known.add_text(fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
                                    "metadata":{{"name":"m","namespace":"ns"}},"spec":{{"domain":{{"devices":{{}}}}}},
                                    "status":{{"migrationState":{}}}}})",
                               state));
    return requested(fmt::format("[{}]", remove_x));
  };
  EXPECT_THAT(told_of("{}"), IsEmpty());
  EXPECT_THAT(told_of(R"({"startTimestamp":"2026-01-02T03:04:05Z"})"), ElementsAre("NotSupported spec"));
  EXPECT_THAT(told_of(R"({"startTimestamp":"2026-01-02T03:04:06Z"})"), IsEmpty());
  EXPECT_THAT(told_of(R"({"startTimestamp":"2026-01-01T00:00:00Z","endTimestamp":"2026-01-02T03:04:05Z"})"), IsEmpty());
}

TEST_F(VmStorageTest, UnknownMachineIsAnError) {
  known.break_resource("kubevirt.io/virtualmachineinstances");
  EXPECT_THAT(requested(fmt::format("[{}]", remove_x)), IsEmpty());
  EXPECT_TRUE(ended);
}

TEST_F(VmStorageTest, WithoutTemplateThereIsNothingToChange) {
  EXPECT_THAT(
      told(check_volume_requests, fmt::format(R"({{"spec":{{}},"status":{{"volumeRequests":[{}]}}}})", remove_x)),
      ElementsAre("Required spec.template"));
}

TEST_F(VmStorageTest, TemplatesOfOtherNamespacesAreToldUnlessTheyWereThere) {
  constexpr string_view foreign = R"({"metadata":{"namespace":"ns"},"spec":{"dataVolumeTemplates":[
      {"metadata":{"name":"a","namespace":"other"}},{"metadata":{"name":"b"}},{"metadata":{"name":"c","namespace":"x"}}]}})";
  EXPECT_THAT(told(check_vm_storage, foreign),
              ElementsAre("Invalid spec.dataVolumeTemplates[0]", "Invalid spec.dataVolumeTemplates[2]"));
  EXPECT_THAT(told(check_vm_storage, foreign, foreign), IsEmpty());
  EXPECT_THAT(told(check_vm_storage, foreign, "{}"),
              ElementsAre("Invalid spec.dataVolumeTemplates[0]", "Invalid spec.dataVolumeTemplates[2]"));
}

TEST_F(VmStorageTest, SnapshotLeavesRoomForEverythingButVolumesAndRunState) {
  const auto changed = [&](string_view before, string_view after) {
    return told(check_vm_storage, fmt::format(R"({{"spec":{{{}}},"status":{{"snapshotInProgress":"s"}}}})", after),
                fmt::format(R"({{"spec":{{{}}}}})", before));
  };
  constexpr string_view plain = R"("runStrategy":"Always","template":{"spec":{"domain":{"devices":{}}}})";
  EXPECT_THAT(
      changed(plain, R"("runStrategy":"Always","template":{"spec":{"domain":{"devices":{"disks":[{"name":"a"}]}}}})"),
      IsEmpty());
  EXPECT_THAT(changed(plain, R"("running":true,"template":{"spec":{"domain":{"devices":{}}}})"),
              ElementsAre("NotSupported spec"));
  EXPECT_THAT(changed(plain, R"("runStrategy":"Always")"), ElementsAre("NotSupported spec"));
  EXPECT_THAT(changed(R"("running":true,"runStrategy":"Always","template":{"spec":{"domain":{"devices":{}}}})",
                      R"("running":true,"runStrategy":"Halted","template":{"spec":{"domain":{"devices":{}}}})"),
              IsEmpty());
}

}  // namespace
}  // namespace vg::admission
