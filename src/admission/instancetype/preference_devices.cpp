#include <unordered_map>

#include "admission/defaults/edit.h"
#include "admission/instancetype/preference.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

// Rows 2 to 4, 7, 8 and 10
constexpr Preferred device_rows[] = {
    {"preferredUseVirtioTransitional", "useVirtioTransitional"},
    {"preferredBlockMultiQueue", "blockMultiQueue"},
    {"preferredNetworkInterfaceMultiQueue", "networkInterfaceMultiqueue"},
    {"preferredRng", "rng"},
    {"preferredTPM", "tpm"},
    {"preferredAutoattachGraphicsDevice", "autoattachGraphicsDevice"},
    {"preferredAutoattachMemBalloon", "autoattachMemBalloon"},
    {"preferredAutoattachPodInterface", "autoattachPodInterface"},
    {"preferredAutoattachSerialConsole", "autoattachSerialConsole"},
    {"preferredAutoattachInputDevice", "autoattachInputDevice"},
};
constexpr Preferred sound_rows[] = {{"preferredSoundModel", "model"}};
constexpr Preferred video_rows[] = {{"preferredVideoType", "type"}};
constexpr Preferred disk_bus[] = {{"preferredDiskBus", "bus"}};
constexpr Preferred cdrom_bus[] = {{"preferredCdromBus", "bus"}};
constexpr Preferred lun_bus[] = {{"preferredLunBus", "bus"}};
constexpr Preferred disk_rows[] = {
    {"preferredDiskBlockSize", "blockSize"}, {"preferredDiskCache", "cache"}, {"preferredDiskIO", "io"}};
constexpr Preferred io_thread_rows[] = {{"preferredDiskDedicatedIoThread", "dedicatedIOThread"}};
constexpr Preferred interface_rows[] = {{"preferredInterfaceModel", "model"}};
constexpr Preferred input_rows[] = {{"preferredInputBus", "bus"}, {"preferredInputType", "type"}};

// Row 5: the one that takes no notice of what the machine says (K24).
void prefer_hotplug(const Object& preferred, Object& devices) {
  if (const Value* off = json::find(preferred, "preferredDisableHotplug"))
    edit::set_copy(devices, "disableHotplug", *off);
}

// Rows 6 and 9: sound only for a machine that wants some.
void prefer_sound_and_video(const Object& preferred, Object& devices) {
  if (Object* sound = edit::child(&devices, "sound")) fill(preferred, *sound, sound_rows);
  if (edit::has(preferred, "preferredVideoType")) fill(preferred, json::ensure_object(devices, "video"), video_rows);
}

// Row 11
void prefer_disk(const Object& preferred, Object& disk) {
  if (!edit::has(disk, "disk") && !edit::has(disk, "cdrom") && !edit::has(disk, "lun")) disk["disk"].emplace_object();
  if (Object* target = edit::child(&disk, "disk")) {
    fill(preferred, *target, disk_bus);
    const bool is_virtio = json::get_string_or(*target, "bus") == "virtio";
    fill(preferred, disk, disk_rows);
    if (is_virtio) fill(preferred, disk, io_thread_rows);
  } else if (Object* cdrom = edit::child(&disk, "cdrom")) {
    fill(preferred, *cdrom, cdrom_bus);
  } else if (Object* lun = edit::child(&disk, "lun")) {
    fill(preferred, *lun, lun_bus);
  }
}

// By name, whether a network is the pod's; of several of one name the first counts.
std::unordered_map<string_view, bool> pod_networks(const Object& spec) {
  std::unordered_map<string_view, bool> found;
  edit::each(spec, "networks", [&](const Object& network) {
    found.emplace(json::get_string_or(network, "name"), edit::has(network, "pod"));
  });
  return found;
}

bool is_bound(const Object& interface) {
  constexpr string_view bindings[] = {"bridge",  "slirp", "masquerade",   "sriov",
                                      "macvtap", "passt", "passtBinding", "binding"};
  for (const string_view binding : bindings)
    if (edit::has(interface, binding)) return true;
  return false;
}

// Row 13
void prefer_masquerade(const Object& preferred, Object& spec, Object& devices) {
  const Value* masquerade = json::find(preferred, "preferredInterfaceMasquerade");
  if (!masquerade || !edit::has_items(devices, "interfaces")) return;
  const auto networks = pod_networks(spec);
  edit::each(devices, "interfaces", [&](Object& interface) {
    const auto network = networks.find(json::get_string_or(interface, "name"));
    if (network != networks.end() && network->second && !is_bound(interface))
      edit::set_copy(interface, "masquerade", *masquerade);
  });
}

// Row 15: an empty model counts as one.
void prefer_panic_device(const Object& preferred, Object& devices) {
  const auto model = json::get_string(preferred, "preferredPanicDeviceModel");
  if (!model) return;
  if (!edit::has_items(devices, "panicDevices"))
    return edit::set_text(edit::append_object(json::ensure_array(devices, "panicDevices")), "model", *model);
  edit::each(devices, "panicDevices", [&](Object& device) {
    if (!edit::has(device, "model")) edit::set_text(device, "model", *model);
  });
}

}  // namespace

void prefer_devices(const Object& preferred, Object& spec) {
  Object& devices = json::ensure_path(spec, {"domain", "devices"});
  fill(preferred, devices, device_rows);
  prefer_hotplug(preferred, devices);
  prefer_sound_and_video(preferred, devices);
  edit::each(devices, "disks", [&](Object& disk) { prefer_disk(preferred, disk); });
  edit::each(devices, "interfaces", [&](Object& interface) { fill(preferred, interface, interface_rows); });
  prefer_masquerade(preferred, spec, devices);
  edit::each(devices, "inputs", [&](Object& input) { fill(preferred, input, input_rows); });
  prefer_panic_device(preferred, devices);
}

}  // namespace vg::admission
