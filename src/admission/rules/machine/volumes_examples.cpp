#include <fmt/format.h>

#include <deque>
#include <string>

#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view host_disk_on = R"({"developerConfiguration":{"featureGates":["HostDisk"]}})";
constexpr string_view downward_metrics_on = R"({"developerConfiguration":{"featureGates":["DownwardMetrics"]}})";
constexpr string_view empty_disk = R"("emptyDisk":{"capacity":"1Gi"})";

// A machine with these volumes, and disks a and b as far as they are named there.
string_view volumes(string_view list, string_view disks = R"([{"name":"a","disk":{"bus":"virtio"}}])") {
  static std::deque<std::string> kept;  // examples refer to their texts
  return kept.emplace_back(
      fmt::format(R"({{"object":{{"spec":{{"domain":{{"devices":{{"disks":{}}}}},"volumes":{}}}}}}})", disks, list));
}
string_view volume(string_view source) { return volumes(fmt::format(R"([{{"name":"a",{}}}])", source)); }

string_view two_volumes(string_view first, string_view second) {
  return volumes(fmt::format(R"([{{"name":"a",{}}},{{"name":"b",{}}}])", first, second),
                 R"([{"name":"a","disk":{"bus":"virtio"}},{"name":"b","disk":{"bus":"virtio"}}])");
}

// Made when somebody asks: their texts are put together.
std::vector<Example> make_volumes_examples() {
  return {
      {"VOL-01", vmi, two_volumes(empty_disk, empty_disk),
       volumes(R"([{"name":"a","emptyDisk":{"capacity":"1Gi"}},{"name":"a","emptyDisk":{"capacity":"1Gi"}}])"),
       "FieldValueInvalid spec.volumes[1].name"},
      {"VOL-02", vmi, volume(R"("dataVolume":{"name":"d"})"), volume(R"("dataVolume":{"name":""})"),
       "FieldValueRequired spec.volumes[0].name"},
      {"VOL-03", vmi, volume(empty_disk), volume(R"("emptyDisk":{"capacity":"1Gi"},"sysprep":{})"),
       "FieldValueInvalid spec.volumes[0]"},
      {"VOL-04", vmi, volume(empty_disk), volume(R"("downwardMetrics":{})"), "FieldValueInvalid spec.volumes[0]"},
      {"HDISK-01", vmi, volume(empty_disk), volume(R"("hostDisk":{"path":"/d.img","type":"Disk"})"),
       "FieldValueInvalid spec.volumes[0]"},
      {"HDISK-02", vmi, volume(R"("hostDisk":{"path":"/d.img","type":"Disk"})"),
       volume(R"("hostDisk":{"path":"","type":"Disk"})"), "FieldValueNotFound spec.volumes[0].hostDisk.path",
       host_disk_on},
      {"HDISK-03", vmi, volume(R"("hostDisk":{"path":"/d.img","type":"DiskOrCreate","capacity":"1Gi"})"),
       volume(R"("hostDisk":{"path":"/d.img","type":"disk"})"), "FieldValueInvalid spec.volumes[0].hostDisk.type",
       host_disk_on},
      {"HDISK-04", vmi, volume(R"("hostDisk":{"path":"/d.img","type":"Disk","capacity":"0"})"),
       volume(R"("hostDisk":{"path":"/d.img","type":"Disk","capacity":"1Gi"})"),
       "FieldValueInvalid spec.volumes[0].hostDisk.capacity", host_disk_on},
      {"VOL-05", vmi, volume(R"("configMap":{"name":"c"})"), volume(R"("configMap":{})"),
       "FieldValueInvalid spec.volumes[0].configMap.name"},
      {"VOL-06", vmi, volume(R"("secret":{"secretName":"s"})"), volume(R"("secret":{})"),
       "FieldValueInvalid spec.volumes[0].secret.secretName"},
      {"VOL-07", vmi, volume(R"("serviceAccount":{"serviceAccountName":"s"})"), volume(R"("serviceAccount":{})"),
       "FieldValueInvalid spec.volumes[0].serviceAccount.serviceAccountName"},
      {"VOL-08", vmi, volume(R"("serviceAccount":{"serviceAccountName":"s"})"),
       two_volumes(R"("serviceAccount":{"serviceAccountName":"s"})", R"("serviceAccount":{"serviceAccountName":"s"})"),
       "FieldValueInvalid spec.volumes"},
      {"VOL-09", vmi, volume(R"("downwardMetrics":{})"),
       two_volumes(R"("downwardMetrics":{})", R"("downwardMetrics":{})"), "FieldValueInvalid spec.volumes",
       downward_metrics_on},
      {"VOL-10", vmi, volume(R"("memoryDump":{"claimName":"c"})"),
       two_volumes(R"("memoryDump":{"claimName":"c"})", R"("memoryDump":{"claimName":"c"})"),
       "FieldValueInvalid spec.volumes"},
      {"CD-01", vmi, volume(R"("containerDisk":{"image":"i","path":"/disk/a.img"})"),
       volume(R"("containerDisk":{"image":"i","path":"/"})"), "FieldValueInvalid spec.volumes[0].containerDisk"},
      {"CD-02", vmi, volume(R"("containerDisk":{"image":"i","path":"/disk/"})"),
       volume(R"("containerDisk":{"image":"i","path":"/disk/../a"})"),
       "FieldValueInvalid spec.volumes[0].containerDisk"},
      {"UTIL-01", vmi, "{}", R"({"object":{"spec":{"utilityVolumes":[{"name":"u","claimName":"c"}]}}})",
       "FieldValueInvalid spec.utilityVolumes"},
      {"PR-01", vmi,
       volumes(R"([{"name":"a","persistentVolumeClaim":{"claimName":"c"}}])", R"([{"name":"a","lun":{"bus":"scsi"}}])"),
       volumes(R"([{"name":"a","persistentVolumeClaim":{"claimName":"c"}}])",
               R"([{"name":"a","lun":{"bus":"scsi","reservation":true}}])"),
       "FieldValueInvalid spec.domain.devices.disks.luns.reservation"},
      {"FS-01", vmi,
       R"({"object":{"spec":{"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}]}},
         "volumes":[{"name":"a","secret":{"secretName":"s"}}]}}})",
       R"({"object":{"spec":{"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}]}},
         "volumes":[{"name":"a","dataVolume":{"name":"d"}}]}}})",
       "FieldValueInvalid spec.domain.devices.filesystems"},
  };
}

}  // namespace

std::span<const Example> volumes_examples() {
  static const std::vector<Example> rows = make_volumes_examples();
  return rows;
}

}  // namespace vg::admission
