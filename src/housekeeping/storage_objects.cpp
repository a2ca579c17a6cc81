#include "housekeeping/storage_objects.h"

#include <utility>

#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"
#include "objects/own_writes.h"

namespace vg::resources {
namespace {

constexpr std::string_view classes_key = "storage.k8s.io/storageclasses";
constexpr std::string_view profiles_key = "cdi.kubevirt.io/storageprofiles";
constexpr std::string_view configs_key = "cdi.kubevirt.io/cdiconfigs";
constexpr std::string_view local_class = "local", config_name = "config", provisioner = "virtgate.io/local";

json::Object storage_class(const StorageFacts& facts) {
  json::Object annotations;
  if (facts.is_default)
    annotations = {{"storageclass.kubernetes.io/is-default-class", "true"},
                   {"storageclass.kubevirt.io/is-default-virt-class", "true"}};
  return {{"metadata", json::Object{{"annotations", std::move(annotations)}}},
          {"provisioner", provisioner},
          {"reclaimPolicy", "Delete"},
          {"volumeBindingMode", "Immediate"},
          {"allowVolumeExpansion", true}};
}

json::Object profile(std::string_view now) {
  json::Object recognized{{"type", "Recognized"},
                          {"status", "True"},
                          {"lastHeartbeatTime", now},
                          {"lastTransitionTime", now},
                          {"message", "Provisioner is recognized"},
                          {"reason", "RecognizedProvisioner"}};
  json::Object set{{"accessModes", json::Array{"ReadWriteOnce"}}, {"volumeMode", "Filesystem"}};
  return {{"spec", json::Object()},
          {"status", json::Object{{"storageClass", local_class},
                                  {"provisioner", provisioner},
                                  {"claimPropertySets", json::Array{std::move(set)}},
                                  {"cloneStrategy", "copy"},
                                  {"dataImportCronSourceFormat", "pvc"},
                                  {"conditions", json::Array{std::move(recognized)}}}}};
}

json::Object config_status(const StorageFacts& facts) {
  return {{"uploadProxyURL", facts.upload_url},
          {"uploadProxyCA", facts.upload_authority},
          {"scratchSpaceStorageClass", local_class},
          {"defaultPodResourceRequirements", json::Object()},
          {"preallocation", false},
          {"filesystemOverhead", json::Object{{"global", "0"}, {"storageClass", json::Object{{local_class, "0"}}}}}};
}

}  // namespace

void plan_storage_objects(PlannedWrites& planner, const StorageFacts& facts) {
  const auto current = planner.store().get(configs_key, "", config_name);
  if (!current) {
    if (!planner.store().get(classes_key, "", local_class))
      planner.create(classes_key, "", local_class, storage_class(facts), own_writers::virt_operator);
    if (!planner.store().get(profiles_key, "", local_class))
      planner.create(profiles_key, "", local_class, profile(planner.now()), own_writers::virt_operator,
                     own_writers::virt_operator);
    planner.create(configs_key, "", config_name, {{"spec", json::Object()}, {"status", config_status(facts)}},
                   own_writers::virt_operator, own_writers::virt_operator);
    return;
  }
  json::Document memory;
  json::Value object = load_object(*current, memory.storage());
  json::Object& status = json::ensure_object(object.get_object(), "status");
  bool changed = false;
  for (const std::string_view member : {"uploadProxyURL", "uploadProxyCA"}) {
    const std::string& wanted = member == "uploadProxyURL" ? facts.upload_url : facts.upload_authority;
    if (json::get_string_or(status, member) == wanted) continue;
    status[member] = wanted;
    changed = true;
  }
  if (changed) planner.update(*current, std::move(object), own_writers::virt_operator);
}

}  // namespace vg::resources
