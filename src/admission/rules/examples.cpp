#include "admission/rules/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/webhook.h"
#include "json/parse.h"
#include "json/patch.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::span<const Example> (*families[])() = {data_volume_templates_examples,
                                                      work_objects_examples,
                                                      access_credentials_examples,
                                                      architecture_examples,
                                                      cloud_init_examples,
                                                      cpu_examples,
                                                      devices_examples,
                                                      disk_list_examples,
                                                      disk_volumes_examples,
                                                      dns_examples,
                                                      dra_examples,
                                                      firmware_examples,
                                                      grace_examples,
                                                      hyperv_examples,
                                                      identity_examples,
                                                      launch_security_examples,
                                                      lifecycle_examples,
                                                      memory_examples,
                                                      metadata_examples,
                                                      network_examples,
                                                      probes_examples,
                                                      scheduling_examples,
                                                      volumes_examples,
                                                      plugin_examples,
                                                      vm_matchers_examples,
                                                      vm_storage_examples,
                                                      vm_examples,
                                                      vmi_update_examples};

struct Base {
  string_view path, request;
};
// What all examples of a webhook begin with.
constexpr Base bases[] = {
    {"/pod-eviction-validate", R"({"name":"other","object":{}})"},
    {"/virtualmachineinstances-validate-create",
     R"({"object":{"metadata":{"name":"new"},"spec":{"architecture":"amd64","domain":{"machine":{"type":"q35"},
           "devices":{},"resources":{"requests":{"memory":"1Gi"}}}}}})"},
    {"/virtualmachineinstances-validate-update",
     R"({"operation":"UPDATE","object":{"metadata":{"name":"ok"},"spec":{"domain":{"devices":{}}}},
           "oldObject":{"metadata":{"name":"ok"},"spec":{"domain":{"devices":{}}}}})"},
    {"/virtualmachines-validate",
     R"({"object":{"metadata":{"name":"new"},"spec":{"runStrategy":"Always","template":{"spec":{"domain":{
           "devices":{},"resources":{"requests":{"memory":"1Gi"}}}}}}}})"},
    {"/virtualmachines-mutate",
     R"({"object":{"metadata":{"name":"new"},"spec":{"runStrategy":"Always","template":{"spec":{"domain":{
           "devices":{}}}}}},"oldObject":{"metadata":{"name":"new"},"spec":{"runStrategy":"Always","template":{"spec":{
           "domain":{"devices":{}}}}}}})"},
    {"/virtualmachinereplicaset-validate",
     R"({"object":{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
           "spec":{"domain":{"devices":{}}}}}}})"},
    {"/virtualmachinepool-validate",
     R"({"object":{"spec":{"selector":{"matchLabels":{"a":"b"}},"virtualMachineTemplate":{
           "metadata":{"labels":{"a":"b"}},"spec":{"runStrategy":"Always","template":{"spec":{"domain":{"devices":{}}}}}}}}})"},
    {"/vmipreset-validate", R"({"object":{"spec":{"selector":{},"domain":{"devices":{}}}}})"},
    {"/migration-validate-create", R"({"object":{"spec":{"vmiName":"ok"}}})"},
    {"/migration-validate-update",
     R"({"operation":"UPDATE","object":{"metadata":{"labels":{"kubevirt.io/vmi-name":"ok"}},"spec":{"vmiName":"ok"}},
           "oldObject":{"metadata":{"labels":{"kubevirt.io/vmi-name":"ok"}},"spec":{"vmiName":"ok"}}})"},
    {"/virtualmachinesnapshots-validate",
     R"({"object":{"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"vm"}}}})"},
    {"/virtualmachinerestores-validate",
     R"({"namespace":"default","object":{"spec":{"target":{"apiGroup":"kubevirt.io","kind":"VirtualMachine",
           "name":"vm"},"virtualMachineSnapshotName":"snap"}}})"},
    {"/virtualmachinebackups-validate",
     R"({"namespace":"default","object":{"metadata":{"name":"new"},"spec":{"source":{"apiGroup":"kubevirt.io",
           "kind":"VirtualMachine","name":"vm"}}}})"},
    {"/virtualmachineexports-validate",
     R"({"object":{"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"vm"}}}})"},
    {"/virtualmachineinstancetypes-validate", R"({"object":{"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}}})"},
    {"/virtualmachinepreferences-validate", R"({"object":{"spec":{"cpu":{}}}})"},
    {"/status-validate",
     R"({"object":{"kind":"VirtualMachine","metadata":{"name":"ok"},"spec":{"runStrategy":"Always","template":{"spec":{
           "domain":{"devices":{}}}}},"status":{}}})"},
    {"/migration-policy-validate-create", R"({"object":{"spec":{"selectors":{}}}})"},
    {"/vm-clone-validate-create",
     R"({"object":{"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"vm"}}}})"},
    {"/plugin-validate", R"({"operation":"UPDATE","object":{"spec":{}}})"},
};

constexpr ExistingObject objects[] = {
    {"kubevirt.io/virtualmachineinstances/ok", R"({"status":{"phase":"Running"}})"},
    {"kubevirt.io/virtualmachineinstances/ended", R"({"status":{"phase":"Failed"}})"},
    {"kubevirt.io/virtualmachineinstances/busy", R"({"status":{"phase":"Running"}})"},
    {"kubevirt.io/virtualmachineinstances/moving",
     R"({"spec":{"domain":{"devices":{"disks":[{"name":"old","disk":{"bus":"virtio"}}]}},
           "volumes":[{"name":"old","emptyDisk":{"capacity":"1Gi"}}]},
           "status":{"migrationState":{"startTimestamp":"2020-01-01T00:00:00Z"}}})"},
    {"kubevirt.io/virtualmachineinstances/broken",
     R"({"spec":{"domain":{"devices":{}},"utilityVolumes":[{"name":"u","claimName":"c"}]},"status":{}})"},
    {"kubevirt.io/virtualmachineinstances/kept",
     R"({"spec":{"evictionStrategy":"LiveMigrate"},"status":{"nodeName":"n"}})"},
    {"kubevirt.io/virtualmachineinstancemigrations/first",
     R"({"metadata":{"labels":{"kubevirt.io/vmi-name":"busy"}}})"},
    {"snapshot.kubevirt.io/virtualmachinesnapshots/snap", R"({"status":{}})"},
    {"snapshot.kubevirt.io/virtualmachinerestores/r",
     R"({"spec":{"target":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"busy"}}})"},
    {"kubevirt.io/virtualmachines/vm", R"({"metadata":{"uid":"1"}})"},
    {"backup.kubevirt.io/virtualmachinebackups/taken",
     R"({"metadata":{"name":"taken"},"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"busy"}}})"},
    {"pods/virt-launcher-kept",
     R"({"metadata":{"labels":{"kubevirt.io":"virt-launcher"},"annotations":{"kubevirt.io/domain":"kept"}},
           "spec":{"nodeName":"n"}})"},
};

// What a review says of the resource that it is about.
std::string resource_json(const Webhook& webhook) {
  return fmt::format(
      R"({{"operation":"CREATE","namespace":"default","resource":{{"group":"{}","version":"{}","resource":"{}"}}}})",
      webhook.group, webhook.versions.back(), webhook.subjects.front().resource);
}

}  // namespace

std::vector<Example> all_examples() {
  std::vector<Example> all;
  for (const auto& family : families) {
    const auto rows = family();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

std::vector<ExistingObject> example_objects() {
  std::vector<ExistingObject> all(std::begin(objects), std::end(objects));
  const auto of_vms = vm_example_objects();
  all.insert(all.end(), of_vms.begin(), of_vms.end());
  return all;
}

json::Value example_request(const Example& example, string_view change, const json::StoragePtr& storage) {
  const auto* base = std::ranges::find(bases, example.path, &Base::path);
  json::Value request(storage);
  for (const std::string& part : {resource_json(*find_webhook(example.path)),
                                  std::string(base == std::end(bases) ? "{}" : base->request), std::string(change)}) {
    const auto patch = json::parse(part, storage);
    if (patch) (void)json::apply_merge_patch(request, *patch);
  }
  return request;
}

}  // namespace vg::admission
