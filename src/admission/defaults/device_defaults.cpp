// Disks, inputs, displays, watchdogs, and what depends on the architecture (spec work-objects 1.3: D17, D18, D27 to
// D29, D31).
#include <array>

#include "admission/defaults/edit.h"
#include "admission/defaults/vmi_defaults.h"

namespace vg::admission {
namespace {

using json::Object;
using std::string_view;

constexpr std::array disk_targets = {string_view("disk"), string_view("cdrom"), string_view("lun")};

void default_buses(VmiTarget& target, string_view bus) {
  edit::each(target.devices(), "disks", [&](Object& disk) {
    for (const string_view kind : disk_targets)
      if (Object* device = edit::child(&disk, kind)) edit::set_text_if_empty(*device, "bus", bus);
  });
}

// The architecture's own kind of watchdog, even beside one of another kind: a rule refuses that later.
void default_watchdog(VmiTarget& target, string_view kind) {
  Object* watchdog = edit::child(&target.devices(), "watchdog");
  if (watchdog) edit::set_text_if_empty(json::ensure_object(*watchdog, kind), "action", "reset");
}

// There is no other firmware than EFI. A bootloader without it is left to the rules (K25).
void default_arm64_firmware(VmiTarget& target) {
  Object& firmware = json::ensure_object(target.domain(), "firmware");
  if (!edit::has(firmware, "bootloader")) json::ensure_path(firmware, {"bootloader", "efi"});
  if (Object* efi = edit::descend(firmware, {"bootloader", "efi"})) edit::set_flag_if_unset(*efi, "secureBoot", false);
}

void default_for_arm64(VmiTarget& target) {
  edit::set_text_if_empty(json::ensure_object(target.domain(), "cpu"), "model", "host-passthrough");
  default_arm64_firmware(target);
  default_buses(target, "virtio");
}

void default_for_s390x(VmiTarget& target) {
  default_buses(target, "virtio");
  default_watchdog(target, "diag288");
}

void default_for_amd64(VmiTarget& target) {
  default_buses(target, "sata");
  default_watchdog(target, "i6300esb");
}

}  // namespace

// D17
void default_disk_targets(VmiTarget& target) {
  edit::each(target.devices(), "disks", [](Object& disk) {
    for (const string_view kind : disk_targets)
      if (edit::has(disk, kind)) return;
    disk["disk"].emplace_object();
  });
}

// D18
void default_inputs(VmiTarget& target) {
  edit::each(target.devices(), "inputs", [](Object& input) {
    edit::set_text_if_empty(input, "bus", "usb");
    edit::set_text_if_empty(input, "type", "tablet");
  });
}

// D27
void default_cdroms(VmiTarget& target) {
  edit::each(target.devices(), "disks", [](Object& disk) {
    Object* cdrom = edit::child(&disk, "cdrom");
    if (!cdrom) return;
    edit::set_flag_if_unset(*cdrom, "readonly", true);
    edit::set_text_if_empty(*cdrom, "tray", "closed");
  });
}

// D28
void default_block_sizes(VmiTarget& target) {
  edit::each(target.devices(), "disks", [](Object& disk) {
    if (Object* match = edit::descend(disk, {"blockSize", "matchVolume"}))
      edit::set_flag_if_unset(*match, "enabled", true);
  });
}

// D29
void default_gpu_displays(VmiTarget& target) {
  edit::each(target.devices(), "gpus", [](Object& gpu) {
    if (Object* ram_fb = edit::descend(gpu, {"virtualGPUOptions", "display", "ramFB"}))
      edit::set_flag_if_unset(*ram_fb, "enabled", true);
  });
}

// D31: an architecture that nobody knows is treated as amd64.
void default_for_architecture(VmiTarget& target) {
  const string_view architecture = target.architecture();
  if (architecture == "arm64") return default_for_arm64(target);
  if (architecture == "s390x") return default_for_s390x(target);
  default_for_amd64(target);
}

}  // namespace vg::admission
