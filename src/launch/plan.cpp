#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/base64.h"
#include "base/image_limits.h"
#include "domain/refusal.h"
#include "launch/planned.h"

namespace vg::launch {
namespace {

using PlanPart = Result<void> (*)(const Planned&, Steps&);
// Spec launch 2; host disks and claims are what the node has made before the launcher begins.
constexpr std::array<PlanPart, 9> parts{plan_filesystems, plan_host_disks,      plan_other_files,
                                        plan_tpm,         plan_container_disks, plan_ephemeral,
                                        plan_empty_disks, plan_config_disks,    plan_image_growth};

// The folders that the steps put something into, each once, before them.
Steps with_folders(const Planned& planned, Steps steps) {
  const Folders& folders = planned.wanted.folders;
  const std::string state = state_folder(folders, planned.vmi);
  std::set<std::string> made{folders.guest, folders.sockets,
                             planned.at(Path::nvram).substr(0, planned.at(Path::nvram).rfind('/'))};
  for (const Step& step : steps)
    if (step.path.starts_with(folders.guest) || step.path.starts_with(folders.shared))
      made.insert(step.path.substr(0, step.path.rfind('/')));
  if (!planned.vmi.status.changed_block_tracking().state().empty()) made.insert(fmt::format("{}/cbt", state));
  Steps all;
  for (const std::string& folder : made)
    if (!folder.empty())
      all.push_back({.kind = Step::Kind::make_folder,
                     .path = folder,
                     .within = folder.starts_with(state + "/") ? state_base(folders, planned.vmi) : Step().within});
  std::ranges::move(steps, std::back_inserter(all));
  return all;
}

Result<void> add_planned_file(Files& files, std::string_view key, std::string content, std::size_t& bytes,
                              std::string_view field) {
  if (auto named = check_name(key, field); !named) return named;
  bytes += content.size();
  if (bytes > limits::launch_files_bytes_max)
    return domain::refuse("RUN-ISO-06", field, "the object is too large for a disk of it");
  files.push_back({.name = std::string(key), .content = std::move(content)});
  return {};
}

}  // namespace

Planned::Planned(const Wanted& given)
    : wanted(given), vmi(given.vmi), paths(places_of(given.folders, domain::Vmi(given.vmi))) {}

const domain::kubevirt::VolumeStatus Planned::status_of(std::string_view volume) const {
  for (const domain::kubevirt::VolumeStatus status : vmi.status.volume_status())
    if (status.name() == volume) return status;
  return {};
}

bool Planned::has_disk(std::string_view volume) const {
  for (const domain::kubevirt::Disk disk : vmi.dev.disks())
    if (disk.name() == volume) return true;
  return false;
}

std::string field_of(std::size_t index, std::string_view member) {
  return fmt::format("spec.volumes[{}].{}", index, member);
}

Result<void> check_name(std::string_view name, std::string_view field) {
  if (domain::is_file_name(name) && name.size() <= limits::launch_name_bytes_max) return {};
  return domain::refuse("", field, fmt::format("{}: must be fit for the name of a file", domain::in_quotes(name)));
}

// A ConfigMap has texts and bytes, a Secret only bytes; bytes are Base64 in JSON.
Result<Files> files_of(std::string_view kind, const json::Object& object, std::string_view field) {
  Files files;
  std::size_t bytes = 0;
  for (const std::string_view member : {"data", "binaryData"}) {
    const json::Object* given = json::get_object(object, member);
    if (!given) continue;
    for (const auto& [key, value] : *given) {
      const std::string_view text = json::as_string(&value).value_or("");
      auto content = kind == "Secret" || member == "binaryData" ? base64_decode_lenient(text) : std::string(text);
      if (!content) return domain::refuse("", field, fmt::format("{}: must be Base64", domain::in_quotes(key)));
      if (auto added = add_planned_file(files, key, std::move(*content), bytes, field); !added)
        return fail(std::move(added.error()));
    }
  }
  std::ranges::sort(files, {}, &Step::File::name);
  return files;
}

Step iso_step(const Planned& planned, std::string_view volume, std::string path, std::string_view label, Files files) {
  const Wanted& wanted = planned.wanted;
  if (!wanted.source_guest.empty()) {
    std::string source = wanted.source_guest + path.substr(std::min(wanted.folders.guest.size(), path.size()));
    return {.kind = Step::Kind::copy,
            .path = std::move(path),
            .volume = std::string(volume),
            .backing = std::move(source),
            .size = planned.status_of(volume).size()};
  }
  return {.kind = Step::Kind::make_iso,
          .path = std::move(path),
          .volume = std::string(volume),
          .files = std::move(files),
          .label = std::string(label)};
}

Result<Plan> plan(const Wanted& wanted) {
  const Planned planned(wanted);
  for (std::size_t i = 0; i < planned.vmi.spec.volumes().size(); ++i)
    if (auto named = check_name(planned.vmi.spec.volumes()[i].name(), field_of(i, "name")); !named)
      return fail(std::move(named.error()));
  Plan made;
  for (const PlanPart part : parts)
    if (auto done = part(planned, made.before_define); !done) return fail(std::move(done.error()));
  auto cloud_init = plan_before_start(wanted, {});
  if (!cloud_init) return fail(std::move(cloud_init.error()));
  made.before_define = with_folders(planned, std::move(made.before_define));
  made.before_start = std::move(*cloud_init);
  return made;
}

Result<std::vector<Step>> plan_before_start(const Wanted& wanted, std::string_view defined_xml) {
  const Planned planned(wanted);
  Steps steps;
  if (auto done = plan_cloud_init(planned, defined_xml, steps); !done) return fail(std::move(done.error()));
  return steps;
}

}  // namespace vg::launch
