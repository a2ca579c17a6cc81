// What stands behind a disk: DOM-VOL.
#include <fmt/format.h>

#include <array>

#include "domain/conversion.h"
#include "domain/paths.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

using kubevirt::Volume;

// "driver(t, d)" of spec domain 4.3.
void set_driver(Element& disk, std::string_view type, bool discard) {
  Element& driver = disk.child("driver").set("type", type).set("error_policy", "stop");
  if (discard) driver.set("discard", "unmap");
}

void set_file(Element& disk, std::string_view path) {
  disk.set("type", "file");
  disk.child("source").set("file", path);
}

// The two places that a claim may be at.
struct ClaimPlaces {
  Path image, device;
  bool named;  // the source bears the volume's name
};
constexpr ClaimPlaces mounted{Path::claim_image, Path::block_device, true};
constexpr ClaimPlaces hotplugged{Path::hotplug_image, Path::hotplug_device, false};

std::string_view file_or_block(bool block) { return block ? "block" : "file"; }

void set_claim_source(const DomainContext& context, Element& source, std::string_view name, bool block,
                      const ClaimPlaces& places) {
  if (block)
    source.set("dev", context.paths.at(places.device, {{"volume", name}}));
  else
    source.set("file", context.paths.at(places.image, {{"volume", name}}));
}

// DOM-VOL-15: the overlay that remembers what changed, with the data behind it.
Element& set_tracked(Element& disk, std::string_view overlay, bool block) {
  set_file(disk, overlay);
  Element& store = disk.child("source").child("dataStore").set("type", file_or_block(block));
  store.child("format").set("type", "raw");
  return store.child("source");
}

// DOM-VOL-06, DOM-VOL-07, DOM-VOL-15a, DOM-VOL-16, DOM-VOL-17
void write_claim(const DomainContext& context, Element& disk, std::string_view name, bool block,
                 const ClaimPlaces& places) {
  const bool discard = !context.discard_ignore.contains(name);
  const auto tracked = context.cbt.find(name);
  if (block && places.named) disk.child("source").set("name", name);
  if (tracked != context.cbt.end()) {
    set_driver(disk, "qcow2", discard);
    set_claim_source(context, set_tracked(disk, tracked->second, block), name, block, places);
    return;
  }
  set_driver(disk, "raw", discard);
  disk.set("type", file_or_block(block));
  set_claim_source(context, disk.child("source"), name, block, places);
}

// DOM-VOL-05
void write_host_disk(const DomainContext& context, Element& disk, std::string_view name, std::string_view path) {
  const auto tracked = context.cbt.find(name);
  if (tracked != context.cbt.end()) {
    set_driver(disk, "qcow2", false);
    set_tracked(disk, tracked->second, false).set("file", path);
    return;
  }
  set_driver(disk, "raw", false);
  set_file(disk, path);
}

Element& set_overlay(const DomainContext& context, Element& disk, std::string_view name) {
  set_driver(disk, "qcow2", true);
  set_file(disk, context.paths.at(Path::overlay, {{"volume", name}}));
  return disk.child("backingStore");
}

// DOM-VOL-01
Result<void> write_container_disk(const DomainContext& context, Element& disk, const VolumeAt& volume,
                                  std::string_view field) {
  const auto info = context.disk_info.find(volume.volume.name());
  if (info == context.disk_info.end())
    return refuse("DOM-VOL-01", field, "the format of its container disk is not known");
  Element& backing = set_overlay(context, disk, volume.volume.name()).set("type", "file");
  backing.child("format").set("type", info->second);
  backing.child("source").set("file", context.paths.at(Path::container_disk, {{"index", fmt::to_string(volume.index)},
                                                                              {"volume", volume.volume.name()}}));
  return {};
}

// DOM-VOL-08
void write_ephemeral(const DomainContext& context, Element& disk, std::string_view name) {
  const bool block = context.block_pvc.contains(name);
  Element& backing = set_overlay(context, disk, name).set("type", file_or_block(block));
  backing.child("format").set("type", "raw");
  if (block) backing.child("source").set("name", name);
  set_claim_source(context, backing.child("source"), name, block, mounted);
}

// DOM-VOL-14: nothing of what the user asked for is left.
void write_downward_metrics(const Conversion& c, Element& disk) {
  disk.remove("driver");
  disk.child("driver").set("name", "qemu").set("type", "raw");
  disk.remove("source");
  set_file(disk, c.context.paths.at(Path::downward_metrics));
  disk.child("readonly");
  disk.set("model", virtio_model(c.traits, c.context.virtio_transitional));
}

// Volumes that are a file of their own, made by the launcher. The first whose member is set counts.
struct FileVolume {
  std::string_view rule, member;
  Path path;
  std::string_view format;
  bool discard;
};
constexpr std::array cloud_init_volumes = std::to_array<FileVolume>({
    {"DOM-VOL-02", "cloudInitNoCloud", Path::cloud_init_no_cloud, "raw", false},
    {"DOM-VOL-03", "cloudInitConfigDrive", Path::cloud_init_config_drive, "raw", false},
    {"DOM-VOL-04", "sysprep", Path::sysprep, "raw", false},
});
constexpr std::array file_volumes = std::to_array<FileVolume>({
    {"DOM-VOL-09", "emptyDisk", Path::empty_disk, "qcow2", true},
    {"DOM-VOL-10", "configMap", Path::config_map, "raw", false},
    {"DOM-VOL-11", "secret", Path::secret, "raw", false},
    {"DOM-VOL-12", "downwardAPI", Path::downward_api, "raw", false},
    {"DOM-VOL-13", "serviceAccount", Path::service_account, "raw", false},
});

bool write_file_volume(const Conversion& c, std::span<const FileVolume> rows, const Volume& volume, Element& disk) {
  for (const FileVolume& row : rows) {
    if (!api::View(volume.get(row.member))) continue;
    set_driver(disk, row.format, row.discard);
    set_file(disk, c.context.paths.at(row.path, {{"volume", volume.name()},
                                                 {"namespace", c.vmi.metadata.namespace_()},
                                                 {"name", c.vmi.metadata.name()},
                                                 {"uid", c.vmi.metadata.uid()}}));
    return true;
  }
  return false;
}

Failed refuse_source(std::string_view rule, std::string_view field, std::string_view why) {
  return refuse(rule, fmt::format("{}.name", field), fmt::format("the volume of this name {}", why));
}

Result<void> write_mounted(const Conversion& c, const VolumeAt& at, std::string_view field, Element& disk) {
  const Volume& volume = at.volume;
  const DomainContext& context = c.context;
  const auto name = volume.name();
  if (volume.container_disk()) return write_container_disk(context, disk, at, field);
  if (write_file_volume(c, cloud_init_volumes, volume, disk)) return {};
  if (volume.host_disk()) {
    const auto file = base_name(volume.host_disk().path());
    if (!is_file_name(file)) return refuse_source("DOM-VOL-05", field, "has a hostDisk.path that names no file");
    write_host_disk(context, disk, name, context.paths.at(Path::host_disk, {{"volume", name}, {"file", file}}));
  } else if ((volume.persistent_volume_claim() || volume.data_volume()) && context.host_disks.contains(name)) {
    write_host_disk(context, disk, name, context.paths.at(Path::claim_image, {{"volume", name}}));
  } else if (volume.persistent_volume_claim()) {
    write_claim(context, disk, name, context.block_pvc.contains(name), mounted);
  } else if (volume.data_volume()) {
    write_claim(context, disk, name, context.block_dv.contains(name), mounted);
  } else if (volume.ephemeral()) {
    write_ephemeral(context, disk, name);
  } else if (write_file_volume(c, file_volumes, volume, disk)) {
    return {};
  } else if (volume.downward_metrics()) {
    write_downward_metrics(c, disk);
  } else {
    return refuse_source("", field, "cannot be attached as a disk");
  }
  return {};
}

Result<void> write_hotplugged(const Conversion& c, const Volume& volume, std::string_view field, Element& disk) {
  const DomainContext& context = c.context;
  if (volume.host_disk() || volume.persistent_volume_claim())
    write_claim(context, disk, volume.name(), context.block_pvc.contains(volume.name()), hotplugged);
  else if (volume.data_volume())
    write_claim(context, disk, volume.name(), context.block_dv.contains(volume.name()), hotplugged);
  else
    return refuse_source("DOM-VOL-18", field, "cannot be hot-plugged; only claims and data volumes can");
  return {};
}

}  // namespace

Result<void> write_volume(const Conversion& c, const VolumeAt* volume, std::string_view name, std::string_view field,
                          Element& disk) {
  if (!volume) {  // DOM-VOL-19
    disk.set("type", "block");
    disk.child("driver").set("type", "raw").set("discard", "unmap");
    return {};
  }
  // DOM-DISK-22
  if (c.context.hotplug_volumes.contains(name)) return write_hotplugged(c, volume->volume, field, disk);
  return write_mounted(c, *volume, field, disk);
}

}  // namespace vg::domain
