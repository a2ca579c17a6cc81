// Users write specs and statuses as they like, within the types that the server stores. Whatever stands there, every
// controller gets through its pass, and what it wants to write can be written: otherwise it would try for ever.
//
// Valid objects of every kind, some of their values replaced by others at random; VIRTGATE_SEED repeats one round,
// VIRTGATE_LONG=1 runs many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "controllers/all.h"
#include "controllers/testing_effects.h"
#include "json/patch.h"
#include "json/write.h"
#include "objects/decode.h"
#include "objects/rules.h"
#include "objects/strategy.h"
#include "simulated/simulated.h"

namespace vg::simulated {
namespace {

using controllers::Controller;
using controllers::Effect;
using controllers::Key;
using controllers::TestPass;
using controllers::TestWorld;
using controllers::Verb;
namespace kinds = controllers::kinds;

struct Sample {
  std::string_view resource;
  std::string_view text;
};

constexpr Sample samples[] = {
    {kinds::node, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"u-node",
      "labels":{"kubevirt.io/schedulable":"true","kubernetes.io/arch":"amd64","virtgate.io/simulated":"true"},
      "annotations":{"kubevirt.io/heartbeat":"2026-01-02T03:04:00Z"}},
      "spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},
      "status":{"allocatable":{"cpu":"8","memory":"16Gi","devices.kubevirt.io/kvm":"9"},
        "conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:00Z"}]}})"},
    {kinds::vm, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"a","namespace":"n",
      "uid":"u-vm","generation":3,"creationTimestamp":"2026-01-02T03:00:00Z","finalizers":["kubevirt.io/virtualMachineControllerFinalize"]},
      "spec":{"runStrategy":"Always","dataVolumeTemplates":[{"metadata":{"name":"dv"},"spec":{"source":{"blank":{}},"storage":{"resources":{"requests":{"storage":"1Gi"}}}}}],
        "template":{"metadata":{"labels":{"app":"a"}},"spec":{"domain":{"cpu":{"cores":1},"memory":{"guest":"1Gi"},"devices":{"disks":[{"name":"d","disk":{"bus":"virtio"}}],
          "interfaces":[{"name":"default","masquerade":{}}]}},"networks":[{"name":"default","pod":{}}],"volumes":[{"name":"d","dataVolume":{"name":"dv"}}]}}},
      "status":{"created":true,"ready":false,"printableStatus":"CrashLoopBackOff","observedGeneration":2,"desiredGeneration":3,
        "runStrategy":"Always","startFailure":{"consecutiveFailCount":2,"lastFailedVMIUID":"u-x","retryAfterTimestamp":"2026-01-02T03:05:00Z"},
        "stateChangeRequests":[{"action":"Stop","uid":"u-vmi"}],
        "volumeRequests":[{"addVolumeOptions":{"name":"h","disk":{"name":"h","disk":{"bus":"scsi"}},"volumeSource":{"persistentVolumeClaim":{"claimName":"h"}}}}],
        "memoryDumpRequest":{"claimName":"dump","phase":"InProgress","startTimestamp":"2026-01-02T03:04:00Z"},
        "volumeSnapshotStatuses":[{"name":"d","enabled":true}],
        "conditions":[{"type":"Ready","status":"False","reason":"x","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null},
          {"type":"RestartRequired","status":"True","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null}]}})"},
    {kinds::vmi,
     R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"a","namespace":"n","uid":"u-vmi",
      "creationTimestamp":"2026-01-02T03:00:01Z","labels":{"kubevirt.io/nodeName":"n1"},"finalizers":["foregroundDeleteVirtualMachine"],
      "ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"a","uid":"u-vm","controller":true,"blockOwnerDeletion":true}]},
      "spec":{"terminationGracePeriodSeconds":30,"evictionStrategy":"LiveMigrate","domain":{"cpu":{"cores":1},"memory":{"guest":"1Gi"},
        "devices":{"disks":[{"name":"d","disk":{"bus":"virtio"}}],"interfaces":[{"name":"default","masquerade":{}}]}},
        "networks":[{"name":"default","pod":{}}],"volumes":[{"name":"d","dataVolume":{"name":"dv"}}]},
      "status":{"phase":"Running","nodeName":"n1","activePods":{"p1":"n1"},"evacuationNodeName":"n1",
        "phaseTransitionTimestamps":[{"phase":"Running","phaseTransitionTimestamp":"2026-01-02T03:04:00Z"}],
        "interfaces":[{"name":"default","ipAddress":"10.0.0.2","ipAddresses":["10.0.0.2"],"infoSource":"domain"}],
        "volumeStatus":[{"name":"d","target":"vda","phase":"Ready","persistentVolumeClaimInfo":{"claimName":"dv","capacity":{"storage":"1Gi"}}}],
        "memory":{"guestAtBoot":"1Gi","guestCurrent":"1Gi","guestRequested":"1Gi"},"currentCPUTopology":{"cores":1,"sockets":1,"threads":1},
        "migrationState":{"migrationUid":"u-mig","sourceNode":"n1","targetNode":"n2","startTimestamp":"2026-01-02T03:04:00Z","mode":"PreCopy"},
        "conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null},
          {"type":"LiveMigratable","status":"True","lastTransitionTime":null,"lastProbeTime":null},
          {"type":"Paused","status":"True","reason":"PausedIOError","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null},
          {"type":"HotVCPUChange","status":"True","lastTransitionTime":null,"lastProbeTime":null},
          {"type":"AgentConnected","status":"True","lastTransitionTime":null,"lastProbeTime":null}]}})"},
    {kinds::migration,
     R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration","metadata":{"name":"m","namespace":"n","uid":"u-mig",
      "creationTimestamp":"2026-01-02T03:03:00Z","annotations":{"kubevirt.io/evacuationMigration":"n1"},"finalizers":["kubevirt.io/migrationJobFinalize"]},
      "spec":{"vmiName":"a"},"status":{"phase":"Running","phaseTransitionTimestamps":[{"phase":"Running","phaseTransitionTimestamp":"2026-01-02T03:04:00Z"}],
        "migrationState":{"migrationUid":"u-mig","sourceNode":"n1","targetNode":"n2"},
        "conditions":[{"type":"migrationAbortRequested","status":"True","lastTransitionTime":null,"lastProbeTime":null}]}})"},
    {kinds::migration,
     R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration","metadata":{"name":"m0","namespace":"n","uid":"u-mig0",
      "creationTimestamp":"2026-01-02T03:02:00Z","annotations":{"kubevirt.io/evacuationMigration":"n1"}},
      "spec":{"vmiName":"a"},"status":{"phase":"Failed","phaseTransitionTimestamps":[{"phase":"Failed","phaseTransitionTimestamp":"2026-01-02T03:02:30Z"}]}})"},
    {kinds::replica_set,
     R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceReplicaSet","metadata":{"name":"rs","namespace":"n","uid":"u-rs"},
      "spec":{"replicas":2,"selector":{"matchLabels":{"app":"r"}},"template":{"metadata":{"labels":{"app":"r"}},"spec":{"domain":{"memory":{"guest":"1Gi"},"devices":{}}}}},
      "status":{"replicas":1,"readyReplicas":1,"labelSelector":"app=r","conditions":[{"type":"ReplicaFailure","status":"True","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null}]}})"},
    {kinds::pool,
     R"({"apiVersion":"pool.kubevirt.io/v1beta1","kind":"VirtualMachinePool","metadata":{"name":"p","namespace":"n","uid":"u-pool"},
      "spec":{"replicas":2,"selector":{"matchLabels":{"app":"p"}},"maxUnavailable":"25%","autohealing":{"startUpFailureThreshold":3,"minFailingToStartDuration":"5m"},
        "virtualMachineTemplate":{"metadata":{"labels":{"app":"p"}},"spec":{"runStrategy":"Always","template":{"metadata":{"labels":{"app":"p"}},"spec":{"domain":{"memory":{"guest":"1Gi"},"devices":{}}}}}}},
      "status":{"replicas":1,"readyReplicas":0,"labelSelector":"app=p","conditions":[{"type":"ReplicaFailure","status":"True","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null}]}})"},
    {kinds::vm,
     R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"p-0","namespace":"n","uid":"u-p0","labels":{"app":"p"},
      "ownerReferences":[{"apiVersion":"pool.kubevirt.io/v1beta1","kind":"VirtualMachinePool","name":"p","uid":"u-pool","controller":true,"blockOwnerDeletion":true}]},
      "spec":{"runStrategy":"Always","template":{"metadata":{},"spec":{"domain":{"memory":{"guest":"1Gi"},"devices":{}}}}},
      "status":{"printableStatus":"CrashLoopBackOff","startFailure":{"consecutiveFailCount":1},"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null}]}})"},
    {kinds::storage_class,
     R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local","uid":"u-sc",
      "annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"virtgate.io/local","volumeBindingMode":"Immediate","reclaimPolicy":"Delete"})"},
    {kinds::data_volume,
     R"({"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataVolume","metadata":{"name":"dv","namespace":"n","uid":"u-dv",
      "ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"a","uid":"u-vm","controller":true}]},
      "spec":{"source":{"http":{"url":"http://host/disk.img"}},"storage":{"resources":{"requests":{"storage":"1Gi"}},"storageClassName":"local","accessModes":["ReadWriteOnce"]}},
      "status":{"phase":"ImportInProgress","progress":"10.00%","claimName":"dv","restartCount":1,
        "conditions":[{"type":"Bound","status":"True","reason":"Bound","message":"PVC dv Bound","lastTransitionTime":"2026-01-02T03:04:00Z","lastHeartbeatTime":"2026-01-02T03:04:00Z"},
          {"type":"Ready","status":"False","lastTransitionTime":"2026-01-02T03:04:00Z","lastHeartbeatTime":"2026-01-02T03:04:00Z"},
          {"type":"Running","status":"False","lastTransitionTime":"2026-01-02T03:04:00Z","lastHeartbeatTime":"2026-01-02T03:04:00Z"}]}})"},
    {kinds::claim,
     R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"dv","namespace":"n","uid":"u-pvc","creationTimestamp":"2026-01-02T03:00:00Z",
      "annotations":{"cdi.kubevirt.io/storage.import.source":"http","cdi.kubevirt.io/storage.import.endpoint":"http://host/disk.img","cdi.kubevirt.io/storage.pod.phase":"Running"},
      "ownerReferences":[{"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataVolume","name":"dv","uid":"u-dv","controller":true,"blockOwnerDeletion":true}]},
      "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"storageClassName":"local","volumeMode":"Filesystem","volumeName":"pvc-u-pvc"},
      "status":{"phase":"Bound","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"conditions":[{"type":"Resizing","status":"True","lastTransitionTime":"2026-01-02T03:04:00Z"}]}})"},
    {kinds::volume, R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pvc-u-pvc","uid":"u-pv"},
      "spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"local","claimRef":{"kind":"PersistentVolumeClaim","namespace":"n","name":"dv","uid":"u-pvc"},
        "local":{"path":"/x"}},"status":{"phase":"Bound"}})"},
    {kinds::data_source,
     R"({"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataSource","metadata":{"name":"ds","namespace":"n","uid":"u-ds"},
      "spec":{"source":{"pvc":{"namespace":"n","name":"dv"}}},
      "status":{"source":{"pvc":{"namespace":"n","name":"dv"}},"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"ready","lastTransitionTime":"2026-01-02T03:04:00Z","lastHeartbeatTime":"2026-01-02T03:04:00Z"}]}})"},
    {"cdi.kubevirt.io/dataimportcrons",
     R"({"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataImportCron","metadata":{"name":"cron","namespace":"n","uid":"u-cron","creationTimestamp":"2026-01-02T03:00:00Z",
      "annotations":{"cdi.kubevirt.io/storage.import.lastCronTime":"2026-01-02T03:00:00Z","cdi.kubevirt.io/storage.import.sourceDesiredDigest":"sha256:00"}},
      "spec":{"schedule":"* * * * *","managedDataSource":"ds","importsToKeep":2,"garbageCollect":"Outdated","template":{"spec":{"source":{"registry":{"url":"docker://r/i"}},"storage":{"resources":{"requests":{"storage":"1Gi"}}}}}},
      "status":{"lastExecutionTimestamp":"2026-01-02T03:00:00Z","currentImports":[{"DataVolumeName":"dv","Digest":"sha256:00"}],"lastImportedPVC":{"namespace":"n","name":"dv"},
        "conditions":[{"type":"UpToDate","status":"False","reason":"x","message":"y","lastTransitionTime":"2026-01-02T03:04:00Z","lastHeartbeatTime":"2026-01-02T03:04:00Z"},
          {"type":"Progressing","status":"True","lastTransitionTime":"2026-01-02T03:04:00Z","lastHeartbeatTime":"2026-01-02T03:04:00Z"}]}})"},
    {kinds::snapshot,
     R"({"apiVersion":"snapshot.kubevirt.io/v1beta1","kind":"VirtualMachineSnapshot","metadata":{"name":"s","namespace":"n","uid":"u-s","creationTimestamp":"2026-01-02T03:04:00Z",
      "finalizers":["snapshot.kubevirt.io/vmsnapshot-protection"]},"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"},"failureDeadline":"5m"},
      "status":{"phase":"InProgress","readyToUse":false,"sourceUID":"u-vm","virtualMachineSnapshotContentName":"vmsnapshot-content-u-s","indications":["Online"],"error":{"time":"2026-01-02T03:04:00Z","message":"e"},
        "conditions":[{"type":"Progressing","status":"True","reason":"r","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null},{"type":"Ready","status":"False","lastTransitionTime":null,"lastProbeTime":null}]}})"},
    {kinds::snapshot_content,
     R"({"apiVersion":"snapshot.kubevirt.io/v1beta1","kind":"VirtualMachineSnapshotContent","metadata":{"name":"vmsnapshot-content-u-s","namespace":"n","uid":"u-sc1",
      "finalizers":["snapshot.kubevirt.io/vmsnapshotcontent-protection"]},
      "spec":{"virtualMachineSnapshotName":"s","source":{"virtualMachine":{"metadata":{"name":"a","namespace":"n"},"spec":{"runStrategy":"Always","template":{"metadata":{},"spec":{"domain":{"devices":{}}}}}}},
        "volumeBackups":[{"volumeName":"d","volumeSnapshotName":"vs","persistentVolumeClaim":{"metadata":{"name":"dv"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}]},
      "status":{"readyToUse":true,"creationTime":"2026-01-02T03:04:00Z","error":{"time":"2026-01-02T03:04:00Z","message":"e"},"volumeSnapshotStatus":[{"volumeSnapshotName":"vs","readyToUse":true,"creationTime":"2026-01-02T03:04:00Z"}]}})"},
    {kinds::restore,
     R"({"apiVersion":"snapshot.kubevirt.io/v1beta1","kind":"VirtualMachineRestore","metadata":{"name":"r","namespace":"n","uid":"u-r","creationTimestamp":"2026-01-02T03:04:00Z",
      "finalizers":["snapshot.kubevirt.io/vmrestore-protection"]},"spec":{"target":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"},"virtualMachineSnapshotName":"s"},
      "status":{"complete":false,"restores":[{"volumeName":"d","persistentVolumeClaim":"restore-x","volumeSnapshotName":"vs","dataVolumeName":"restore-x"}],"deletedDataVolumes":["dv"],
        "conditions":[{"type":"Progressing","status":"True","reason":"r","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null}]}})"},
    {kinds::clone,
     R"({"apiVersion":"clone.kubevirt.io/v1beta1","kind":"VirtualMachineClone","metadata":{"name":"c","namespace":"n","uid":"u-c"},
      "spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"},"target":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"b"}},
      "status":{"phase":"SnapshotInProgress","snapshotName":"s","restoreName":"r","targetName":"b","creationTime":"2026-01-02T03:04:00Z",
        "conditions":[{"type":"Progressing","status":"True","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null}]}})"},
    {kinds::vm_export,
     R"({"apiVersion":"export.kubevirt.io/v1beta1","kind":"VirtualMachineExport","metadata":{"name":"e","namespace":"n","uid":"u-e","creationTimestamp":"2026-01-02T03:04:00Z"},
      "spec":{"source":{"apiGroup":"","kind":"PersistentVolumeClaim","name":"dv"},"ttlDuration":"2h","tokenSecretRef":"t"},
      "status":{"phase":"Ready","ttlExpirationTime":"2026-01-02T05:04:00Z","tokenSecretRef":"t","serviceName":"x",
        "links":{"internal":{"cert":"c","volumes":[{"name":"dv","formats":[{"format":"raw","url":"u"}]}]}},
        "conditions":[{"type":"Ready","status":"True","reason":"r","message":"m","lastTransitionTime":"2026-01-02T03:04:00Z","lastProbeTime":null}]}})"},
    {"backup.kubevirt.io/virtualmachinebackups",
     R"({"apiVersion":"backup.kubevirt.io/v1alpha1","kind":"VirtualMachineBackup","metadata":{"name":"bk","namespace":"n","uid":"u-bk"},
      "spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"},"mode":"Push","pvcName":"dv"},
      "status":{"conditions":[{"type":"Progressing","status":"True","reason":"r","lastTransitionTime":"2026-01-02T03:04:00Z"}]}})"},
    {kinds::kubevirt,
     R"({"apiVersion":"kubevirt.io/v1","kind":"KubeVirt","metadata":{"name":"kubevirt","namespace":"n","uid":"u-kv","annotations":{"kubevirt.io/latest-workload-update":"2026-01-02T03:04:00Z"}},
      "spec":{"workloadUpdateStrategy":{"workloadUpdateMethods":["LiveMigrate","Evict"],"batchEvictionSize":2,"batchEvictionInterval":"1m0s"}},
      "status":{"phase":"Deployed","outdatedVirtualMachineInstanceWorkloads":1,"conditions":[{"type":"Available","status":"True","lastTransitionTime":null,"lastProbeTime":null}]}})"},
};

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }

json::Value other_value(Random& random, const json::Value& value) {
  static constexpr std::string_view texts[] = {"",
                                               "x",
                                               "2026-01-02T03:04:05Z",
                                               "0001-01-01T00:00:00Z",
                                               "9999-12-31T23:59:59Z",
                                               "-1",
                                               "0",
                                               "1e-2147483648",
                                               "9223372036854775807",
                                               "True",
                                               "Failed",
                                               "Succeeded",
                                               "Running",
                                               "Pending",
                                               "n1",
                                               "a",
                                               "dv",
                                               "-2562047h47m16s",
                                               "2562047h47m16s",
                                               "150%",
                                               "/~1"};
  static constexpr std::int64_t numbers[] = {0,
                                             -1,
                                             1,
                                             2,
                                             std::numeric_limits<std::int32_t>::max(),
                                             std::numeric_limits<std::int32_t>::min(),
                                             std::numeric_limits<std::int64_t>::max(),
                                             std::numeric_limits<std::int64_t>::min(),
                                             9'223'372'037};
  const json::StoragePtr storage = value.storage();
  if (below(random, 6) == 0) return json::Value(nullptr, storage);
  if (value.is_string()) return json::Value(texts[below(random, std::size(texts))], storage);
  if (value.is_number()) return json::Value(numbers[below(random, std::size(numbers))], storage);
  if (value.is_bool()) return json::Value(!value.get_bool(), storage);
  if (value.is_array()) return json::Value(json::Array(storage));
  return json::Value(json::Object(storage));
}

// Changes one value somewhere inside: replaces, drops or doubles it.
void mutate(Random& random, json::Value& value) {
  if (json::Object* object = value.if_object(); object && !object->empty()) {
    auto member = object->begin() + static_cast<std::ptrdiff_t>(below(random, object->size()));
    const bool goes_on = (member->value().is_object() || member->value().is_array()) && below(random, 6) != 0;
    if (goes_on) return mutate(random, member->value());
    if (below(random, 3) == 0)
      object->erase(member);
    else
      member->value() = other_value(random, member->value());
    return;
  }
  if (json::Array* array = value.if_array(); array && !array->empty()) {
    const std::size_t at = below(random, array->size());
    if (below(random, 4) != 0) return mutate(random, (*array)[at]);
    if (below(random, 2) == 0)
      array->erase(array->begin() + static_cast<std::ptrdiff_t>(at));
    else
      array->push_back(json::Value((*array)[at], array->storage()));
    return;
  }
  value = other_value(random, value);
}

class HostileObjects : public testing::Test {
 protected:
  // Brings it into the form in which the server stores it. Otherwise `why` is what the server would say.
  static bool shape(std::string_view resource, json::Value& object, std::string& why) {
    const auto shaped = resources::shape_object(object, found(resource), context(resource, ""), nullptr);
    if (!shaped) why = shaped.error().message;
    return shaped.has_value();
  }
  // The same with the rules of its kind for a change of `old`.
  static bool judge(std::string_view resource, json::Value& object, const json::Value& old,
                    std::string_view subresource, std::string& why) {
    if (!shape(resource, object, why)) return false;
    const auto causes = resources::find_causes(object, &old, found(resource), context(resource, subresource));
    for (const StatusCause& cause : causes) why += fmt::format("{}: {}\n", cause.field, cause.message);
    return causes.empty();
  }
  static const resources::Resource& found(std::string_view resource) {
    const resources::Resource* row = resources::find_resource(resource);
    if (!row) throw std::invalid_argument(std::string(resource));
    return *row;
  }
  static resources::WriteContext context(std::string_view resource, std::string_view subresource) {
    return {
        .now_rfc3339 = "2026-01-02T03:04:05Z", .user = "u", .subresource = subresource, .kind = found(resource).kind};
  }

  void put_samples() {
    world_.clear();
    for (const Sample& sample : samples) {
      auto parsed = json::Document::parse(sample.text);
      ASSERT_TRUE(parsed) << sample.text << parsed.error().message;
      json::Value object(parsed->root(), json::StoragePtr());
      std::string why;
      ASSERT_TRUE(shape(sample.resource, object, why)) << sample.resource << ": " << why;
      world_.put(sample.resource, object);
    }
  }

  void mutate_some() {
    for (std::size_t left = 1 + below(random_, 3); left > 0; --left) {
      const Sample& sample = samples[below(random_, std::size(samples))];
      auto parsed = json::Document::parse(sample.text);
      json::Value object(parsed->root(), json::StoragePtr());
      static constexpr std::string_view parts[] = {"status", "status", "status", "spec", "metadata"};
      const std::string_view part = parts[below(random_, std::size(parts))];
      for (std::size_t changes = 1 + below(random_, 3); changes > 0; --changes)
        if (json::Value* inside = json::find(object.get_object(), part)) mutate(random_, *inside);
      const json::Value* metadata = json::find(object.get_object(), "metadata");
      std::string why;
      if (!metadata || !metadata->is_object() || !shape(sample.resource, object, why)) continue;
      // What nobody can change.
      json::Object& fixed = json::ensure_object(object.get_object(), "metadata");
      const json::Object& original = *json::get_object(parsed->root().get_object(), "metadata");
      for (const std::string_view member : {"name", "namespace", "uid", "creationTimestamp"})
        if (const json::Value* value = json::find(original, member))
          fixed[member] = *value;
        else
          json::erase(fixed, member);
      const json::Object* before =
          world_.get(sample.resource, json::get_string_or(fixed, "namespace"), json::get_string_or(fixed, "name"));
      const json::Value old(*before, json::StoragePtr());
      if (!judge(sample.resource, object, old, "", why) || !judge(sample.resource, object, old, "status", why))
        continue;
      world_.put(sample.resource, object);
      changed_ += json::to_text(object) + "\n";
      const json::Object* after =
          world_.get(sample.resource, json::get_string_or(fixed, "namespace"), json::get_string_or(fixed, "name"));
      for (const Controller& controller : all_)
        for (const controllers::Trigger& trigger : controller.triggers)
          if (trigger.resource == sample.resource)
            (void)trigger.keys({.happened = controllers::Happened::changed, .before = before, .after = after}, world_);
    }
  }

  // What a pass wants is what the server takes, and the world is as it is then.
  void carry_out(const Controller& controller, const TestPass& made) {
    for (const Effect& effect : made.pass.effects) {
      if (effect.verb == Verb::call) continue;
      if (effect.verb != Verb::create && !world_.get(effect.resource, effect.ns, effect.name)) continue;
      std::string why;
      if (effect.verb == Verb::create) {
        json::Value document(effect.document, json::StoragePtr());
        EXPECT_TRUE(shape(effect.resource, document, why)) << told(controller, effect) << why;
        // What a user's template is wrong about is refused, and the user is told.
        json::ensure_object(document.get_object(), "metadata")["uid"] = "u";
        if (resources::find_causes(document, nullptr, found(effect.resource), context(effect.resource, "")).empty())
          controllers::carry_out(world_, effect);
        continue;
      }
      const json::Value old(*world_.get(effect.resource, effect.ns, effect.name), json::StoragePtr());
      controllers::carry_out(world_, effect);
      const json::Object* stored = world_.get(effect.resource, effect.ns, effect.name);
      if (!stored || effect.verb == Verb::remove) continue;
      json::Value object(*stored, json::StoragePtr());
      const bool of_status = effect.verb == Verb::update_status || effect.verb == Verb::patch_status;
      EXPECT_TRUE(judge(effect.resource, object, old, of_status ? "status" : "", why))
          << told(controller, effect) << why;
    }
  }

  std::string told(const Controller& controller, const Effect& effect) const {
    return fmt::format("seed {}, controller {} writes {} {}: {}\nof\n{}", seed_, controller.name, effect.resource,
                       effect.name, json::to_text(effect.document), changed_);
  }

  void run_all() {
    for (const Controller& controller : all_) {
      std::vector<Key> keys;
      for (const json::Object* object : world_.list(controller.resource, "")) {
        const json::Object& metadata = *json::get_object(*object, "metadata");
        keys.push_back({.ns = std::string(json::get_string_or(metadata, "namespace")),
                        .name = std::string(json::get_string_or(metadata, "name"))});
      }
      for (const Key& key : keys) try {
          if (!world_.get(controller.resource, key.ns, key.name)) continue;
          const TestPass first = controllers::sync(controller, world_, key);
          carry_out(controller, first);
          if (!controller.finish || !world_.get(controller.resource, key.ns, key.name)) continue;
          carry_out(controller, controllers::finish(controller, world_, key, first));
        } catch (const std::exception& error) {
          ADD_FAILURE() << "seed " << seed_ << ", controller " << controller.name << " of " << key.ns << "/" << key.name
                        << ": " << error.what() << "\nof\n"
                        << changed_;
        }
    }
  }

  void run(std::uint64_t seed) {
    seed_ = seed;
    random_.seed(seed);
    changed_.clear();
    put_samples();
    if (HasFatalFailure()) return;
    mutate_some();
    run_all();
    run_all();
  }

  static std::vector<Controller> everybody() {
    std::vector<Controller> rows(controllers::all().begin(), controllers::all().end());
    for (Controller& row : simulated::controllers()) rows.push_back(row);
    return rows;
  }

  const std::vector<Controller> all_ = everybody();
  TestWorld world_;
  Random random_;
  std::uint64_t seed_ = 0;
  std::string changed_;
};

TEST_F(HostileObjects, EveryControllerGetsThrough) {
  if (const char* seed = std::getenv("VIRTGATE_SEED")) return run(std::strtoull(seed, nullptr, 10));
  const char* wanted = std::getenv("VIRTGATE_LONG");
  const std::uint64_t rounds = wanted && *wanted && std::string_view(wanted) != "0" ? 50'000 : 150;
  for (std::uint64_t seed = 1; seed <= rounds && !HasFailure(); ++seed) run(seed);
}

// A condition that a user wrote without its times.
TEST_F(HostileObjects, ConditionsWithoutTimes) {
  put_samples();
  for (const Sample& sample : samples) {
    auto parsed = json::Document::parse(sample.text);
    json::Value object(parsed->root(), json::StoragePtr());
    json::Value* status = json::find(object.get_object(), "status");
    json::Value* conditions = status ? json::find(status->get_object(), "conditions") : nullptr;
    if (!conditions) continue;
    for (json::Value& condition : conditions->get_array())
      for (const std::string_view member : {"lastTransitionTime", "lastHeartbeatTime", "lastProbeTime"})
        json::erase(condition.get_object(), member);
    std::string why;
    const json::Value old(object, json::StoragePtr());
    if (!judge(sample.resource, object, old, "status", why)) continue;
    world_.put(sample.resource, object);
    changed_ = json::to_text(object);
    run_all();
  }
}

}  // namespace
}  // namespace vg::simulated
