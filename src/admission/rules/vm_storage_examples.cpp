#include <fmt/format.h>

#include <deque>
#include <string>

#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view vm = "/virtualmachines-validate";
constexpr string_view status = "/status-validate";

string_view kept(std::string text) {
  static std::deque<std::string> all;  // examples refer to their texts
  return all.emplace_back(std::move(text));
}

// Further members of the object of a review about the status.
string_view requests(string_view list, string_view name = "ok") {
  return kept(fmt::format(
      R"({{"object":{{"metadata":{{"name":"{}"}},"status":{{"ready":true,"volumeRequests":{}}}}}}})", name, list));
}
std::string add_text(string_view disk, string_view source = R"({"dataVolume":{"name":"d"}})", string_view name = "x") {
  return fmt::format(R"({{"addVolumeOptions":{{"name":"{}","disk":{},"volumeSource":{}}}}})", name, disk, source);
}
string_view add(string_view disk, string_view source = R"({"dataVolume":{"name":"d"}})", string_view name = "x") {
  return requests(fmt::format("[{}]", add_text(disk, source, name)));
}

constexpr string_view scsi = R"({"disk":{"bus":"scsi"}})";
constexpr string_view remove_x = R"({"removeVolumeOptions":{"name":"x"}})";
constexpr string_view invalid_requests = "FieldValueInvalid Status.volumeRequests";

// An update of a VM whose old and new spec have these members beside the template, with that in its status.
string_view update(string_view status_members, string_view before, string_view after) {
  return kept(fmt::format(
      R"({{"operation":"UPDATE","object":{{"status":{{{}}},"spec":{{"runStrategy":null,{}}}}},
          "oldObject":{{"kind":"VirtualMachine","spec":{{"template":{{"spec":{{"domain":{{"devices":{{}}}}}}}},{}}}}}}})",
      status_members, after, before));
}
constexpr string_view snapshot = R"("snapshotInProgress":"s")", restore = R"("restoreInProgress":"r")";
constexpr string_view always = R"("runStrategy":"Always")", halted = R"("runStrategy":"Halted")";
constexpr string_view with_volume =
    R"("runStrategy":"Always","template":{"spec":{"domain":{"devices":{}},"volumes":[{"name":"v","sysprep":{}}]}})";

// Made when somebody asks: their texts are put together.
std::vector<Example> make_vm_storage_examples() {
  return {
      {"VR-01", status, requests(fmt::format("[{},{}]", add_text(scsi), R"({"removeVolumeOptions":{"name":"y"}})")),
       requests(
           R"([{"addVolumeOptions":{"name":"x","disk":{},"volumeSource":{}},"removeVolumeOptions":{"name":"x"}}])"),
       invalid_requests},
      {"VR-07", status, requests(fmt::format("[{}]", remove_x)), requests("[{}]"), invalid_requests},
      {"VR-02", status, add(scsi), requests(fmt::format("[{},{}]", add_text(scsi), add_text(scsi))), invalid_requests},
      {"VR-03", status, add(scsi), add(R"({"disk":{"bus":"sata"}})"), invalid_requests, "{}", "HPD-02"},
      {"HPD-02", status, add(R"({"disk":{"bus":"virtio"}})"), add(R"({"disk":{}})"), invalid_requests},
      {"HPD-03", status, add(R"({"lun":{"bus":"scsi"}})"), add(R"({"lun":{"bus":"virtio"}})"), invalid_requests},
      {"HPD-04", status, add(scsi), add(R"({"cdrom":{"bus":"scsi"}})"), invalid_requests},
      {"HPD-05", status, add(R"({"disk":{"bus":"virtio"},"dedicatedIOThread":true})"),
       add(R"({"disk":{"bus":"scsi"},"dedicatedIOThread":true})"), invalid_requests},
      {"HPD-06", status, add(R"({"disk":{"bus":"scsi"},"bootOrder":1})"),
       add(R"({"disk":{"bus":"scsi"},"bootOrder":0})"), "FieldValueInvalid spec.domain.devices.disks[1].bootOrder"},
      {"VR-04", status, add(scsi),
       kept(fmt::format(R"({{"object":{{"spec":{{"template":{{"spec":{{"domain":{{"devices":{{"disks":[
                          {{"name":"x","disk":{{}}}}]}}}},"volumes":[{{"name":"x","emptyDisk":{{"capacity":"1"}}}}]}}}}}},
                          "status":{{"volumeRequests":[{}]}}}}}})",
                        add_text(scsi))),
       invalid_requests},
      {"VR-05", status, add(scsi),
       requests(fmt::format("[{}]", add_text(scsi, R"({"dataVolume":{"name":"d"}})", "old")), "moving"),
       invalid_requests},
      {"VR-06", status, requests(fmt::format("[{}]", remove_x)), requests(fmt::format("[{},{}]", remove_x, remove_x)),
       invalid_requests},
      {"VR-08", status, add(scsi), add(scsi, "{}"), "FieldValueInvalid spec.template.spec.volumes[0]", "{}", "VOL-03"},
      {"VR-09", status, requests(fmt::format("[{}]", remove_x)), requests(fmt::format("[{}]", remove_x), "broken"),
       "FieldValueInvalid spec.template.spec.utilityVolumes", "{}", "UTIL-01"},
      {"VR-10", status, requests(fmt::format("[{}]", remove_x)), requests(fmt::format("[{}]", remove_x), "moving"),
       "FieldValueNotSupported spec"},
      {"VMST-01", status, update(snapshot, always, always), update(snapshot, always, with_volume),
       "FieldValueNotSupported spec"},
      {"VMST-02", status, update(snapshot, always, always), update(snapshot, halted, always),
       "FieldValueNotSupported spec"},
      {"VMST-03", status, update(restore, R"("running":true)", always), update(restore, R"("running":false)", always),
       "FieldValueNotSupported spec"},
      {"DVT-02", vm,
       R"({"operation":"UPDATE","oldObject":{"metadata":{"name":"new"},"spec":{"runStrategy":"Always","template":{"spec":{
         "domain":{"devices":{}}}}}}})",
       R"({"operation":"UPDATE","oldObject":{"spec":5}})", "UnexpectedServerResponse "},
      {"DVT-01", vm,
       R"({"object":{"spec":{"dataVolumeTemplates":[{"metadata":{"name":"d","namespace":"default"},
         "spec":{"storage":{},"source":{"blank":{}}}}],
         "template":{"spec":{"volumes":[{"name":"a","dataVolume":{"name":"d"}}]}}}}})",
       R"({"object":{"spec":{"dataVolumeTemplates":[{"metadata":{"name":"d","namespace":"other"},
         "spec":{"storage":{},"source":{"blank":{}}}}],
         "template":{"spec":{"volumes":[{"name":"a","dataVolume":{"name":"d"}}]}}}}})",
       "FieldValueInvalid spec.dataVolumeTemplates[0]"},
  };
}

}  // namespace

std::span<const Example> vm_storage_examples() {
  static const std::vector<Example> rows = make_vm_storage_examples();
  return rows;
}

}  // namespace vg::admission
