#include <fmt/format.h>

#include <deque>
#include <string>

#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view two_disks = R"({"object":{"spec":{"domain":{"devices":{"disks":[
  {"name":"a","disk":{"bus":"virtio"}},{"name":"b","disk":{"bus":"virtio"}}]}},"volumes":[
  {"name":"a","emptyDisk":{"capacity":"1Gi"}},{"name":"b","emptyDisk":{"capacity":"1Gi"}}]}}})";
constexpr string_view same_names = R"({"object":{"spec":{"domain":{"devices":{"disks":[
  {"name":"a","disk":{"bus":"virtio"}},{"name":"a","disk":{"bus":"virtio"}}]}},"volumes":[
  {"name":"a","emptyDisk":{"capacity":"1Gi"}}]}}})";
constexpr string_view bad_name = R"({"object":{"spec":{"domain":{"devices":{"disks":[
  {"name":"A.b","disk":{"bus":"virtio"}}]}},"volumes":[{"name":"A.b","emptyDisk":{"capacity":"1Gi"}}]}}})";

// A machine with these members of its one disk, beside its name.
string_view disk(string_view members) {
  static std::deque<std::string> kept;  // examples refer to their texts
  return kept.emplace_back(fmt::format(
      R"({{"object":{{"spec":{{"domain":{{"devices":{{"disks":[{{"name":"a",{}}}]}}}},
          "volumes":[{{"name":"a","persistentVolumeClaim":{{"claimName":"c"}}}}]}}}}}})",
      members));
}

// Made when somebody asks: their texts are put together.
std::vector<Example> make_disk_list_examples() {
  return {
      {"DISK-01", vmi, two_disks, same_names, "FieldValueInvalid spec.domain.devices.disks[1].name"},
      {"DISK-02", vmi, disk(R"("lun":{"bus":"scsi"})"), disk(R"("disk":{"bus":"scsi"},"lun":{"bus":"scsi"})"),
       "FieldValueInvalid spec.domain.devices.disks[0]"},
      {"DISK-03", vmi, disk(R"("disk":{"bus":"virtio","pciAddress":"0000:81:01.0"})"),
       disk(R"("disk":{"bus":"scsi","pciAddress":"0000:81:01.0"})"),
       "FieldValueInvalid spec.domain.devices.disks.domain.devices.disks.disk[0].pciAddress"},
      {"DISK-04", vmi, disk(R"("disk":{"bus":"virtio","pciAddress":"0000:81:01.7"})"),
       disk(R"("disk":{"bus":"virtio","pciAddress":"0000:81:01.8"})"),
       "FieldValueInvalid spec.domain.devices.disks.domain.devices.disks.disk[0].pciAddress"},
      {"BOOT-01", vmi, disk(R"("disk":{"bus":"virtio"},"bootOrder":1)"),
       disk(R"("disk":{"bus":"virtio"},"bootOrder":0)"), "FieldValueInvalid spec.domain.devices.disks[0].bootOrder"},
      {"DISK-05", vmi, disk(R"("disk":{"bus":"sata"})"), disk(R"("disk":{"bus":"ide"})"),
       "FieldValueInvalid spec.domain.devices.disks[0].disk.bus"},
      {"DISK-06", vmi, disk(R"("cdrom":{"bus":"sata"})"), disk(R"("cdrom":{"bus":"virtio"})"),
       "FieldValueInvalid spec.domain.devices.disks[0].cdrom.bus"},
      {"DISK-07", vmi, disk(R"("disk":{"bus":"virtio","readonly":true})"),
       disk(R"("disk":{"bus":"sata","readonly":true})"), "FieldValueInvalid spec.domain.devices.disks[0].disk.bus"},
      {"DISK-08", vmi, disk(R"("lun":{"bus":"usb"})"), disk(R"("lun":{"bus":"floppy"})"),
       "FieldValueInvalid spec.domain.devices.disks[0].lun.bus"},
      {"DISK-09", vmi, disk(R"("disk":{"bus":"virtio"},"dedicatedIOThread":true)"),
       disk(R"("disk":{"bus":"scsi"},"dedicatedIOThread":true)"),
       "FieldValueNotSupported spec.domain.devices.disks.domain.devices.disks[0]"},
      {"DISK-10", vmi, disk(R"("disk":{},"serial":"SN-1_2.3+4")"), disk(R"("disk":{},"serial":"SN 1")"),
       "FieldValueInvalid spec.domain.devices.disks[0].serial"},
      {"DISK-11", vmi, disk(fmt::format(R"("disk":{{}},"serial":"{}")", std::string(256, 's'))),
       disk(fmt::format(R"("disk":{{}},"serial":"{}")", std::string(257, 's'))),
       "FieldValueInvalid spec.domain.devices.disks[0].serial"},
      {"DISK-12", vmi, disk(R"("disk":{},"cache":"writeback")"), disk(R"("disk":{},"cache":"unsafe")"),
       "FieldValueInvalid spec.domain.devices.disks[0].cache"},
      {"DISK-13", vmi, disk(R"("disk":{},"io":"threads")"), disk(R"("disk":{},"io":"default")"),
       "FieldValueNotSupported spec.domain.devices.disks.domain.devices.disks[0].io"},
      {"DISK-14", vmi, disk(R"("disk":{},"errorPolicy":"report")"), disk(R"("disk":{},"errorPolicy":"")"),
       "FieldValueInvalid spec.domain.devices.disks[0].errorPolicy"},
      {"DISK-15", vmi, two_disks, bad_name, "FieldValueInvalid spec.domain.devices.disks.domain.devices.disks[0].name"},
      {"DISK-16", vmi, disk(R"("disk":{},"blockSize":{"matchVolume":{}})"),
       disk(R"("disk":{},"blockSize":{"matchVolume":{},"custom":{"logical":512,"physical":512}})"),
       "FieldValueInvalid spec.domain.devices.disks[0].blockSize"},
      {"DISK-17", vmi, disk(R"("disk":{},"blockSize":{"custom":{"logical":512,"physical":4096}})"),
       disk(R"("disk":{},"blockSize":{"custom":{"logical":4096,"physical":512}})"),
       "FieldValueInvalid spec.domain.devices.disks[0].blockSize.custom.logical"},
      {"DISK-18", vmi, disk(R"("disk":{"bus":"virtio"},"blockSize":{"custom":{"logical":4096,"physical":4096}})"),
       disk(R"("disk":{"bus":"sata"},"blockSize":{"custom":{"logical":4096,"physical":4096}})"),
       "FieldValueInvalid spec.domain.devices.disks[0].blockSize.custom.logical"},
      {"DISK-19", vmi,
       disk(R"("disk":{},"blockSize":{"custom":{"logical":512,"physical":512,"discardGranularity":1024}})"),
       disk(R"("disk":{},"blockSize":{"custom":{"logical":512,"physical":512,"discardGranularity":700}})"),
       "FieldValueInvalid spec.domain.devices.disks[0].blockSize.custom.discardGranularity"},
      {"DISK-20", vmi, disk(R"("disk":{},"blockSize":{"custom":{"logical":512,"physical":2097152}})"),
       disk(R"("disk":{},"blockSize":{"custom":{"logical":512,"physical":4194304}})"),
       "FieldValueInvalid spec.domain.devices.disks[0].blockSize.custom.physical"},
  };
}

}  // namespace

std::span<const Example> disk_list_examples() {
  static const std::vector<Example> rows = make_disk_list_examples();
  return rows;
}

}  // namespace vg::admission
