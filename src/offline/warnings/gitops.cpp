// Manifests that are kept in a repository and applied again and again: fields that the cluster changes, or that must
// not be the same in two objects.
#include <array>
#include <set>

#include "offline/warnings/look.h"
#include "offline/warnings/tables.h"

namespace vg::offline {
namespace {

// Marks of programs that put an object back to what its repository says.
constexpr std::array<std::string_view, 4> sync_marks{"argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/",
                                                     "helm.toolkit.fluxcd.io/", "fleet.cattle.io/"};

bool is_synced(const Manifest& manifest) {
  for (const std::string_view place : {"metadata.labels", "metadata.annotations"}) {
    const json::Object* marks = json::as_object(at_path(manifest.object, place));
    for (std::size_t i = 0; marks && i < sync_marks.size(); ++i)
      if (std::ranges::any_of(
              *marks, [&](const auto& mark) { return std::string_view(mark.key()).starts_with(sync_marks[i]); }))
        return true;
  }
  return false;
}

// virtctl start and stop write the run strategy of such VMs (spec vm-controller 17).
void look_at_run_strategy(const Manifest& manifest, Remarks& found) {
  if (manifest.kind != "VirtualMachine" || !is_synced(manifest)) return;
  const std::string_view strategy = json::as_string(at_path(manifest.object, "spec.runStrategy")).value_or("");
  if (strategy == "Always" || strategy == "Halted" || strategy == "Once")
    found.push_back({.field = "spec.runStrategy",
                     .message = fmt::format("virtctl start and stop change {}, and the next sync changes it back: the "
                                            "VM stops or starts when nobody expects it",
                                            strategy)});
}

template <class F>
void for_each_matcher(const Manifest& manifest, F&& f) {
  const json::Object* spec = vm_spec(manifest);
  const std::string_view above = manifest.kind == "VirtualMachinePool" ? "spec.virtualMachineTemplate.spec" : "spec";
  for (const std::string_view name : {"instancetype", "preference"})
    if (const json::Object* matcher = spec ? json::get_object(*spec, name) : nullptr)
      f(*matcher, fmt::format("{}.{}", above, name));
}

// The server replaces it by what it found (spec vm-instancetype 2.4).
void look_at_inference(const Manifest& manifest, Remarks& found) {
  for_each_matcher(manifest, [&](const json::Object& matcher, const std::string& path) {
    if (!json::get_string_or(matcher, "inferFromVolume").empty())
      found.push_back({.field = path + ".inferFromVolume",
                       .message = "the server puts a name in its place, so the VM never looks like its manifest"});
  });
}

void look_at_revisions(const Manifest& manifest, Remarks& found) {
  for_each_matcher(manifest, [&](const json::Object& matcher, const std::string& path) {
    if (!json::get_string_or(matcher, "revisionName").empty())
      found.push_back(
          {.field = path + ".revisionName", .message = "the revision was made in one cluster and is in no other one"});
  });
}

bool says_something(const json::Value* value) {
  if (!value || value->is_null()) return false;
  const json::Object* object = value->if_object();
  const json::Array* list = value->if_array();
  const json::String* text = value->if_string();
  return !(object && object->empty()) && !(list && list->empty()) && !(text && text->empty());
}

// Nobody writes these by hand: the manifest was read from a cluster.
void look_at_server_fields(const Manifest& manifest, Remarks& found) {
  for (const std::string_view path : {"metadata.uid", "metadata.creationTimestamp", "metadata.generation",
                                      "metadata.managedFields", "metadata.selfLink", "status"})
    if (says_something(at_path(manifest.object, path)))
      found.push_back({.field = std::string(path), .message = "the server sets it; what a manifest says is dropped"});
}

void look_at_generated_names(const Manifest& manifest, Remarks& found) {
  if (manifest.kind != "VirtualMachine" && !makes_many(manifest)) return;
  const json::Object* metadata = json::get_object(manifest.object, "metadata");
  if (metadata && json::get_string_or(*metadata, "name").empty() && json::get_string(*metadata, "generateName"))
    found.push_back({.field = "metadata.generateName",
                     .message = "every time the manifest is created there is one more; kubectl apply refuses it"});
}

void look_at_shared_identity(const Manifest& manifest, Remarks& found) {
  if (!makes_many(manifest)) return;
  for (const std::string_view path : {"domain.firmware.uuid", "domain.firmware.serial"})
    if (says_something(find_in(manifest.machine, path)))
      tell(found, manifest.machine, path, "all that are made of this template have the same");
  for_each_item(manifest.machine, interfaces, [&](const ListItem& item) {
    if (says_something(json::find(item.object, "macAddress")))
      found.push_back(
          {.field = item.field("macAddress"), .message = "all that are made of this template have the same address"});
  });
}

// Names of the disks that several guests may use at once.
std::set<std::string_view> shareable_disks(const MachineIn& machine) {
  std::set<std::string_view> names;
  for_each_item(machine, disks, [&](const ListItem& disk) {
    const json::Object* device = json::get_object(disk.object, "disk");
    const bool read_only = device && json::get_bool_or(*device, "readonly", false);
    if (json::get_bool_or(disk.object, "shareable", false) || read_only || json::get_object(disk.object, "cdrom"))
      names.insert(json::get_string_or(disk.object, "name"));
  });
  for_each_item(machine, "domain.devices.filesystems",
                [&](const ListItem& shared) { names.insert(json::get_string_or(shared.object, "name")); });
  return names;
}

// A pool gives each VM its own copy of what its template makes; anything else is one for all.
void look_at_shared_claims(const Manifest& manifest, Remarks& found) {
  if (!makes_many(manifest)) return;
  const std::set<std::string_view> shareable = shareable_disks(manifest.machine);
  const auto made_for_each = volume_templates(manifest);
  for_each_item(manifest.machine, volumes, [&](const ListItem& volume) {
    if (shareable.contains(json::get_string_or(volume.object, "name"))) return;
    const json::Object* claim = json::get_object(volume.object, "persistentVolumeClaim");
    const json::Object* data = json::get_object(volume.object, "dataVolume");
    const bool own = data && made_for_each.contains(json::get_string_or(*data, "name"));
    if ((claim && !json::get_bool_or(*claim, "readOnly", false)) || (data && !own))
      found.push_back({.field = volume.field(claim ? "persistentVolumeClaim" : "dataVolume"),
                       .message = "all that are made of this template write to the same disk"});
  });
}

constexpr std::array gitops_table = std::to_array<Warning>({
    {.id = "WISE-19",
     .title = "A VM that is kept in sync with a repository should have a run strategy that nobody changes",
     .field = "spec.runStrategy",
     .why = "virtctl start and stop write Always and Halted into the VM. A program that puts objects back to what the "
            "repository says then starts or stops it.",
     .advice = "Use Manual or RerunOnFailure, which virtctl leaves alone, or have the program ignore spec.runStrategy.",
     .good = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo","annotations":{
       "argocd.argoproj.io/sync-wave":"1"}},"spec":{"runStrategy":"RerunOnFailure","template":{"spec":{"domain":{
       "devices":{},"memory":{"guest":"1Gi"}}}}}})",
     .bad = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo","annotations":{
       "argocd.argoproj.io/sync-wave":"1"}},"spec":{"runStrategy":"Always","template":{"spec":{"domain":{
       "devices":{},"memory":{"guest":"1Gi"}}}}}})",
     .look = look_at_run_strategy},
    {.id = "WISE-20",
     .title = "Instance type and preference should be named",
     .field = "spec.instancetype.inferFromVolume",
     .why =
         "What is inferred from a volume is written into the VM in place of inferFromVolume. Whoever compares the VM "
         "with its manifest sees a difference for ever.",
     .advice = "Write name and kind, which are the labels instancetype.kubevirt.io/default-instancetype and "
               "default-preference of the volume's source.",
     .good = vm_with<R"({"runStrategy":"Always","instancetype":{"name":"u1.small"},"template":{"spec":{
       "domain":{"devices":{}},"volumes":[{"name":"root","dataVolume":{"name":"root"}}]}}})">,
     .bad = vm_with<R"({"runStrategy":"Always","instancetype":{"inferFromVolume":"root"},"template":{"spec":{
       "domain":{"devices":{}},"volumes":[{"name":"root","dataVolume":{"name":"root"}}]}}})">,
     .look = look_at_inference},
    {.id = "WISE-21",
     .title = "A manifest should not name revisions of instance types and preferences",
     .field = "spec.instancetype.revisionName",
     .why = "A ControllerRevision is made by the cluster when a VM first uses an instance type. In another cluster, or "
            "after a restore, its name leads nowhere and the VM does not start.",
     .advice = "Leave it out: the VM keeps the revision that it found when it was first started.",
     .good = vm_with<R"({"runStrategy":"Always","instancetype":{"name":"u1.small"},"template":{"spec":{
       "domain":{"devices":{}}}}})">,
     .bad = vm_with<R"({"runStrategy":"Always","instancetype":{"name":"u1.small","revisionName":"demo-u1.small-1"},
       "template":{"spec":{"domain":{"devices":{}}}}})">,
     .look = look_at_revisions},
    {.id = "WISE-22",
     .title = "What the server sets does not belong into a manifest",
     .field = "metadata.uid",
     .why = "The server drops it. Left in, it hides what was meant, and shows as a difference to the cluster for ever.",
     .advice = "Remove it. kubectl get -o yaml prints these fields; virtgate render shows what the server adds.",
     .good = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"demo"},"data":{"a":"b"}})",
     .bad = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"demo",
       "uid":"5a0c3f3e-0b3c-4f0e-8a43-4d0f6d1b7f11"},"data":{"a":"b"}})",
     .look = look_at_server_fields},
    {.id = "WISE-23",
     .title = "A VM in a manifest should have a name",
     .field = "metadata.generateName",
     .why = "With generateName the server invents a name at every create, so nothing can find the object again to "
            "change it.",
     .advice = "Use metadata.name.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"generateName":"demo-"},"spec":{
       "runStrategy":"Always","template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}}})",
     .look = look_at_generated_names},
    {.id = "WISE-24",
     .title = "What must be unique does not belong into a template of many",
     .field = "spec.template.spec.domain.devices.interfaces[].macAddress",
     .why = "All VMs of a pool, and all VMIs of a replica set, get it: two MAC addresses on one network, or two guests "
            "with one "
            "UUID, break each other.",
     .advice = "Leave it out, so that each gets its own.",
     .good = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceReplicaSet","metadata":{"name":"demo"},
       "spec":{"replicas":2,"selector":{"matchLabels":{"app":"demo"}},"template":{"metadata":{"labels":{"app":"demo"}},
       "spec":{"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{}}]},"memory":{"guest":"1Gi"}},
       "networks":[{"name":"default","pod":{}}]}}}})",
     .bad = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceReplicaSet","metadata":{"name":"demo"},
       "spec":{"replicas":2,"selector":{"matchLabels":{"app":"demo"}},"template":{"metadata":{"labels":{"app":"demo"}},
       "spec":{"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{},"macAddress":"02:00:00:00:00:01"}]},
       "memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}]}}}})",
     .look = look_at_shared_identity},
    {.id = "WISE-25",
     .title = "VMs of one template should not write to one disk",
     .field = "spec.template.spec.volumes[].persistentVolumeClaim",
     .why = "File systems are not made for two writers that do not know of each other: the disk is damaged soon.",
     .advice = "Use dataVolumeTemplates of a pool, which make a volume for each VM; a container disk; or an ephemeral "
               "volume over the claim.",
     .good = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceReplicaSet","metadata":{"name":"demo"},
       "spec":{"replicas":2,"selector":{"matchLabels":{"app":"demo"}},"template":{"metadata":{"labels":{"app":"demo"}},
       "spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[{"name":"root",
       "ephemeral":{"persistentVolumeClaim":{"claimName":"root"}}}]}}}})",
     .bad = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceReplicaSet","metadata":{"name":"demo"},
       "spec":{"replicas":2,"selector":{"matchLabels":{"app":"demo"}},"template":{"metadata":{"labels":{"app":"demo"}},
       "spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[{"name":"root",
       "persistentVolumeClaim":{"claimName":"root"}}]}}}})",
     .look = look_at_shared_claims},
});

}  // namespace

std::span<const Warning> gitops_warnings() { return gitops_table; }

}  // namespace vg::offline
