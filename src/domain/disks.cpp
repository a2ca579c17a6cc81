// The disk elements: DOM-DISK, and the IO threads of single disks (DOM-IOT-06).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "domain/conversion.h"
#include "domain/disk_names.h"
#include "domain/paths.h"
#include "domain/pci_addresses.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

using kubevirt::Disk;
using kubevirt::VolumeStatus;

constexpr std::array error_policies = std::to_array<std::string_view>({"stop", "ignore", "report", "enospace"});

// What all disks of a VMI share while they are converted.
class DiskWriter {
 public:
  explicit DiskWriter(Conversion& c) : c_(c), names_(c.vmi), next_own_thread_(c.io_threads.autos + 1) {
    const auto volumes = c.vmi.spec.volumes();
    // DOM-VOL-21, DOM-VOL-22
    for (std::size_t at = 0; at < volumes.size(); ++at)
      volumes_.insert_or_assign(std::string(volumes[at].name()), VolumeAt{.volume = volumes[at], .index = at});
    for (const VolumeStatus status : c.vmi.status.volume_status())
      statuses_.insert_or_assign(std::string(status.name()), status);
  }

  Result<void> write(const Disk& given, std::string field);

 private:
  Result<void> write_kind(const Disk& given, std::string_view field, Element& disk);
  Result<void> write_plain_disk(const Disk& given, std::string_view field, Element& disk);
  void write_target(const Disk& given, Element& disk);
  void write_driver(const Disk& given, Element& disk);
  void write_claim_facts(const Disk& given, Element& disk);
  Result<void> write_error_policy(const Disk& given, std::string_view field, Element& disk);
  Result<void> write_io_thread(const Disk& given, Element& disk);
  bool is_written(std::string_view name, bool empty_drive) const;
  bool is_only_read(const Disk& given) const;

  Conversion& c_;
  DiskNames names_;
  ByName<VolumeAt> volumes_;
  ByName<VolumeStatus> statuses_;
  std::uint64_t next_thread_ = 1, next_own_thread_;
};

// DOM-DISK-03, DOM-DISK-04
void DiskWriter::write_target(const Disk& given, Element& disk) {
  const auto bus = bus_of(given);
  const auto [name, index] = names_.name(given.name(), bus);
  disk.child("target").set_if("bus", bus).set_if("dev", name);
  if (bus == "scsi" && kind_of(given) != DiskKind::cdrom)
    disk.child("address").set("type", "drive").set("controller", 0).set("bus", 0).set("unit", index);
}

Result<void> DiskWriter::write_plain_disk(const Disk& given, std::string_view field, Element& disk) {
  const auto target = given.disk();
  if (!target.pci_address().empty()) {  // DOM-DISK-05
    if (target.bus() != "virtio")
      return refuse("DOM-DISK-05", fmt::format("{}.disk.pciAddress", field), "must not be set unless bus is virtio");
    const auto address = pci_address(target.pci_address(), "DOM-DISK-05", fmt::format("{}.disk.pciAddress", field));
    if (!address) return fail(address.error());
    disk.remove("address");
    disk.add(*address);
  }
  if (target.bus() == "virtio")  // DOM-DISK-06
    disk.set("model", virtio_model(c_.traits, c_.context.virtio_transitional));
  if (target.readonly()) disk.child("readonly");                               // DOM-DISK-07
  if (!given.serial().empty()) disk.child("serial").set_text(given.serial());  // DOM-DISK-08
  if (!given.shareable().value_or(false)) return {};
  if (!given.cache().empty() && given.cache() != "none")  // DOM-DISK-09
    return refuse("DOM-DISK-09", fmt::format("{}.cache", field),
                  fmt::format("{}: must be none for a shareable disk", in_quotes(given.cache())));
  disk.child("driver").set("cache", "none");
  disk.child("shareable");
  return {};
}

// DOM-DISK-01, DOM-DISK-02
Result<void> DiskWriter::write_kind(const Disk& given, std::string_view field, Element& disk) {
  constexpr std::array<std::string_view, 4> devices = {"", "disk", "lun", "cdrom"};
  const DiskKind kind = kind_of(given);
  disk.set("device", devices[static_cast<std::size_t>(kind)]);
  disk.child("target");
  disk.child("source");
  if (kind != DiskKind::none) write_target(given, disk);
  switch (kind) {
    case DiskKind::disk:
      return write_plain_disk(given, field, disk);
    case DiskKind::lun:
      if (given.lun().readonly()) disk.child("readonly");
      if (given.lun().reservation())  // DOM-DISK-10
        disk.child("source")
            .child("reservations")
            .set("managed", "no")
            .set("migration", "yes")
            .child("source")
            .set("type", "unix")
            .set("path", c_.context.paths.at(Path::reservations))
            .set("mode", "client");
      break;
    case DiskKind::cdrom:
      disk.child("target").set_if("tray", given.cdrom().tray());  // DOM-DISK-11
      if (given.cdrom().readonly().value_or(true)) disk.child("readonly");
      break;
    case DiskKind::none:
      break;
  }
  return {};
}

void DiskWriter::write_driver(const Disk& given, Element& disk) {
  Element& driver = disk.child("driver");
  driver.set("name", "qemu").set("type", "").set_if("cache", given.cache()).set_if("io", given.io());  // DOM-DISK-12
  const bool is_virtio = bus_of(given) == "virtio";
  const DiskKind kind = kind_of(given);
  if ((kind == DiskKind::disk || kind == DiskKind::lun) && !c_.context.discard_ignore.contains(given.name()))
    driver.set("discard", "unmap");  // DOM-DISK-13
  if (is_virtio && c_.vmi.dev.block_multi_queue().value_or(false))
    driver.set("queues", c_.topology.queues());                                  // DOM-DISK-15
  if (is_virtio && c_.context.iommu_on()) driver.set("iommu", "on");             // DOM-DISK-18
  set_alias(disk, given.name());                                                 // DOM-DISK-16
  if (given.boot_order()) disk.child("boot").set("order", *given.boot_order());  // DOM-DISK-17
}

// DOM-DISK-14
void DiskWriter::write_claim_facts(const Disk& given, Element& disk) {
  const auto status = statuses_.find(given.name());
  const DiskKind kind = kind_of(given);
  if (status == statuses_.end() || (kind != DiskKind::disk && kind != DiskKind::lun)) return;
  const auto claim = status->second.persistent_volume_claim_info();
  if (!claim) return;
  if (const auto overhead = claim.filesystem_overhead()) disk.child("filesystemOverhead").set_text(*overhead);
  if (!claim.capacity().contains("storage") || !claim.requests().contains("storage")) return;
  const auto capacity = amount_of(claim.capacity()["storage"]).as_int64();
  const auto request = amount_of(claim.requests()["storage"]).as_int64();
  if (capacity && request) disk.child("capacity").set_text(std::min(*capacity, *request));
}

// PVC-07: a claim that nobody may write to. What is written to an ephemeral volume is not written to its claim.
bool DiskWriter::is_only_read(const Disk& given) const {
  const auto status = statuses_.find(given.name());
  const auto volume = volumes_.find(given.name());
  if (status == statuses_.end() || volume == volumes_.end() || volume->second.volume.ephemeral()) return false;
  const auto modes = status->second.persistent_volume_claim_info().access_modes();
  return !modes.empty() && std::ranges::all_of(modes, [](std::string_view mode) { return mode == "ReadOnlyMany"; });
}

// DOM-DISK-19
Result<void> DiskWriter::write_error_policy(const Disk& given, std::string_view field, Element& disk) {
  const auto policy = given.error_policy().value_or("stop");
  if (std::ranges::find(error_policies, policy) == error_policies.end())
    return refuse("DOM-DISK-19", fmt::format("{}.errorPolicy", field),
                  fmt::format("{}: supported values: {}", in_quotes(policy), "stop, ignore, report, enospace"));
  disk.child("driver").set("error_policy", policy);
  return {};
}

// DOM-IOT-06, DOM-IOT-07
Result<void> DiskWriter::write_io_thread(const Disk& given, Element& disk) {
  if (!c_.io_threads.active || disk.child("target").get("bus") != "virtio") return {};
  Element& driver = disk.child("driver");
  if (c_.io_threads.pool) {
    const std::uint32_t count = *c_.io_threads.pool;
    if (auto taken = c_.take_numbered(count, "spec.domain.ioThreads.supplementalPoolThreadCount"); !taken) return taken;
    Element& list = driver.child("iothreads");
    for (std::uint32_t id = 1; id <= count; ++id) list.add("iothread").set("id", id);
  } else if (has_own_io_thread(given)) {
    driver.set("iothread", next_own_thread_++);
  } else {
    driver.set("iothread", next_thread_);
    next_thread_ = next_thread_ % c_.io_threads.autos + 1;
  }
  return {};
}

// DOM-DISK-21
bool DiskWriter::is_written(std::string_view name, bool empty_drive) const {
  const DomainContext& context = c_.context;
  if (empty_drive || context.permanent_volumes.empty() || context.permanent_volumes.contains(name)) return true;
  const auto hotplugged = context.hotplug_volumes.find(name);
  return hotplugged != context.hotplug_volumes.end() &&
         (hotplugged->second == "MountedToPod" || hotplugged->second == "Ready");
}

Result<void> DiskWriter::write(const Disk& given, std::string field) {
  Element disk("disk");
  disk.set("type", "");
  write_driver(given, disk);
  if (auto done = write_kind(given, field, disk); !done) return done;
  write_claim_facts(given, disk);
  if (is_only_read(given)) disk.child("readonly");
  const auto found = volumes_.find(given.name());
  const bool empty_drive = found == volumes_.end();
  if (empty_drive && !given.cdrom())  // DOM-DISK-20
    return refuse("DOM-DISK-20", fmt::format("{}.name", field),
                  fmt::format("{}: spec.volumes has no volume of this name", in_quotes(given.name())));
  if (auto done = write_volume(c_, empty_drive ? nullptr : &found->second, given.name(), field, disk); !done)
    return done;
  if (auto done = write_block_size(c_, given, field, disk); !done) return done;
  if (auto done = write_error_policy(given, field, disk); !done) return done;
  if (auto done = write_io_thread(given, disk); !done) return done;
  if (is_written(given.name(), empty_drive)) c_.devices.add(std::move(disk));
  return {};
}

}  // namespace

Result<void> write_disks(Conversion& c) {
  DiskWriter writer(c);
  const auto disks = c.vmi.dev.disks();
  for (std::size_t at = 0; at < disks.size(); ++at)
    if (auto done = writer.write(disks[at], fmt::format("spec.domain.devices.disks[{}]", at)); !done) return done;
  return {};
}

}  // namespace vg::domain
