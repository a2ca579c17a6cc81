// Where the files and sockets of a guest are on this node (spec domain 1.5).
#include <fmt/format.h>

#include <array>

#include "launch/planned.h"

namespace vg::launch {
namespace {

enum class Base : std::uint8_t { guest, shared, sockets, state };
struct Place {
  Path path;
  Base base;
  std::string_view pattern;
};

// NVRAM is apart: its place depends on the VMI. Everything else that a run makes is below the guest's folder. A QEMU
// that was taken over writes there whatever the modes of files are, but not to what it shares with others.
constexpr std::array place_table = std::to_array<Place>({
    {Path::vnc, Base::sockets, "virt-vnc"},
    {Path::serial, Base::sockets, "virt-serial0"},
    {Path::serial_log, Base::guest, "virt-serial0-log"},
    {Path::usb_redirection, Base::sockets, "virt-usbredir-{index}"},
    {Path::claim_image, Base::guest, "volumes/{volume}/disk.img"},
    {Path::host_disk, Base::guest, "volumes/{volume}/{file}"},
    {Path::block_device, Base::guest, "volumes/{volume}/disk.img"},
    {Path::hotplug_image, Base::guest, "hotplug/{volume}.img"},
    {Path::hotplug_device, Base::guest, "hotplug/{volume}.img"},
    {Path::container_disk, Base::shared, "container-disks/disk_{index}.img"},
    {Path::kernel_boot, Base::shared, "kernel-boot/{file}"},
    {Path::overlay, Base::guest, "overlays/{volume}.qcow2"},
    {Path::empty_disk, Base::guest, "empty-disks/{volume}.qcow2"},
    {Path::cloud_init_no_cloud, Base::guest, "cloud-init/noCloud.iso"},
    {Path::cloud_init_config_drive, Base::guest, "cloud-init/configdrive.iso"},
    {Path::ignition, Base::guest, "ignition/data.ign"},
    {Path::config_map, Base::guest, "config-map-disks/{volume}.iso"},
    {Path::secret, Base::guest, "secret-disks/{volume}.iso"},
    {Path::downward_api, Base::guest, "downwardapi-disks/{volume}.iso"},
    {Path::sysprep, Base::guest, "sysprep-disks/{volume}.iso"},
    {Path::service_account, Base::guest, "service-account-disk/service-account.iso"},
    {Path::downward_metrics, Base::guest, "vhostmd0"},
    {Path::downward_metrics_channel, Base::sockets, "downwardmetrics.sock"},
    {Path::acpi_table, Base::guest, "secret/{volume}/{file}"},
    {Path::changed_blocks, Base::state, "cbt/{volume}.qcow2"},
    {Path::virtiofs, Base::sockets, "{volume}.sock"},
    {Path::reservations, Base::sockets, "pr-helper.sock"},
    {Path::passt_log, Base::guest, "passt.log"},
    {Path::firmware_log, Base::guest, "firmware.log"},
});

std::string base_of(const Folders& folders, const domain::Vmi& vmi, Base base) {
  if (base == Base::state) return state_folder(folders, vmi);
  if (base == Base::shared) return folders.shared;
  return base == Base::guest ? folders.guest : folders.sockets;
}

// RUN-TPM-01
bool keeps_variables(const domain::Vmi& vmi) {
  return vmi.dom.firmware().bootloader().efi().persistent().value_or(false);
}

}  // namespace

// RUN-TPM-01, VMI-U07: a claim of its own keeps what outlives a run, on whichever node the next one is.
std::string state_folder(const Folders& folders, const domain::Vmi& vmi) {
  const std::string_view ns = vmi.metadata.namespace_();
  for (const domain::kubevirt::VolumeStatus status : vmi.status.volume_status()) {
    const std::string_view claim = status.persistent_volume_claim_info().claim_name();
    if (status.name() == "persistent-state-for-this-vm" && domain::is_file_name(claim) && domain::is_file_name(ns))
      return fmt::format("{}/{}/{}", folders.disks, ns, claim);
  }
  return fmt::format("{}/state", folders.guest);
}

std::vector<std::string> state_base(const Folders& folders, const domain::Vmi& vmi) {
  std::string folder = state_folder(folders, vmi);
  if (!folder.starts_with(folders.disks + "/")) return {};
  return {std::move(folder)};
}

domain::Paths places_of(const Folders& folders, const domain::Vmi& vmi) {
  domain::Paths paths;
  for (const Place& place : place_table)
    paths.set(place.path, fmt::format("{}/{}", base_of(folders, vmi, place.base), place.pattern));
  paths.set(Path::nvram, fmt::format("{}/nvram/{{name}}_VARS.fd",
                                     base_of(folders, vmi, keeps_variables(vmi) ? Base::state : Base::guest)));
  return paths;
}

void put_paths(const Wanted& wanted, domain::DomainContext& context) {
  context.paths = places_of(wanted.folders, domain::Vmi(wanted.vmi));
  for (const ContainerImage& image : wanted.images)
    if (!image.volume.empty()) context.disk_info.insert_or_assign(image.volume, image.format);
  for (auto& [volume, overlay] : context.cbt) overlay = context.paths.at(Path::changed_blocks, {{"volume", volume}});
  // Claims are image files on this machine, whatever their mode.
  context.block_pvc.clear();
  context.block_dv.clear();
  // QEMU writes the log itself and without a bound: a guest could fill the disk by it.
  context.serial_log = false;
}

}  // namespace vg::launch
