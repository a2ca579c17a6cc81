// Images of a guest (spec launch 2.3 to 2.6): container disks, claims, host disks, empty disks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/image_limits.h"
#include "domain/refusal.h"
#include "launch/metrics_disk.h"
#include "launch/planned.h"
#include "sandbox/host_folders.h"

namespace vg::launch {
namespace {

using domain::kubevirt::PersistentVolumeClaimInfo;
using domain::kubevirt::Volume;
using Kind = Step::Kind;

std::int64_t rounded(std::int64_t bytes) { return bytes / image_unit * image_unit; }

// The claim behind a volume; empty: it has none.
std::string_view claim_of(const Volume& volume) {
  if (volume.persistent_volume_claim()) return volume.persistent_volume_claim().claim_name();
  if (volume.data_volume()) return volume.data_volume().name();
  if (const json::Value* claim = volume.ephemeral().get("persistentVolumeClaim"))
    return json::get_string_or(*claim, "claimName");
  return {};
}

// Where the disk agent keeps the image of a claim (src/disks/folder.h).
Result<std::string> image_of_claim(const Planned& planned, std::string_view claim, std::string_view field) {
  const std::string_view ns = planned.vmi.metadata.namespace_();
  if (auto named = check_name(claim, field); !named) return fail(std::move(named.error()));
  if (auto named = check_name(ns, "metadata.namespace"); !named) return fail(std::move(named.error()));
  return fmt::format("{}/{}/{}/disk.img", planned.wanted.folders.disks, ns, claim);
}

std::optional<Quantity> storage_of(const api::Map<api::QuantityView>& amounts) {
  if (!amounts.contains("storage")) return std::nullopt;
  return domain::amount_of(amounts["storage"]);
}

// RUN-IMG-05, PVC-06: the image is there. Who keeps the claim makes it, once (controllers/storage/claim.cpp): a node
// that made one where it is missing would give a guest whose disk is lost a blank one. Block volumes are files here as
// well (RUN-IMG-06).
Result<void> plan_claim(const Planned& planned, const Volume& volume, std::string_view field, Steps& steps) {
  auto image = image_of_claim(planned, claim_of(volume), field);
  if (!image) return fail(std::move(image.error()));
  const std::string name(volume.name());
  steps.push_back({.kind = Kind::link,
                   .path = planned.at(Path::claim_image, name),
                   .volume = name,
                   .backing = *image,
                   .within = {image->substr(0, image->rfind('/'))}});
  return {};
}

bool is_below(std::string_view path, std::string_view folder) {
  return !folder.empty() && path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::vector<std::string> host_disk_folders() {
  std::vector<std::string> folders(sandbox::host_folders.begin(), sandbox::host_folders.end());
  folders.emplace_back("/dev");
  return folders;
}

// Whoever may use host disks may name any file of this user that is where administrators keep disks; but not what the
// node keeps for others. Where links lead is looked at when the guest is started.
Result<void> check_host_path(const Planned& planned, std::string_view path, std::string_view field) {
  const Folders& own = planned.wanted.folders;
  const std::string_view state = std::string_view(own.disks).substr(0, own.disks.rfind('/'));
  const bool is_plain = path.starts_with('/') && !path.contains("//") && !path.contains("/./") &&
                        !path.contains("/../") && !path.ends_with("/..") && !path.ends_with("/.") &&
                        !path.contains('\0') && path.size() <= limits::launch_path_bytes_max;
  if (!is_plain || !domain::is_file_name(domain::base_name(path)))
    return domain::refuse("RUN-IMG-04", field,
                          fmt::format("{}: must be an absolute path of a file", domain::in_quotes(path)));
  for (const std::string_view folder :
       {state, std::string_view(own.images), std::string_view(own.guest), std::string_view(own.sockets)})
    if (is_below(path, folder))
      return domain::refuse("RUN-IMG-04", field,
                            fmt::format("{}: is in a folder of the node itself", domain::in_quotes(path)));
  const auto folders = host_disk_folders();
  if (std::ranges::none_of(folders, [&](std::string_view folder) { return is_below(path, folder); }))
    return domain::refuse("RUN-IMG-04", field,
                          fmt::format("{}: must be below {}", domain::in_quotes(path), fmt::join(folders, ", ")));
  return {};
}

// RUN-IMG-03, RUN-IMG-04
Result<void> plan_host_disk(const Planned& planned, const Volume& volume, std::string_view field, Steps& steps) {
  const auto disk = volume.host_disk();
  if (auto allowed = check_host_path(planned, disk.path(), fmt::format("{}.path", field)); !allowed) return allowed;
  const std::string name(volume.name()), path(disk.path());
  const std::vector<std::string> within = host_disk_folders();
  // One that was made for an earlier run of this VM is there, or it is lost.
  const std::string made = fmt::format("\n{}", planned.vmi.annotations["virtgate.io/host-disks-made"]);
  if (disk.type() == "DiskOrCreate" && !made.contains(fmt::format("\n{}\n", path)))
    steps.push_back({.kind = Kind::make_raw,
                     .path = path,
                     .volume = name,
                     .size = disk.capacity() ? domain::amount_of(disk.capacity()).value() : 0,
                     .within = within});
  steps.push_back({.kind = Kind::link,
                   .path = planned.paths.at(Path::host_disk, {{"volume", name}, {"file", domain::base_name(path)}}),
                   .volume = name,
                   .backing = path,
                   .within = within});
  return {};
}

const ContainerImage* image_for(const Wanted& wanted, std::string_view volume) {
  const auto found = std::ranges::find(wanted.images, volume, &ContainerImage::volume);
  return found == wanted.images.end() ? nullptr : &*found;
}

Step overlay_step(const Planned& planned, std::string_view volume, std::string backing, std::string_view format) {
  return {.kind = Kind::make_overlay,
          .path = planned.at(Path::overlay, volume),
          .volume = std::string(volume),
          .backing = std::move(backing),
          .backing_format = std::string(format)};
}

// RUN-CD-05
Result<void> plan_kernel_boot(const Planned& planned, Steps& steps) {
  const auto boot = planned.vmi.dom.firmware().kernel_boot().container();
  if (!boot) return {};
  const ContainerImage* image = image_for(planned.wanted, "");
  const std::string_view field = "spec.domain.firmware.kernelBoot.container";
  if (!image) return domain::refuse("RUN-CD-05", field, "the image is not in the image store");
  const auto kernel = domain::base_name(boot.kernel_path()), initrd = domain::base_name(boot.initrd_path());
  const bool both = !boot.kernel_path().empty() && !boot.initrd_path().empty();
  if (both && kernel == initrd)
    return domain::refuse("RUN-CD-05", field, "kernelPath and initrdPath must have different names");
  const auto add = [&](std::string_view given, std::string_view file, const std::string& from) {
    if (given.empty()) return;
    steps.push_back(
        {.kind = Kind::share, .path = planned.paths.at(Path::kernel_boot, {{"file", file}}), .backing = from});
  };
  for (const std::string_view file : {kernel, initrd})
    if (file != "." && !domain::is_file_name(file))
      return domain::refuse("RUN-CD-05", field, fmt::format("{}: must name a file", domain::in_quotes(file)));
  add(boot.kernel_path(), kernel, image->kernel);
  add(boot.initrd_path(), initrd, image->initrd);
  return {};
}

// Hot-plugged volumes come later (plan_hotplug).
bool is_hotplugged(const Planned& planned, std::string_view volume) {
  return static_cast<bool>(planned.status_of(volume).hotplug_volume());
}

// The tables that firmware.acpi names are read by QEMU as files (DOM-OS-13).
Result<void> plan_acpi_tables(const Planned& planned, Steps& steps) {
  const auto acpi = planned.vmi.dom.firmware().acpi();
  const auto volumes = planned.vmi.spec.volumes();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const std::string_view name = volumes[i].name();
    if (!volumes[i].secret() || name.empty() || (name != acpi.slic_name_ref() && name != acpi.msdm_name_ref()))
      continue;
    const std::string_view secret = volumes[i].secret().secret_name();
    const json::Object* object = planned.wanted.mounted("Secret", secret);
    if (!object)
      return domain::refuse("DOM-OS-13", field_of(i, "secret"),
                            fmt::format("the Secret {} does not exist", domain::in_quotes(secret)));
    auto files = files_of("Secret", *object, field_of(i, "secret"));
    if (!files) return fail(std::move(files.error()));
    for (Step::File& file : *files)
      steps.push_back({.kind = Kind::write_file,
                       .path = planned.paths.at(Path::acpi_table, {{"volume", name}, {"file", file.name}}),
                       .volume = std::string(name),
                       .content = std::move(file.content)});
  }
  return {};
}

}  // namespace

// DOM-FS-01: said before QEMU waits for a socket that nobody listens on.
Result<void> plan_filesystems(const Planned& planned, Steps& /*steps*/) {
  if (planned.vmi.dev.filesystems().empty()) return {};
  return domain::refuse("DOM-FS-01", "spec.domain.devices.filesystems",
                        fmt::format("{}: a node of this server has no virtiofsd that runs without root, so it cannot "
                                    "share the volume as a folder; use a disk for it instead (devices.disks)",
                                    domain::in_quotes(planned.vmi.dev.filesystems()[0].name())));
}

Result<void> plan_host_disks(const Planned& planned, Steps& steps) {
  const auto volumes = planned.vmi.spec.volumes();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Volume volume = volumes[i];
    if (is_hotplugged(planned, volume.name()) || !planned.has_disk(volume.name())) continue;
    if (volume.host_disk()) {
      if (auto done = plan_host_disk(planned, volume, field_of(i, "hostDisk"), steps); !done) return done;
    } else if (!claim_of(volume).empty()) {
      if (auto done = plan_claim(planned, volume, fmt::format("spec.volumes[{}]", i), steps); !done) return done;
    }
  }
  return {};
}

Result<void> plan_other_files(const Planned& planned, Steps& steps) {
  // RUN-IGN-01
  if (const std::string_view text = planned.vmi.annotations[domain::annotation::ignition]; !text.empty())
    steps.push_back({.kind = Kind::write_file, .path = planned.at(Path::ignition), .content = std::string(text)});
  for (const Volume volume : planned.vmi.spec.volumes())
    if (volume.downward_metrics())
      steps.push_back({.kind = Kind::write_file,
                       .path = planned.at(Path::downward_metrics),
                       .volume = std::string(volume.name()),
                       .content = metrics_disk("<metrics></metrics>\n")});  // RUN-DMX-01: until the node has some
  // For images_in_use.
  std::string digests;
  for (const ContainerImage& image : planned.wanted.images)
    if (!image.digest.empty()) digests.append(image.digest).append("\n");
  if (!digests.empty())
    steps.push_back({.kind = Kind::write_file,
                     .path = fmt::format("{}/{}", planned.wanted.folders.shared, used_images_file),
                     .content = std::move(digests)});
  return plan_acpi_tables(planned, steps);
}

// RUN-TPM-01: the hypervisor has a place for it that belongs to the node; what is persistent is linked from there.
Result<void> plan_tpm(const Planned& planned, Steps& steps) {
  const auto tpm = planned.vmi.dev.tpm();
  const Folders& folders = planned.wanted.folders;
  const std::string_view uuid = planned.vmi.dom.firmware().uuid();
  if (!tpm || !tpm.enabled().value_or(true) || !tpm.persistent().value_or(false)) return {};
  if (folders.tpm.empty() || !domain::is_file_name(uuid)) return {};
  // Its emulator locks the state, and libvirt takes the folder for one that both sides have of their own.
  if (!planned.wanted.source_guest.empty())
    return domain::refuse("RUN-TPM-01", "spec.domain.devices.tpm",
                          "a VM with a persistent TPM cannot be migrated on this host; stop it, and start it again");
  const std::string place = fmt::format("{}/{}", folders.tpm, uuid);
  steps.push_back({.kind = Kind::make_folder, .path = folders.tpm});
  steps.push_back({.kind = Kind::link_folder,
                   .path = place,
                   .backing = fmt::format("{}/tpm", state_folder(folders, planned.vmi)),
                   .within = state_base(folders, planned.vmi)});
  steps.push_back({.kind = Kind::make_folder, .path = folders.guest});
  steps.push_back({.kind = Kind::link_folder, .path = fmt::format("{}/{}", folders.guest, tpm_link), .backing = place});
  return {};
}

// RUN-CD-02, RUN-CD-04
Result<void> plan_container_disks(const Planned& planned, Steps& steps) {
  const auto volumes = planned.vmi.spec.volumes();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Volume volume = volumes[i];
    if (!volume.container_disk() || !planned.has_disk(volume.name())) continue;
    const ContainerImage* image = image_for(planned.wanted, volume.name());
    if (!image) return domain::refuse("RUN-CD-01", field_of(i, "containerDisk"), "the image is not in the image store");
    const std::string place = planned.paths.at(Path::container_disk, {{"index", fmt::to_string(i)}});
    steps.push_back({.kind = Kind::share, .path = place, .volume = std::string(volume.name()), .backing = image->disk});
    steps.push_back(overlay_step(planned, volume.name(), place, image->format));
  }
  return plan_kernel_boot(planned, steps);
}

// RUN-IMG-01
Result<void> plan_ephemeral(const Planned& planned, Steps& steps) {
  for (const Volume volume : planned.vmi.spec.volumes())
    if (volume.ephemeral() && planned.has_disk(volume.name()))
      steps.push_back(overlay_step(planned, volume.name(), planned.at(Path::claim_image, volume.name()), "raw"));
  return {};
}

// RUN-IMG-02
Result<void> plan_empty_disks(const Planned& planned, Steps& steps) {
  const auto volumes = planned.vmi.spec.volumes();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const auto disk = volumes[i].empty_disk();
    if (!disk) continue;
    const std::int64_t size = rounded(domain::amount_of(disk.capacity()).value());
    if (size <= 0)
      return domain::refuse("RUN-IMG-02", field_of(i, "emptyDisk.capacity"),
                            fmt::format("{}: must be 1Mi or more", domain::in_quotes(disk.capacity().text())));
    steps.push_back({.kind = Kind::make_empty,
                     .path = planned.at(Path::empty_disk, volumes[i].name()),
                     .volume = std::string(volumes[i].name()),
                     .size = size});
  }
  return {};
}

namespace {

// RUN-GRW-01, RUN-GRW-02: nothing when this disk cannot grow.
Result<std::optional<Step>> growth_of(const Planned& planned, const domain::kubevirt::Disk& disk) {
  if (disk.cdrom() || disk.disk().readonly() || disk.lun().readonly()) return std::nullopt;
  const auto info = planned.status_of(disk.name()).persistent_volume_claim_info();
  const auto capacity = storage_of(info.capacity());
  double overhead = -1;
  if (const auto text = info.filesystem_overhead())
    std::from_chars(text->data(), text->data() + text->size(), overhead);
  if (!info || !capacity || !(overhead >= 0 && overhead < 1)) return std::nullopt;
  const auto modes = info.access_modes();
  if (modes.size() == 1 && modes[0] == "ReadOnlyMany") return std::nullopt;  // PVC-07
  for (const Volume volume : planned.vmi.spec.volumes()) {
    if (volume.name() != disk.name() || volume.ephemeral() || claim_of(volume).empty()) continue;
    auto image = image_of_claim(planned, claim_of(volume), "spec.volumes");
    if (!image) return fail(std::move(image.error()));
    return Step{.kind = Kind::grow,
                .path = std::move(*image),
                .volume = std::string(volume.name()),
                .size = capacity->value(),
                .overhead = overhead};
  }
  return std::nullopt;
}

}  // namespace

// RUN-GRW-03
Result<void> plan_image_growth(const Planned& planned, Steps& steps) {
  for (const domain::kubevirt::Disk disk : planned.vmi.dev.disks()) {
    if (is_hotplugged(planned, disk.name())) continue;
    auto step = growth_of(planned, disk);
    if (!step) return fail(std::move(step.error()));
    if (*step) steps.push_back(std::move(**step));
  }
  return {};
}

Result<std::vector<Step>> plan_growth(const Wanted& wanted, const std::set<std::string, std::less<>>& volumes) {
  const Planned planned(wanted);
  Steps steps;
  for (const domain::kubevirt::Disk disk : planned.vmi.dev.disks()) {
    if (!volumes.contains(disk.name())) continue;
    auto step = growth_of(planned, disk);
    if (!step) return fail(std::move(step.error()));
    if (*step) steps.push_back(std::move(**step));
  }
  return steps;
}

Result<std::vector<Step>> plan_hotplug(const Wanted& wanted, std::string_view name) {
  const Planned planned(wanted);
  const auto volumes = planned.vmi.spec.volumes();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Volume volume = volumes[i];
    if (volume.name() != name) continue;
    const std::string field = fmt::format("spec.volumes[{}]", i);
    if (auto named = check_name(name, field); !named) return fail(std::move(named.error()));
    if (volume.memory_dump()) return std::vector<Step>();  // written beside the claim's image, which it may not have
    if (claim_of(volume).empty() || volume.ephemeral())
      return domain::refuse("DOM-VOL-18", field, "only claims and data volumes can be hot-plugged");
    auto image = image_of_claim(planned, claim_of(volume), field);
    if (!image) return fail(std::move(image.error()));
    const std::string place = planned.at(Path::hotplug_image, name);
    Steps steps{{.kind = Kind::make_folder, .path = place.substr(0, place.rfind('/'))}};
    steps.push_back({.kind = Kind::link, .path = place, .volume = std::string(name), .backing = std::move(*image)});
    return steps;
  }
  return domain::refuse("", "spec.volumes", fmt::format("there is no volume {}", domain::in_quotes(name)));
}

}  // namespace vg::launch
