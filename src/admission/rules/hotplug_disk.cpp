#include "admission/rules/hotplug_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/canonical_words.h"

namespace vg::admission {
namespace {

using api::kubevirt::Disk;
using std::string_view;

// Upstream points at the second disk whichever it is; clients match on the text.
constexpr string_view boot_order_field = "spec.domain.devices.disks[1].bootOrder";

string_view bus_of(const Disk& disk) { return disk.disk() ? disk.disk().bus() : disk.lun().bus(); }

bool is_missing(const Disk& disk) { return !disk; }
bool is_on_a_slow_bus(const Disk& disk) { return disk.disk() && bus_of(disk) != "scsi" && bus_of(disk) != "virtio"; }
bool is_lun_off_scsi(const Disk& disk) { return !disk.disk() && disk.lun() && bus_of(disk) != "scsi"; }
bool is_no_disk(const Disk& disk) { return !disk.disk() && !disk.lun(); }
bool has_thread_without_virtio(const Disk& disk) {
  return disk.dedicated_io_thread().value_or(false) && bus_of(disk) != "virtio";
}
bool boots_before_the_first(const Disk& disk) { return disk.boot_order() == 0U; }

struct HotplugRule {
  RuleInfo info;  // without a field: it is the caller's
  bool (*broken)(const Disk&);
  string_view advice;
};

constexpr HotplugRule hotplug_disk_rows[] = {
    {{"HPD-01", "a hotplugged volume must have a disk", ""},
     is_missing,
     "disk is required: how the guest sees the volume"},
    {{"HPD-02", "a hotplugged disk must be on bus scsi or virtio", ""},
     is_on_a_slow_bus,
     "disk.bus must be scsi or virtio"},
    {{"HPD-03", "a hotplugged LUN must be on bus scsi", ""}, is_lun_off_scsi, "lun.bus must be scsi"},
    {{"HPD-04", "only disks and LUNs can be hotplugged", ""}, is_no_disk, "only disk and lun are supported"},
    {{"HPD-05", "a hotplugged disk with dedicatedIOThread must be on bus virtio", ""},
     has_thread_without_virtio,
     "dedicatedIOThread is supported only on bus virtio; change the bus or remove it"},
    {{"HPD-06", "bootOrder of a hotplugged disk must be 1 or more", boot_order_field},
     boots_before_the_first,
     "bootOrder must be 1 or more"},
};

}  // namespace

void check_hotplug_disk(const Disk& disk, string_view volume, string_view field, Causes& causes) {
  const auto rule = std::ranges::find_if(hotplug_disk_rows, [&](const HotplugRule& row) { return row.broken(disk); });
  if (rule == std::end(hotplug_disk_rows)) return;
  causes.asked_by(rule->info.id);
  causes.invalid(rule->info.field.empty() ? field : rule->info.field,
                 fmt::format("volume {} cannot be hotplugged: {}", api::in_words(volume), rule->advice));
}

void list_hotplug_disk_rules(std::vector<RuleInfo>& out) {
  for (const HotplugRule& rule : hotplug_disk_rows) out.push_back(rule.info);
}

}  // namespace vg::admission
