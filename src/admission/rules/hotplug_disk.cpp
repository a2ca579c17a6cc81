#include "admission/rules/hotplug_disk.h"

#include <fmt/format.h>

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

constexpr HotplugRule rows[] = {
    {{"HPD-01", "a plugged volume has a disk", ""}, is_missing, "say in disk as what the machine will see it"},
    {{"HPD-02", "a plugged disk is on bus scsi or virtio", ""},
     is_on_a_slow_bus,
     "a disk is plugged into bus scsi or virtio; set disk.bus to one of them"},
    {{"HPD-03", "a plugged LUN is on bus scsi", ""}, is_lun_off_scsi, "a LUN is plugged into bus scsi; set lun.bus"},
    {{"HPD-04", "only disks and LUNs are plugged in", ""},
     is_no_disk,
     "only a disk or a LUN can be plugged in; set one of disk and lun"},
    {{"HPD-05", "a plugged disk with an I/O thread of its own is on bus virtio", ""},
     has_thread_without_virtio,
     "only bus virtio has I/O threads of its own; change the bus or drop dedicatedIOThread"},
    {{"HPD-06", "the boot order of a plugged disk counts from 1", boot_order_field},
     boots_before_the_first,
     "boot order counts from 1; give 1 or more, or leave it out"},
};

}  // namespace

void check_hotplug_disk(const Disk& disk, string_view volume, string_view field, Causes& causes) {
  for (const HotplugRule& rule : rows)
    if (rule.broken(disk))
      return causes.invalid(rule.info.field.empty() ? field : rule.info.field,
                            fmt::format("volume {} cannot be plugged in: {}", api::in_words(volume), rule.advice));
}

void list_hotplug_disk_rules(std::vector<RuleInfo>& out) {
  for (const HotplugRule& rule : rows) out.push_back(rule.info);
}

}  // namespace vg::admission
