#include "controllers/exports/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/controller_limits.h"
#include "controllers/common/owners.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::exports {
namespace {

constexpr string_view content_annotation = "cdi.kubevirt.io/storage.contentType";

bool used_by_vmi(const World& world, string_view ns, string_view claim) {
  return std::ranges::any_of(world.vmis_with_claim(ns, claim),
                             [&](const std::string& vmi) { return is_running(world, ns, vmi); });
}

bool has_annotation(const Object& object, string_view name) {
  const Object* annotations = vm::at(&object, {"metadata", "annotations"});
  return annotations && json::find(*annotations, name);
}

const Object* filling_data_volume(const World& world, const Object& claim) {
  const Object* owner = controller_reference(claim);
  if (!owner || json::get_string_or(*owner, "kind") != "DataVolume") return nullptr;
  return world.get(kinds::data_volume, metadata_text(claim, "namespace"), json::get_string_or(*owner, "name"));
}

// --- claims ----------------------------------------------------------------------------------------------------------

ExtraCondition claim_condition(const Object& claim) {  // EXP-13
  const string_view phase = claim_phase(claim);
  if (phase == "Bound") return {.type = "PVCReady", .value = true, .reason = "PVCBound"};
  return {.type = "PVCReady", .reason = phase == "Lost" ? "Unknown" : "PVCPending"};
}

ExportSource claim_source(const World& world, string_view ns, string_view name) {
  const Object* claim = world.get(kinds::claim, ns, name);
  if (!claim)  // EXP-10
    return {.reason = "Initializing",
            .message = fmt::format("PVC {} does not exist", name),
            .extra = ExtraCondition{.type = "PVCReady", .reason = "PVCNotFound"}};
  ExportSource source{.has_content = true, .extra = claim_condition(*claim)};
  source.volumes.push_back({.name = std::string(name), .is_disk = holds_image(world, *claim)});
  if (!is_populated(world, *claim) || claim_phase(*claim) != "Bound") {  // EXP-11
    source.reason = "PVCPending";
    source.message = fmt::format("PVC {} is not filled yet", name);
    source.looks_again = true;
  } else if (used_by_vmi(world, ns, name) || !world.disks().hold(ns, name).writer.empty()) {  // EXP-12
    source.reason = "InUse";
    source.message = fmt::format("PVC {} is in use", name);
    source.looks_again = true;
  } else {
    source.available = true;
  }
  return source;
}

// --- VMs -------------------------------------------------------------------------------------------------------------

struct VmClaims {
  bool any = false;      // named
  bool waiting = false;  // not there yet, or not filled
  std::vector<ExportedVolume> found = {};
};

VmClaims claims_of_vm(const World& world, string_view ns, const Object& vm) {
  VmClaims claims;
  for (const SourceVolume& volume : volumes_of(world, ns, vm).all) {
    if (!volume.is_claim()) continue;
    claims.any = true;
    const Object* claim = world.get(kinds::claim, ns, volume.claim);
    if (!claim) {
      claims.waiting = claims.waiting || (volume.volume && json::get_object(*volume.volume, "dataVolume"));
      continue;
    }
    claims.waiting = claims.waiting || !is_populated(world, *claim) || claim_phase(*claim) != "Bound";
    claims.found.push_back({.name = std::string(volume.claim), .is_disk = holds_image(world, *claim)});
  }
  return claims;
}

ExportSource vm_source(const World& world, string_view ns, string_view name) {
  const Object* vm = world.get(kinds::vm, ns, name);
  if (!vm)  // EXP-20
    return {.skipped = true, .reason = "VMNotFound", .message = fmt::format("VM {} does not exist", name)};
  ExportSource source{.vm = std::string(name), .has_manifests = true};
  VmClaims claims = claims_of_vm(world, ns, *vm);
  if (!claims.any) {  // EXP-21
    source.available = source.skipped = true;
    source.reason = "VMNoVolumes";
    source.message = fmt::format("VM {} has no volume that could be exported", name);
    return source;
  }
  source.has_content = true;
  if (claims.waiting || claims.found.empty()) {  // EXP-22, spec copies Q-24
    source.reason = "VolumesNotPopulated";
    source.message = fmt::format("not all volumes of VM {} are filled", name);
    source.looks_again = true;
  } else if (is_running(world, ns, name)) {  // EXP-23
    source.reason = "InUse";
    source.message = fmt::format("VM {} is running", name);
  } else if (std::ranges::any_of(claims.found,
                                 [&](const ExportedVolume& volume) { return is_busy(world, ns, volume.name, name); })) {
    source.reason = "InUse";
    source.message = fmt::format("a volume of VM {} is in use", name);
    source.looks_again = true;
  } else {  // EXP-24
    source.available = true;
  }
  source.volumes = std::move(claims.found);
  return source;
}

// --- snapshots -------------------------------------------------------------------------------------------------------

bool is_disk_of_vm(const Object* vm, string_view volume) {
  const Object* found = vm ? vm::named(vm::volumes_of(vm::template_spec_of(*vm)), volume) : nullptr;
  return found && !json::get_object(*found, "memoryDump");
}

std::vector<ExportedVolume> volumes_in(const Object& content) {
  std::vector<ExportedVolume> volumes;
  const Object* vm = vm::at(&content, {"spec", "source", "virtualMachine"});
  vm::each(json::get_array(*vm::spec_of(content), "volumeBackups"), [&](const Object& backup) {
    const Object* claim = json::get_object(backup, "persistentVolumeClaim");
    if (!claim || json::text_in(&backup, "volumeSnapshotName").empty() ||
        volumes.size() == limits::snapshot_volumes_max)
      return;
    volumes.push_back({.name = std::string(metadata_text(*claim, "name")),
                       .is_disk = is_disk_of_vm(vm, json::get_string_or(backup, "volumeName"))});
  });
  return volumes;
}

// EXP-85: the records are served as they are, so that no claims are made of them.
ExportSource snapshot_source(const World& world, string_view ns, string_view name) {
  const auto missing = [](string_view reason) { return ExtraCondition{.type = "VolumesCreated", .reason = reason}; };
  const Object* snapshot = world.get(kinds::snapshot, ns, name);
  if (!snapshot)  // EXP-30
    return {.skipped = true,
            .reason = "VMSnapshotNotFound",
            .message = fmt::format("VirtualMachineSnapshot {} does not exist", name),
            .extra = missing("VMSnapshotNoVolumes")};
  const Object* status = vm::status_of(*snapshot);
  if (!status || !json::get_bool_or(*status, "readyToUse", false))  // EXP-31
    return {.reason = "NotAllPVCsCreated",
            .message = fmt::format("VirtualMachineSnapshot {} is not ready to use", name),
            .extra = missing("NotAllPVCsCreated")};
  const Object* content =
      world.get(kinds::snapshot_content, ns, json::text_in(status, "virtualMachineSnapshotContentName"));
  ExportSource source{.vm = std::string(json::text_in(vm::at(snapshot, {"spec", "source"}), "name")),
                      .has_manifests = true};
  if (content && vm::spec_of(*content)) source.volumes = volumes_in(*content);
  if (source.volumes.empty()) {  // EXP-32
    source.skipped = true;
    source.reason = "VMSnapshotNoVolumes";
    source.message = fmt::format("VirtualMachineSnapshot {} holds no volumes", name);
    source.extra = missing("VMSnapshotNoVolumes");
    return source;
  }
  source.available = source.has_content = true;
  source.extra = ExtraCondition{.type = "VolumesCreated", .value = true, .reason = "AllPVCsReady"};
  return source;
}

struct Kind {
  string_view kind, group;
  ExportSource (*read)(const World& world, string_view ns, string_view name);
};
constexpr std::array<Kind, 3> kinds_of_sources{{{"PersistentVolumeClaim", "", claim_source},
                                                {"VirtualMachine", "kubevirt.io", vm_source},
                                                {"VirtualMachineSnapshot", "snapshot.kubevirt.io", snapshot_source}}};

}  // namespace

bool holds_image(const World& world, const Object& claim) {
  const Object* spec = vm::spec_of(claim);
  if (json::text_in(spec, "volumeMode") == "Block") return true;
  const string_view type = annotation_of(claim, content_annotation);
  if (has_annotation(claim, content_annotation)) return type.empty() || type == "kubevirt";
  const Object* data_volume = filling_data_volume(world, claim);
  if (!data_volume) return false;
  const string_view filled = json::text_in(vm::spec_of(*data_volume), "contentType");
  return filled.empty() || filled == "kubevirt";
}

bool is_of_backup(const Object& exported) {
  const Object* source = vm::at(&exported, {"spec", "source"});
  return json::text_in(source, "kind") == "VirtualMachineBackup" &&
         json::text_in(source, "apiGroup") == "backup.kubevirt.io";
}

std::optional<ExportSource> read_source(const World& world, const Object& exported) {
  const Object* source = vm::at(&exported, {"spec", "source"});
  for (const Kind& one : kinds_of_sources)
    if (json::text_in(source, "kind") == one.kind && json::text_in(source, "apiGroup") == one.group)
      return one.read(world, metadata_text(exported, "namespace"), json::text_in(source, "name"));
  return std::nullopt;
}

}  // namespace vg::controllers::exports
