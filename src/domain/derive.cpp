#include "domain/derive.h"

#include <fmt/format.h>

#include <utility>

#include "domain/refusal.h"

namespace vg::domain {
namespace {

using kubevirt::PersistentVolumeClaimInfo;
using kubevirt::Volume;
using kubevirt::VolumeStatus;

constexpr std::int64_t mebibyte = 1024 * 1024;

// DOM-CTX-01
void derive_volume_states(const Vmi& vmi, DomainContext& context) {
  for (const VolumeStatus status : vmi.status.volume_status()) {
    const std::string name(status.name());
    if (status.hotplug_volume())
      context.hotplug_volumes.insert_or_assign(name, std::string(status.phase()));
    else
      context.permanent_volumes.insert(name);
    if (const auto claim = status.persistent_volume_claim_info()) {
      if (claim.preallocated()) context.discard_ignore.insert(name);
      if (claim.volume_mode() == "Block") {
        context.block_pvc.insert(name);
        context.block_dv.insert(name);
      }
    }
  }
}

// DOM-CTX-03
bool reports_free_pages(const Vmi& vmi, const Settings& settings) {
  const bool high_performance = vmi.dedicated_cpus() || vmi.dom.cpu().realtime() || vmi.dom.memory().hugepages();
  return !settings.free_page_reporting_disabled && vmi.dev.autoattach_mem_balloon().value_or(true) &&
         !vmi.is_true(annotation::free_page_reporting_disabled) && !high_performance;
}

// DOM-CTX-07
void derive_changed_block_tracking(const Vmi& vmi, DomainContext& context) {
  const auto state = vmi.status.changed_block_tracking().state();
  if (state != "Initializing" && state != "Enabled") return;
  for (const Volume volume : vmi.spec.volumes())
    if (volume.persistent_volume_claim() || volume.data_volume() || volume.host_disk())
      context.cbt.insert_or_assign(std::string(volume.name()),
                                   context.paths.at(Path::changed_blocks, {{"volume", volume.name()}}));
}

// DOM-CTX-08
void derive_attachments(const Vmi& vmi, const Settings& settings, DomainContext& context) {
  for (const kubevirt::Interface interface : vmi.dev.interfaces()) {
    const std::string name(interface.name());
    if (interface.masquerade() || interface.bridge()) {
      context.domain_attachment.insert_or_assign(name, "tap");
    } else if (interface.binding()) {
      const auto found = settings.plugin_attachments.find(interface.binding().name());
      if (found == settings.plugin_attachments.end() || found->second.empty()) continue;
      context.domain_attachment.insert_or_assign(name, found->second == "managedTap" ? "tap" : found->second);
    }
  }
}

// The places of spec domain 1.5 that depend on who runs the launcher.
void derive_paths(const Vmi& vmi, DomainContext& context) {
  if (vmi.status.runtime_user() == 0 && !vmi.has_annotation(annotation::nonroot)) return;
  context.paths.set(Path::nvram, "/var/run/kubevirt-private/libvirt/qemu/nvram/{name}_VARS.fd");
  context.paths.set(Path::changed_blocks, "/var/run/kubevirt-private/libvirt/qemu/cbt/{volume}.qcow2");
}

// The size of the disk that a claim has room for: what was asked for unless more than there is.
Result<void> check_room(std::string_view name, const PersistentVolumeClaimInfo& claim) {
  const auto amount = [](const api::Map<api::QuantityView>& amounts) -> std::optional<Quantity> {
    if (!amounts.contains("storage")) return std::nullopt;
    return amount_of(amounts["storage"]);
  };
  const auto capacity = amount(claim.capacity()), request = amount(claim.requests());
  const bool ask = request && (!capacity || *request < *capacity);
  const std::int64_t bytes = ask ? request->value() : capacity ? capacity->value() : 0;
  if (bytes >= mebibyte) return {};
  return refuse(
      "DOM-PRE-03", "status.volumeStatus",
      fmt::format("persistentVolumeClaimInfo of {} must have a capacity or request of 1Mi or more", in_quotes(name)));
}

// DOM-PRE-03: file-system claims that are no file system of the guest reach the launcher as host disks.
Result<void> derive_host_disks(const Vmi& vmi, DomainContext& context) {
  Names file_systems;
  for (const kubevirt::Filesystem one : vmi.dev.filesystems()) file_systems.emplace(one.name());
  ByName<PersistentVolumeClaimInfo> claims;
  for (const VolumeStatus status : vmi.status.volume_status())
    if (status.persistent_volume_claim_info())
      claims.insert_or_assign(std::string(status.name()), status.persistent_volume_claim_info());
  for (const Volume volume : vmi.spec.volumes()) {
    if (!volume.persistent_volume_claim() && !volume.data_volume()) continue;
    const auto claim = claims.find(volume.name());
    if (claim == claims.end() || claim->second.volume_mode() == "Block" || file_systems.contains(volume.name()) ||
        context.hotplug_volumes.contains(volume.name()))
      continue;
    if (auto room = check_room(volume.name(), claim->second); !room) return fail(std::move(room.error()));
    context.host_disks.emplace(volume.name());
  }
  return {};
}

}  // namespace

Result<DomainContext> derive(const Vmi& vmi, const Settings& settings) {
  DomainContext context;
  if (!vmi.spec.architecture().empty()) context.architecture = vmi.spec.architecture();
  derive_paths(vmi, context);
  derive_volume_states(vmi, context);
  if (auto done = derive_host_disks(vmi, context); !done) return fail(std::move(done.error()));
  context.free_page_reporting = reports_free_pages(vmi, settings);
  context.serial_log = vmi.dev.log_serial_console().value_or(!settings.serial_log_disabled);  // DOM-CTX-04
  context.virtio_transitional = vmi.dev.use_virtio_transitional().value_or(false);
  const auto security = vmi.dom.launch_security();  // DOM-CTX-05
  context.ls_sev = security.sev() || security.snp();
  context.ls_tdx = static_cast<bool>(security.tdx());
  context.ls_pv = security && vmi.spec.architecture() == "s390x";
  auto efi = select_firmware(vmi, context.architecture, settings);
  if (!efi) return fail(std::move(efi.error()));
  context.efi = std::move(*efi);
  for (const Volume volume : vmi.spec.volumes())
    if (volume.container_disk()) context.disk_info.insert_or_assign(std::string(volume.name()), "qcow2");
  derive_changed_block_tracking(vmi, context);
  derive_attachments(vmi, settings, context);
  return context;
}

}  // namespace vg::domain
