#include "domain/paths.h"

#include <algorithm>

namespace vg::domain {
namespace {

struct Row {
  Path path;
  std::string_view pattern;
};

constexpr std::array path_table = std::to_array<Row>({
    {Path::vnc, "/var/run/kubevirt-private/{uid}/virt-vnc"},
    {Path::serial, "/var/run/kubevirt-private/{uid}/virt-serial0"},
    {Path::serial_log, "/var/run/kubevirt-private/{uid}/virt-serial0-log"},
    {Path::usb_redirection, "/var/run/kubevirt-private/{uid}/virt-usbredir-{index}"},
    {Path::claim_image, "/var/run/kubevirt-private/vmi-disks/{volume}/disk.img"},
    {Path::host_disk, "/var/run/kubevirt-private/vmi-disks/{volume}/{file}"},
    {Path::block_device, "/dev/{volume}"},
    {Path::hotplug_image, "/var/run/kubevirt/hotplug-disks/{volume}.img"},
    {Path::hotplug_device, "/var/run/kubevirt/hotplug-disks/{volume}"},
    {Path::container_disk, "/var/run/kubevirt/container-disks/disk_{index}.img"},
    {Path::kernel_boot, "/var/run/kubevirt/container-disks/kernel-boot/{file}"},
    {Path::overlay, "/var/run/kubevirt-ephemeral-disks/disk-data/{volume}/disk.qcow2"},
    {Path::empty_disk, "/var/run/libvirt/empty-disks/{volume}.qcow2"},
    {Path::cloud_init_no_cloud, "/var/run/kubevirt-ephemeral-disks/cloud-init-data/{namespace}/{name}/noCloud.iso"},
    {Path::cloud_init_config_drive,
     "/var/run/kubevirt-ephemeral-disks/cloud-init-data/{namespace}/{name}/configdrive.iso"},
    {Path::ignition, "/var/run/kubevirt-ephemeral-disks/ignition-data/{namespace}/{name}/data.ign"},
    {Path::config_map, "/var/run/kubevirt-private/config-map-disks/{volume}.iso"},
    {Path::secret, "/var/run/kubevirt-private/secret-disks/{volume}.iso"},
    {Path::downward_api, "/var/run/kubevirt-private/downwardapi-disks/{volume}.iso"},
    {Path::sysprep, "/var/run/kubevirt-private/sysprep-disks/{volume}.iso"},
    {Path::service_account, "/var/run/kubevirt-private/service-account-disk/service-account.iso"},
    {Path::downward_metrics, "/var/run/kubevirt-private/downwardapi-disks/vhostmd0"},
    {Path::downward_metrics_channel, "/var/run/kubevirt-private/downwardmetrics-channel/downwardmetrics.sock"},
    {Path::acpi_table, "/var/run/kubevirt-private/secret/{volume}/{file}"},
    {Path::nvram, "/var/lib/libvirt/qemu/nvram/{name}_VARS.fd"},
    {Path::changed_blocks, "/var/lib/libvirt/qemu/cbt/{volume}.qcow2"},
    {Path::virtiofs, "/var/run/kubevirt/virtiofs-containers/{volume}.sock"},
    {Path::reservations, "/var/run/kubevirt/daemons/pr/pr-helper.sock"},
    {Path::passt_log, "/var/run/kubevirt/passt.log"},
    {Path::firmware_log, "/var/run/kubevirt-private/QEMUSeaBiosDebugPipe"},
    {Path::random, "/dev/urandom"},
});

constexpr bool is_complete() {
  for (std::size_t at = 0; at < path_table.size(); ++at)
    if (path_table[at].path != static_cast<Path>(at)) return false;
  return path_table.size() == static_cast<std::size_t>(Path::count);
}
static_assert(is_complete());

}  // namespace

Paths::Paths() {
  for (const Row& row : path_table) set(row.path, std::string(row.pattern));
}

std::string Paths::at(Path path, PathWords words) const {
  std::string_view rest = patterns_[static_cast<std::size_t>(path)];
  std::string out;
  while (!rest.empty()) {
    const auto open = rest.find('{'), close = rest.find('}', open == rest.npos ? 0 : open);
    if (open == rest.npos || close == rest.npos) break;
    out += rest.substr(0, open);
    const auto word = rest.substr(open + 1, close - open - 1);
    const auto* found = std::ranges::find(words, word, [](const auto& pair) { return pair.first; });
    if (found != words.end()) out += found->second;
    rest.remove_prefix(close + 1);
  }
  return out += rest;
}

bool is_file_name(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && !text.contains('/') && !text.contains('\0');
}

std::string_view base_name(std::string_view path) {
  if (path.empty()) return ".";
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  return slash == path.npos || path.size() == 1 ? path : path.substr(slash + 1);
}

}  // namespace vg::domain
