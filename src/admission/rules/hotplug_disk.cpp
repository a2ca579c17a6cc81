#include "admission/rules/hotplug_disk.h"

#include <fmt/format.h>

#include "api/canonical_words.h"

namespace vg::admission {
namespace {

using api::kubevirt::Disk;
using std::string_view;

// Why such a disk cannot be plugged in; empty when it can.
string_view defect_of(const Disk& disk) {
  if (!disk) return "it has no disk; say as what the machine will see it";
  const string_view bus = disk.disk() ? disk.disk().bus() : disk.lun().bus();
  if (disk.disk() && bus != "scsi" && bus != "virtio") return "a disk is plugged into bus scsi or virtio";
  if (!disk.disk() && disk.lun() && bus != "scsi") return "a LUN is plugged into bus scsi";
  if (!disk.disk() && !disk.lun()) return "only a disk or a LUN can be plugged in";
  if (disk.dedicated_io_thread().value_or(false) && bus != "virtio")
    return "only bus virtio has I/O threads of its own";
  return {};
}

}  // namespace

void check_hotplug_disk(const Disk& disk, string_view volume, string_view field, Causes& causes) {
  if (const auto defect = defect_of(disk); !defect.empty())
    return causes.invalid(field, fmt::format("volume {} cannot be added: {}", api::in_words(volume), defect));
  // Upstream names this place whichever disk it is.
  if (disk.boot_order() == 0u) causes.invalid("spec.domain.devices.disks[1].bootOrder", "boot order counts from 1");
}

}  // namespace vg::admission
