#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

constexpr string_view host_disk_on = R"({"developerConfiguration":{"featureGates":["HostDisk"]}})";

std::vector<std::string> of_volumes(string_view list, string_view configured = "{}") {
  return told_by(volume_family, fmt::format(R"({{"domain":{{"devices":{{}}}},"volumes":{}}})", list), configured);
}

TEST(VolumesTest, EachVolumeIsToldInFullBeforeTheNext) {
  EXPECT_THAT(
      of_volumes(R"([{"name":"a","dataVolume":{"name":""},"cloudInitNoCloud":{},"downwardMetrics":{},
                              "hostDisk":{"path":"","type":""},"configMap":{},"secret":{},"serviceAccount":{}}])"),
      ElementsAre("Required spec.volumes[0].name", "Invalid spec.volumes[0]",
                  "Invalid spec.volumes[0].cloudInitNoCloud", "Invalid spec.volumes[0]", "Invalid spec.volumes[0]",
                  "NotFound spec.volumes[0].hostDisk.path", "Invalid spec.volumes[0].hostDisk.type",
                  "Invalid spec.volumes[0].configMap.name", "Invalid spec.volumes[0].secret.secretName",
                  "Invalid spec.volumes[0].serviceAccount.serviceAccountName"));
  EXPECT_THAT(
      of_volumes(R"([{"name":"a"},{"name":"a","configMap":{}}])"),
      ElementsAre("Invalid spec.volumes[0]", "Invalid spec.volumes[1].name", "Invalid spec.volumes[1].configMap.name"));
}

TEST(VolumesTest, RepeatedNameIsToldOnce) {
  EXPECT_THAT(of_volumes(R"([{"name":"a","sysprep":{}},{"name":"a","sysprep":{}},{"name":"a","sysprep":{}}])"),
              ElementsAre("Invalid spec.volumes[1].name", "Invalid spec.volumes[2].name"));
}

TEST(VolumesTest, EverySourceCounts) {
  for (const char* source :
       {R"("persistentVolumeClaim":{"claimName":"c"})", R"("sysprep":{})", R"("cloudInitNoCloud":{"userData":"u"})",
        R"("cloudInitConfigDrive":{"userData":"u"})", R"("containerDisk":{"image":"i"})", R"("ephemeral":{})",
        R"("emptyDisk":{"capacity":"1"})", R"("hostDisk":{"path":"p","type":"Disk"})", R"("dataVolume":{"name":"d"})",
        R"("configMap":{"name":"c"})", R"("secret":{"secretName":"s"})", R"("downwardAPI":{})",
        R"("serviceAccount":{"serviceAccountName":"s"})", R"("downwardMetrics":{})",
        R"("memoryDump":{"claimName":"c"})", R"("containerPath":{"path":"/p"})"})
    EXPECT_THAT(of_volumes(fmt::format(R"([{{"name":"a",{}}}])", source),
                           R"({"developerConfiguration":{"featureGates":["HostDisk","DownwardMetrics"]}})"),
                IsEmpty())
        << source;
  EXPECT_THAT(of_volumes(R"([{"name":"a"}])"), ElementsAre("Invalid spec.volumes[0]"));
}

TEST(VolumesTest, OnlyOneOfSomeKinds) {
  EXPECT_THAT(of_volumes(R"([{"name":"a","memoryDump":{"claimName":"c"}},{"name":"b","memoryDump":{"claimName":"c"}},
                             {"name":"c","serviceAccount":{"serviceAccountName":"s"}},
                             {"name":"d","serviceAccount":{"serviceAccountName":"s"}}])"),
              ElementsAre("Invalid spec.volumes", "Invalid spec.volumes"));
}

TEST(VolumesTest, HostDisks) {
  EXPECT_THAT(of_volumes(R"([{"name":"a","hostDisk":{"path":"","type":""}}])"),
              ElementsAre("Invalid spec.volumes[0]", "NotFound spec.volumes[0].hostDisk.path",
                          "Invalid spec.volumes[0].hostDisk.type"));
  EXPECT_THAT(of_volumes(R"([{"name":"a","hostDisk":{"path":"x","type":"Disk","capacity":"1Gi"}}])", host_disk_on),
              ElementsAre("Invalid spec.volumes[0].hostDisk.capacity"));
  EXPECT_THAT(of_volumes(R"([{"name":"a","hostDisk":{"path":"x","type":"Disk","capacity":"0Gi"}}])", host_disk_on),
              IsEmpty());
}

TEST(ContainerDiskTest, Paths) {
  const auto told = [](string_view path) {
    return told_by(container_disk_family, fmt::format(R"({{"domain":{{"devices":{{}}}},"volumes":[
                                   {{"name":"a","containerDisk":{{"image":"i","path":"{}"}}}}]}})",
                                                      path));
  };
  for (const char* path : {"/", "a/b/c", "/a/b/c/../d", "../test", "/a//b", "//a", "/a/b//", "/a/./b", "/.."})
    EXPECT_THAT(told(path), ElementsAre("Invalid spec.volumes[0].containerDisk")) << path;
  for (const char* path : {"", "/a/b/c", "/a/b/c/", "/a..b", "/..a"}) EXPECT_THAT(told(path), IsEmpty()) << path;
}

TEST(FilesystemTest, OnlyStorageNeedsTheGate) {
  const auto told = [](string_view volume, string_view gate) {
    return told_by(filesystem_family,
                   fmt::format(R"({{"domain":{{"devices":{{"filesystems":[{{"name":"a","virtiofs":{{}}}},
                                   {{"name":"b","virtiofs":{{}}}}]}}}},"volumes":[{{"name":"a",{}}}]}})",
                               volume),
                   fmt::format(R"({{"developerConfiguration":{{"featureGates":["{}"]}}}})", gate));
  };
  constexpr string_view claim = R"("persistentVolumeClaim":{"claimName":"c"})";
  EXPECT_THAT(told(claim, ""), ElementsAre("Invalid spec.domain.devices.filesystems"));
  EXPECT_THAT(told(claim, "ExperimentalVirtiofsSupport"), ElementsAre("Invalid spec.domain.devices.filesystems"));
  EXPECT_THAT(told(claim, "EnableVirtioFsStorageVolumes"), IsEmpty());
  EXPECT_THAT(told(R"("configMap":{"name":"c"})", ""), IsEmpty());
}

TEST(ReservationTest, ConfigurationSaysWhetherThereAreAny) {
  const auto told = [](string_view configured) {
    return told_by(reservation_family, R"({"domain":{"devices":{"disks":[{"name":"a","lun":{"reservation":true}}]}}})",
                   configured);
  };
  EXPECT_THAT(told("{}"), ElementsAre("Invalid spec.domain.devices.disks.luns.reservation"));
  EXPECT_THAT(told(R"({"persistentReservationConfiguration":{"enabled":true}})"), IsEmpty());
  EXPECT_THAT(told(R"({"developerConfiguration":{"featureGates":["PersistentReservation"]}})"), IsEmpty());
  EXPECT_THAT(told(R"({"persistentReservationConfiguration":{"enabled":false},
                       "developerConfiguration":{"featureGates":["PersistentReservation"]}})"),
              ElementsAre("Invalid spec.domain.devices.disks.luns.reservation"));
}

}  // namespace
}  // namespace vg::admission
