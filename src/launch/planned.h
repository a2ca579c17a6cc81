// What the parts of a plan share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "domain/paths.h"
#include "domain/vmi.h"
#include "launch/launch.h"

namespace vg::launch {

using domain::Path;
inline constexpr std::string_view tpm_link = "tpm";  // of a guest's folder: where its TPM's state is linked from
inline constexpr std::string_view used_images_file = "images";  // of what a guest shares: digests, one a line
inline constexpr std::int64_t image_unit = 1 << 20;             // sizes of images are rounded down to it
using Files = std::vector<Step::File>;
using Steps = std::vector<Step>;

// One VMI while it is planned.
struct Planned {
  explicit Planned(const Wanted& given);
  const Wanted& wanted;
  domain::Vmi vmi;
  domain::Paths paths;

  std::string at(Path path, std::string_view volume = {}) const { return paths.at(path, {{"volume", volume}}); }
  const domain::kubevirt::VolumeStatus status_of(std::string_view volume) const;
  bool has_disk(std::string_view volume) const;
};

// The places of a guest on this node (spec domain 1.5).
domain::Paths places_of(const Folders& folders, const domain::Vmi& vmi);

// Where what outlives a run is: in the claim for it, or with the rest when there is none.
std::string state_folder(const Folders& folders, const domain::Vmi& vmi);
// The same where it is a claim's, which is there or lost, and never made here; nothing where it is not.
std::vector<std::string> state_base(const Folders& folders, const domain::Vmi& vmi);

// The files of a Secret or ConfigMap: its keys, sorted (RUN-ISO-01, RUN-ISO-02).
Result<Files> files_of(std::string_view kind, const json::Object& object, std::string_view field);
// An ISO, or on a migration target room for the one that comes (RUN-CI-17, RUN-ISO-07).
Step iso_step(const Planned& planned, std::string_view volume, std::string path, std::string_view label, Files files);
// "spec.volumes[2].secret", for refusals.
std::string field_of(std::size_t index, std::string_view member);
// A name of the API as part of a path.
Result<void> check_name(std::string_view name, std::string_view field);

// The parts, in the order of spec launch 2. Each adds to the steps.
Result<void> plan_filesystems(const Planned& planned, Steps& steps);
Result<void> plan_host_disks(const Planned& planned, Steps& steps);
Result<void> plan_other_files(const Planned& planned, Steps& steps);
Result<void> plan_container_disks(const Planned& planned, Steps& steps);
Result<void> plan_ephemeral(const Planned& planned, Steps& steps);
Result<void> plan_empty_disks(const Planned& planned, Steps& steps);
Result<void> plan_config_disks(const Planned& planned, Steps& steps);
Result<void> plan_tpm(const Planned& planned, Steps& steps);
Result<void> plan_image_growth(const Planned& planned, Steps& steps);
Result<void> plan_cloud_init(const Planned& planned, std::string_view defined_xml, Steps& steps);

// RUN-CI-13: what the defined document tells of tagged devices, as a JSON array; empty when there are none.
json::Array device_metadata(const domain::Vmi& vmi, std::string_view defined_xml);

}  // namespace vg::launch
