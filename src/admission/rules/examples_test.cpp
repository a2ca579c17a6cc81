// Every rule, with something that it lets through and something that it refuses. A rule without a row here fails the
// test: what stands here is also its documentation.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admission/admit.h"
#include "admission/rule.h"
#include "admission/rules/example.h"
#include "admission/webhook.h"
#include "json/access.h"
#include "json/document.h"
#include "json/patch.h"

namespace vg::admission {
namespace {

using std::string_view;

// Objects that exist while the examples are asked.
class Cluster final : public Lookups {
 public:
  Cluster() {
    for (const auto& [name, text] : existing_objects()) objects.emplace(name, text);
  }
  Result<json::Value*> get(string_view resource, string_view, string_view name,
                           const json::StoragePtr& storage) const override {
    const auto found = objects.find(fmt::format("{}/{}", resource, name));
    return found == objects.end() ? nullptr : copy(found->second, storage);
  }
  Result<std::vector<json::Value*>> list(string_view resource, string_view,
                                         const json::StoragePtr& storage) const override {
    std::vector<json::Value*> found;
    for (const auto& [key, text] : objects)
      if (key.starts_with(fmt::format("{}/", resource))) found.push_back(copy(text, storage));
    return found;
  }
  Result<std::vector<json::Value*>> list_labelled(string_view resource, string_view ns, string_view label,
                                                  string_view value, const json::StoragePtr& storage) const override {
    auto found = list(resource, ns, storage);
    std::erase_if(*found, [&](const json::Value* object) {
      return json::as_string(json::find_path(*object, {"metadata", "labels", label})) != value;
    });
    return found;
  }
  bool missed() const override { return false; }

 private:
  static json::Value* copy(string_view text, const json::StoragePtr& storage) {
    auto value = json::parse(text, storage);
    EXPECT_TRUE(value) << text;
    return new (storage->allocate(sizeof(json::Value), alignof(json::Value))) json::Value(std::move(*value));
  }

  std::map<std::string, string_view, std::less<>> objects = {
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
};

// What all examples of a webhook begin with.
const std::map<string_view, string_view>& bases() {
  static const std::map<string_view, string_view> all = {
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
  return all;
}

constexpr string_view stall_on = R"({"developerConfiguration":{"featureGates":["MigrationStallDetection"]}})";
constexpr string_view grace = R"({"permittedHostDevices":{"pciHostDevices":[
  {"pciVendorSelector":"10DE:2342","resourceName":"nvidia.com/grace"}]}})";

const bool added = add_examples({
    {"FG-01", vmi, "{}", R"({"object":{"spec":{"domain":{"devices":{"interfaces":[{"name":"n","passt":{}}]}}}}})",
     "FieldValueNotSupported ", R"({"developerConfiguration":{"featureGates":["Passt"]}})"},
    {"E1", "/pod-eviction-validate", "{}", R"({"name":"virt-launcher-kept"})", "429"},
    {"MC04", "/migration-validate-create", "{}", R"({"object":{"spec":{"vmiName":""}}})",
     "FieldValueRequired spec.vmiName"},
    {"MC05", "/migration-validate-create",
     R"({"userInfo":{"username":"system:serviceaccount:kubevirt:kubevirt-controller"},"object":{"spec":{"priority":"system-critical"}}})",
     R"({"object":{"spec":{"priority":"system-critical"}}})", "FieldValueForbidden spec.migrationPriority"},
    {"MC06", "/migration-validate-create", "{}", R"({"object":{"spec":{"vmiName":"ended"}}})", "400"},
    {"MC10", "/migration-validate-create", "{}", R"({"object":{"spec":{"vmiName":"busy"}}})", "400"},
    {"MC12", "/migration-validate-create", "{}", R"({"object":{"spec":{"receive":{"migrationID":"1"}}}})",
     "FieldValueNotSupported "},
    {"MC13", "/migration-validate-create",
     R"({"object":{"spec":{"sendTo":{"migrationID":"1","connectURL":"u"},"receive":{"migrationID":"1"}}}})",
     R"({"object":{"spec":{"sendTo":{"migrationID":"2","connectURL":"u"},"receive":{"migrationID":"1"}}}})",
     "FieldValueInvalid ", R"({"developerConfiguration":{"featureGates":["DecentralizedLiveMigration"]}})"},
    {"MU03", "/migration-validate-update", "{}", R"({"object":{"spec":{"vmiName":"other"}}})",
     "FieldValueNotSupported "},
    {"MU04", "/migration-validate-update", R"({"object":{"metadata":{"labels":null},"status":{"phase":"Succeeded"}}})",
     R"({"object":{"metadata":{"labels":null}}})", "FieldValueNotSupported "},
    {"MP02", "/migration-policy-validate-create", R"({"object":{"spec":{"completionTimeoutPerGiB":0}}})",
     R"({"object":{"spec":{"completionTimeoutPerGiB":-1}}})", "FieldValueInvalid spec.completionTimeoutPerGiB"},
    {"MP03", "/migration-policy-validate-create",
     R"({"operation":"UPDATE","object":{"spec":{"maxDowntimeMs":5}},"oldObject":{"spec":{"maxDowntimeMs":5}}})",
     R"({"object":{"spec":{"maxDowntimeMs":5}}})", "FieldValueInvalid spec.maxDowntimeMs"},
    {"MP03 create with an old object", "/migration-policy-validate-create",
     R"({"object":{"spec":{"maxDowntimeMs":5}},"oldObject":{"spec":{"maxDowntimeMs":5}}})",
     R"({"object":{"spec":{"maxDowntimeMs":5}},"oldObject":{"spec":{"maxDowntimeMs":6}}})",
     "FieldValueInvalid spec.maxDowntimeMs"},
    {"MP04", "/migration-policy-validate-create", "{}", R"({"object":{"spec":{"experimental":{"stallDetector":{}}}}})",
     "FieldValueInvalid spec.experimental.stallDetector"},
    {"MP05", "/migration-policy-validate-create",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"ewmaAlpha":" 0x1p-2 "}}}}})",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"ewmaAlpha":"0"}}}}})",
     "FieldValueInvalid spec.experimental.stallDetector.ewmaAlpha", stall_on},
    {"MP06", "/migration-policy-validate-create",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"precopyPossibleFactor":"1.125"}}}}})",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"precopyPossibleFactor":"1.1255"}}}}})",
     "FieldValueInvalid spec.experimental.stallDetector.precopyPossibleFactor", stall_on},
    {"MP07", "/migration-policy-validate-create",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"patienceWindowDecayFactor":"0"}}}}})",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"patienceWindowDecayFactor":"1.5"}}}}})",
     "FieldValueInvalid spec.experimental.stallDetector.patienceWindowDecayFactor", stall_on},
    {"MP07", "/migration-policy-validate-create",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"patienceWindowDecayFactor":"1e-400"}}}}})",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"patienceWindowDecayFactor":"1e400"}}}}})",
     "FieldValueInvalid spec.experimental.stallDetector.patienceWindowDecayFactor", stall_on},
    {"MP08", "/migration-policy-validate-create",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"completionTimeoutFactor":"1e2"}}}}})",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"completionTimeoutFactor":"inf"}}}}})",
     "FieldValueInvalid spec.experimental.stallDetector.completionTimeoutFactor", stall_on},
    {"MP08", "/migration-policy-validate-create",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"completionTimeoutFactor":"0x_1p+1_0"}}}}})",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"completionTimeoutFactor":"1__0"}}}}})",
     "FieldValueInvalid spec.experimental.stallDetector.completionTimeoutFactor", stall_on},
    {"MP08", "/migration-policy-validate-create",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"completionTimeoutFactor":"1_0.5_0"}}}}})",
     R"({"object":{"spec":{"experimental":{"stallDetector":{"completionTimeoutFactor":"10_"}}}}})",
     "FieldValueInvalid spec.experimental.stallDetector.completionTimeoutFactor", stall_on},
    {"MP09", "/migration-policy-validate-create", R"({"object":{"spec":{"bandwidthPerMigration":"1Gi"}}})",
     R"({"object":{"spec":{"bandwidthPerMigration":"-1"}}})", "FieldValueInvalid spec.bandwidthPerMigration"},
    {"PL10", "/plugin-validate", R"({"object":{"spec":{"domainHooks":[{"sidecar":{"socketPath":"../a/b"}}]}}})",
     R"({"object":{"spec":{"domainHooks":[{"sidecar":{"socketPath":"/a//b/"}}]}}})",
     "FieldValueInvalid spec.domainHooks[0].sidecar.socketPath"},
    {"CL05", "/vm-clone-validate-create", R"({"object":{"spec":{"labelFilters":["!a/*","*",""]}}})",
     R"({"object":{"spec":{"template":{"labelFilters":["a*b"]}}}})", "FieldValueInvalid spec.template.labels"},
    {"CL08", "/vm-clone-validate-create", R"({"object":{"spec":{"source":{"kind":"VirtualMachineSnapshot"}}}})",
     R"({"object":{"spec":{"source":{"kind":"Pod"}}}})", "FieldValueInvalid spec.Source.Kind"},
    {"CL09", "/vm-clone-validate-create", R"({"object":{"spec":{"target":{"kind":"VirtualMachine","name":"b"}}}})",
     R"({"object":{"spec":{"target":{"kind":"Pod","name":"b"}}}})", "FieldValueInvalid spec.Target.Kind"},
    {"CL10", "/vm-clone-validate-create", "{}", R"({"object":{"spec":{"source":null}}})",
     "FieldValueInvalid spec.Source"},
    {"CL11", "/vm-clone-validate-create", "{}", R"({"object":{"spec":{"source":{"apiGroup":null}}}})",
     "FieldValueInvalid spec.Source.APIGroup"},
    {"CL12", "/vm-clone-validate-create", "{}", R"({"object":{"spec":{"source":{"kind":""}}}})",
     "FieldValueInvalid spec.Source"},
    {"CL13", "/vm-clone-validate-create", "{}", R"({"object":{"spec":{"source":{"name":""}}}})",
     "FieldValueInvalid spec.Source.Name"},
    {"CL14", "/vm-clone-validate-create", R"({"object":{"spec":{"target":{"kind":"VirtualMachine","name":"b"}}}})",
     R"({"object":{"spec":{"target":{"kind":"VirtualMachine","name":"vm"}}}})", "FieldValueInvalid spec.target.name"},
    {"CL15", "/vm-clone-validate-create", R"({"object":{"spec":{"newMacAddresses":{"a":"","b":"02-00-00-00-00-01"}}}})",
     R"({"object":{"spec":{"newMacAddresses":{"a":"02:00"}}}})", "FieldValueInvalid spec.newMacAddresses.a"},
    {"CL15 without name", "/vm-clone-validate-create", R"({"object":{"spec":{"newMacAddresses":{"":""}}}})",
     R"({"object":{"spec":{"newMacAddresses":{"":"02:00"}}}})", "FieldValueInvalid spec.newMacAddresses[]"},
    {"CL16", "/vm-clone-validate-create", R"({"object":{"spec":{"patches":["{}"]}}})",
     R"({"object":{"spec":{"patches":["{}","{"]}}})", "FieldValueInvalid spec.patches[1]"},
    {"PR04", "/vmipreset-validate", "{}", R"({"object":{"spec":{"domain":null}}})", "FieldValueRequired spec.domain"},
    {"PR05", "/vmipreset-validate",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","disk":{"bus":"virtio"}}]}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a"},{"name":"a"}]}}}}})",
     "FieldValueInvalid spec.domain.devices.disks[1].name", "{}", "DISK-01"},
    {"PR06", "/vmipreset-validate", R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"efi":{}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"efi":{},"bios":{}}}}}}})",
     "FieldValueInvalid spec.domain.firmware.bootloader", "{}", "FW-04"},
    {"RS05", "/virtualmachinereplicaset-validate", "{}",
     R"({"object":{"spec":{"template":{"metadata":{"annotations":{"kubevirt.io/disablePCIHole64":"true"}},
         "spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"nvidia.com/grace"}]}}}}}}})",
     "FieldValueInvalid spec.template.metadata.annotations[kubevirt.io/disablePCIHole64]", grace, "GRC-09"},
    {"RS08", "/virtualmachinereplicaset-validate", R"({"object":{"spec":{"selector":{"matchLabels":null}}}})",
     R"({"object":{"spec":{"selector":{"matchLabels":{"a":"c"}}}}})", "FieldValueInvalid spec.selector"},
    {"RS10", "/virtualmachinereplicaset-validate", "{}",
     R"({"object":{"spec":{"template":{"spec":{"domain":{"devices":{"interfaces":[{"name":"n","macvtap":{}}]}}}}}}})",
     "FieldValueNotSupported ", R"({"developerConfiguration":{"featureGates":["Macvtap"]}})"},
    {"SN04", "/virtualmachinesnapshots-validate", "{}", R"({"object":{"spec":{"source":{"apiGroup":null}}}})",
     "FieldValueNotFound spec.source.apiGroup"},
    {"SN08", "/virtualmachinesnapshots-validate",
     R"({"operation":"UPDATE","oldObject":{"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"vm"}}}})",
     R"({"operation":"UPDATE","oldObject":{"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"x"}}}})",
     "FieldValueInvalid spec"},
    {"RE04", "/virtualmachinerestores-validate", "{}", R"({"object":{"spec":{"target":{"kind":"Pod"}}}})",
     "FieldValueInvalid spec.target.kind"},
    {"RE07", "/virtualmachinerestores-validate",
     R"({"object":{"spec":{"patches":["{\"op\": \"remove\", \"path\": \"/spec/x\"}"]}}})",
     R"({"object":{"spec":{"patches":["{\"op\": \"remove\", \"path\": \"/status/x\"}"]}}})",
     "FieldValueInvalid spec.patches"},
    {"RE07 empty patch", "/virtualmachinerestores-validate",
     R"({"object":{"spec":{"patches":["{\"path\": \"/spec/x\"}"]}}})", R"({"object":{"spec":{"patches":["{}"]}}})",
     "FieldValueInvalid spec.patches"},
    {"RE12", "/virtualmachinerestores-validate",
     R"({"object":{"spec":{"volumeRestoreOverrides":[{"volumeName":"a","restoreName":"b"}]}}})",
     R"({"object":{"spec":{"volumeRestoreOverrides":[{"volumeName":"a"}]}}})",
     "FieldValueRequired spec.volumeRestoreOverrides[0]"},
    {"RE14", "/virtualmachinerestores-validate", R"({"object":{"spec":{"volumeRestorePolicy":"InPlace"}}})",
     R"({"object":{"spec":{"volumeRestorePolicy":"x"}}})", "FieldValueInvalid spec.volumeRestorePolicy"},
    {"RE15", "/virtualmachinerestores-validate", R"({"object":{"spec":{"volumeOwnershipPolicy":"None"}}})",
     R"({"object":{"spec":{"volumeOwnershipPolicy":"x"}}})", "FieldValueInvalid spec.volumeOwnershipPolicy"},
    {"RE16", "/virtualmachinerestores-validate", "{}",
     R"({"object":{"spec":{"target":{"name":"busy"},"virtualMachineSnapshotName":"none"}}})",
     "FieldValueInvalid spec.target"},
    {"RE16", "/virtualmachinerestores-validate",
     R"({"namespace":"","object":{"spec":{"target":{"name":"busy"},"virtualMachineSnapshotName":"none"}}})",
     R"({"object":{"spec":{"target":{"name":"busy"},"virtualMachineSnapshotName":"none"}}})",
     "FieldValueInvalid spec.target"},
    {"RE19", "/virtualmachinerestores-validate",
     R"({"operation":"UPDATE","object":{"spec":{"patches":[]}},"oldObject":{"spec":{"target":{"apiGroup":"kubevirt.io",
         "kind":"VirtualMachine","name":"vm"},"virtualMachineSnapshotName":"snap"}}})",
     R"({"operation":"UPDATE","oldObject":{"spec":{}}})", "FieldValueInvalid spec"},
    {"PO05", "/virtualmachinepool-validate", "{}", R"({"object":{"spec":{"virtualMachineTemplate":null}}})",
     "FieldValueRequired spec.template"},
    {"PO07", "/virtualmachinepool-validate", "{}",
     R"({"object":{"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Like"}]}}}})",
     "FieldValueInvalid spec.selector"},
    {"PO09", "/virtualmachinepool-validate", R"({"object":{"spec":{"maxUnavailable":"+25%"}}})",
     R"({"object":{"spec":{"maxUnavailable":"101%"}}})", "FieldValueInvalid spec.maxUnavailable"},
    {"PO13", "/virtualmachinepool-validate", R"({"object":{"spec":{"updateStrategy":{"unmanaged":{}}}}})",
     R"({"object":{"spec":{"updateStrategy":{"unmanaged":{},"proactive":{}}}}})",
     "FieldValueInvalid spec.updateStrategy"},
    {"PO14", "/virtualmachinepool-validate", R"({"object":{"spec":{"scaleInStrategy":{"unmanaged":{}}}}})",
     R"({"object":{"spec":{"scaleInStrategy":{"unmanaged":{},"proactive":{}}}}})",
     "FieldValueInvalid spec.scaleInStrategy"},
    {"PO15", "/virtualmachinepool-validate",
     R"({"operation":"UPDATE","oldObject":{"spec":{"selector":{"matchLabels":{"a":"b"}}}}})",
     R"({"operation":"UPDATE","oldObject":{"spec":5}})", "UnexpectedServerResponse "},
    {"PO16", "/virtualmachinepool-validate",
     R"({"operation":"UPDATE","oldObject":{"spec":{"selector":{"matchLabels":{"a":"b"}}}}})",
     R"({"operation":"UPDATE","oldObject":{"spec":{"selector":{}}}})", "FieldValueInvalid spec.selector"},
    {"PO16 old pool half readable", "/virtualmachinepool-validate",
     R"({"operation":"UPDATE","oldObject":{"spec":{"selector":{"matchLabels":{"a":"b"}}}}})",
     R"({"operation":"UPDATE","oldObject":{"spec":{"replicas":"x","selector":{}}}})",
     "FieldValueInvalid spec.selector"},
    {"PO17", "/virtualmachinepool-validate", "{}",
     R"({"object":{"spec":{"virtualMachineTemplate":{"spec":{"template":{"spec":{"domain":{"devices":{"interfaces":[
         {"name":"n","passt":{}}]}}}}}}}}})",
     "FieldValueNotSupported ", R"({"developerConfiguration":{"featureGates":["Passt"]}})"},
    {"BA05", "/virtualmachinebackups-validate", "{}", R"({"object":{"metadata":{"name":"taken"}}})",
     "FieldValueInvalid metadata.name", R"({"developerConfiguration":{"featureGates":["IncrementalBackup"]}})"},
    {"BA06", "/virtualmachinebackups-validate", "{}", R"({"object":{"spec":{"source":{"name":"busy"}}}})",
     "FieldValueInvalid spec.source", R"({"developerConfiguration":{"featureGates":["IncrementalBackup"]}})"},
    {"EX14", "/virtualmachineexports-validate", "{}", R"({"object":{"spec":{"source":{"kind":"Pod"}}}})",
     "FieldValueInvalid spec.source.kind"},
    {"EX11", "/virtualmachineexports-validate", "{}",
     R"({"object":{"spec":{"source":{"kind":"VirtualMachineTemplate"}}}})", "FieldValueInvalid spec.source.kind"},
    {"EX03", "/virtualmachineexports-validate", "{}", R"({"object":{"spec":{"source":{"name":""}}}})",
     "FieldValueInvalid spec.source.name"},
    {"EX04", "/virtualmachineexports-validate",
     R"({"object":{"spec":{"source":{"kind":"PersistentVolumeClaim","apiGroup":""}}}})",
     R"({"object":{"spec":{"source":{"kind":"PersistentVolumeClaim"}}}})", "FieldValueInvalid spec.source.APIGroup"},
    {"EX16", "/virtualmachineexports-validate",
     R"({"operation":"UPDATE","oldObject":{"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"vm"}}}})",
     R"({"operation":"UPDATE","oldObject":{"spec":{}}})", "FieldValueInvalid spec"},
    {"IT1", "/virtualmachineinstancetypes-validate", R"({"object":{"spec":{"memory":{"overcommitPercent":100}}}})",
     R"({"object":{"spec":{"memory":{"overcommitPercent":101}}}})", "FieldValueInvalid spec.memory.overcommitPercent"},
    {"IT2", "/virtualmachineinstancetypes-validate",
     R"({"object":{"spec":{"memory":{"hugepages":{"pageSize":"2Mi"}}}}})",
     R"({"object":{"spec":{"memory":{"overcommitPercent":15,"hugepages":{}}}}})",
     "FieldValueInvalid spec.memory.overcommitPercent"},
    {"ITW", "/virtualmachineinstancetypes-validate", "{}", R"({"object":{"spec":{"launchSecurity":{"sev":{}}}}})",
     "warning"},
    {"PF1", "/virtualmachinepreferences-validate", R"({"object":{"spec":{"cpu":{"preferredCPUTopology":"any"}}}})",
     R"({"object":{"spec":{"cpu":{"preferredCPUTopology":"round"}}}})",
     "FieldValueInvalid spec.cpu.preferredCPUTopology"},
    {"PF2", "/virtualmachinepreferences-validate", R"({"object":{"spec":{"cpu":{"preferredCPUTopology":"spread"}}}})",
     R"({"object":{"spec":{"cpu":{"preferredCPUTopology":"spread","spreadOptions":{"across":"x"}}}}})",
     "FieldValueInvalid spec.cpu.spreadOptions.across"},
    {"PF3", "/virtualmachinepreferences-validate",
     R"({"object":{"spec":{"cpu":{"preferredCPUTopology":"spread","spreadOptions":{"across":"CoresThreads"}}}}})",
     R"({"object":{"spec":{"cpu":{"preferredCPUTopology":"spread","spreadOptions":{"across":"CoresThreads","ratio":3}}}}})",
     "FieldValueInvalid spec.cpu.spreadOptions.ratio"},
    {"PFW", "/virtualmachinepreferences-validate", R"({"object":{"spec":{"cpu":{"preferredCPUTopology":"cores"}}}})",
     R"({"object":{"spec":{"cpu":{"preferredCPUTopology":"preferCores"}}}})", "warning"},
});

// Cannot be broken by anything that the steps before let through.
constexpr string_view unreachable[] = {"RS04", "DNS-01", "HPD-01"};

std::string resource_json(const Webhook& webhook) {
  return fmt::format(
      R"({{"operation":"CREATE","namespace":"default","resource":{{"group":"{}","version":"{}","resource":"{}"}}}})",
      webhook.group, webhook.versions.back(), webhook.subjects.front().resource);
}

Verdict ask(const Example& example, string_view change) {
  const Webhook& webhook = *find_webhook(example.path);
  json::Document document(1 << 16);
  json::Value request(document.storage());
  for (const std::string& part : {resource_json(webhook), std::string(bases().at(example.path)), std::string(change)}) {
    const auto patch = json::parse(part, document.storage());
    EXPECT_TRUE(patch) << example.id << " " << part;
    EXPECT_TRUE(json::apply_merge_patch(request, *patch));
  }
  document.root() = json::Object({{"request", std::move(request)}}, document.storage());
  const auto kubevirt = json::Document::parse(
      fmt::format(R"({{"spec":{{"configuration":{}}},"status":{{"phase":"Deployed"}}}})", example.configuration));
  const config::FixedConfig config(*config::ClusterConfig::read(kubevirt->root(), "1"));
  const Cluster cluster;
  const ReadyLookups lookups(cluster);
  const SystemClock clock;
  const auto review = read_review(document.root());
  EXPECT_TRUE(review) << example.id;
  return admit(webhook, *review, {.config = config, .lookups = lookups, .clock = clock}, document.storage());
}

// By the rule itself: its neighbour with the same field and reason does not count.
bool refused_as(const Verdict& verdict, string_view wanted, string_view rule) {
  if (wanted == "warning") return verdict.allowed && !verdict.warnings.empty();
  if (verdict.allowed) return false;
  const auto space = wanted.find(' ');
  if (space == wanted.npos)
    return fmt::to_string(verdict.refusal().code) == wanted && verdict.refusal().details.causes.empty() &&
           verdict.rule == rule;
  return std::ranges::any_of(verdict.refusal().details.causes, [&](const StatusCause& cause) {
    return cause.rule == rule && cause.reason == wanted.substr(0, space) && cause.field == wanted.substr(space + 1) &&
           !cause.message.empty();
  });
}

TEST(RuleExamplesTest, EveryRuleLetsSomethingThroughAndRefusesSomething) {
  for (const Example& example : all_examples()) {
    const Verdict good = ask(example, example.good);
    EXPECT_TRUE(good.allowed && good.warnings.empty())
        << example.id << " refuses its good example: " << good.refusal().message;
    const Verdict bad = ask(example, example.bad);
    const string_view own_id = example.id.substr(0, example.id.find(' '));  // some have more than one example
    EXPECT_TRUE(refused_as(bad, example.refusal, example.found_by.empty() ? own_id : example.found_by))
        << example.id << " wants \"" << example.refusal << "\", says " << bad.refusal().code << " "
        << bad.refusal().message << " by " << bad.rule_ids();
  }
}

TEST(RuleExamplesTest, EveryRuleHasAnExample) {
  for (const Webhook& webhook : webhooks()) {
    if (!webhook.rules) continue;
    for (const Rule& rule : webhook.rules())
      for (const RuleInfo& info : rules_behind(rule))
        EXPECT_TRUE(std::ranges::find(all_examples(), info.id, &Example::id) != all_examples().end() ||
                    std::ranges::find(unreachable, info.id) != std::end(unreachable))
            << info.id << ": " << info.holds;
  }
}

}  // namespace
}  // namespace vg::admission
