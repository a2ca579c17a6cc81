// Plugging volumes into a machine or an instance, and taking them out (spec subresources 2.6 to 2.8).
#include <fmt/format.h>

#include <utility>

#include "actions/action_case.h"
#include "actions/decisions.h"
#include "api/views/k8s_meta.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_volumes.h"
#include "json/access.h"
#include "json/patch.h"

namespace vg::actions {
namespace {

using api::kubevirt::AddVolumeOptions;
using api::kubevirt::HotplugVolumeSource;
using api::kubevirt::RemoveVolumeOptions;
using api::kubevirt::VirtualMachineInstanceSpec;
using api::kubevirt::Volume;
using Volumes = api::List<Volume>;

bool is_machine(const ActionCase& asked) { return asked.action.resource == machines.plural; }

// What is changed: the instance's own spec, or that of the machine's template.
VirtualMachineInstanceSpec changed_spec(const ActionCase& asked) {
  return is_machine(asked) ? asked.vm().spec().template_().spec() : asked.vmi().spec();
}

Status kind_conflict(const ActionCase& asked, std::string_view why) {
  return conflict(is_machine(asked) ? machine_kind : instance_kind, asked.name, why);
}

// Both options have the member at the same place.
std::string_view asked_name(const ActionCase& asked) { return asked.options<RemoveVolumeOptions>().name(); }

// --- the volumes that are there
// ------------------------------------------------------------------------------------------

std::string_view source_name(const HotplugVolumeSource& source) {
  return source.data_volume() ? source.data_volume().name() : source.persistent_volume_claim().claim_name();
}

bool uses(const Volume& volume, std::string_view source) {
  return (volume.data_volume() && volume.data_volume().name() == source) ||
         (volume.persistent_volume_claim() && volume.persistent_volume_claim().claim_name() == source);
}

bool can_be_unplugged(const Volume& volume) {
  return volume.data_volume().hotpluggable() || volume.persistent_volume_claim().hotpluggable();
}

std::optional<Status> find_added_conflict(const ActionCase& asked, const Volumes& volumes) {
  const auto options = asked.options<AddVolumeOptions>();
  const std::string_view source = source_name(options.volume_source());
  for (const Volume volume : volumes) {
    if (volume.name() == options.name())
      return kind_conflict(asked, fmt::format("volume \"{}\" already exists; choose another name, or remove it first "
                                              "with `virtctl removevolume {} --volume-name={}`",
                                              options.name(), asked.name, options.name()));
    if (uses(volume, source))
      return kind_conflict(asked, fmt::format("\"{}\" is already in use as volume \"{}\"", source, volume.name()));
  }
  return std::nullopt;
}

// A volume is also known by what it is made of; but what goes is what has the name, and that may be nothing (spec
// subresources Q16).
std::optional<Status> find_removed_conflict(const ActionCase& asked, const Volumes& volumes) {
  const std::string_view name = asked_name(asked);
  for (const Volume volume : volumes) {
    if (volume.name() != name && !uses(volume, name)) continue;
    if (can_be_unplugged(volume)) return std::nullopt;
    return kind_conflict(asked,
                         fmt::format("volume \"{}\" was not hotplugged and cannot be removed while the VM runs; stop "
                                     "the VM and edit its spec",
                                     volume.name()));
  }
  return kind_conflict(asked, fmt::format("volume \"{}\" not found; see `kubectl get {} {} -o yaml`", name,
                                          is_machine(asked) ? "vm" : "vmi", asked.name));
}

// --- what is put in or taken out
// -------------------------------------------------------------------------------------------

json::Array copy_list(const json::Value* list, const ActionCase& asked) {
  const json::Array* source = json::as_array(list);
  return source ? json::Array(*source, asked.storage) : json::Array(asked.storage);
}

// The claim wins over a data volume beside it.
json::Value new_volume(const ActionCase& asked) {
  const auto options = asked.options<AddVolumeOptions>();
  json::Object volume(asked.storage);
  volume["name"] = text_of(options.name(), asked);
  for (const std::string_view kind : {"persistentVolumeClaim", "dataVolume"}) {
    const json::Object* source = json::as_object(options.volume_source().get(kind));
    if (!source) continue;
    json::Object& copy = (volume[kind] = json::Value(*source, asked.storage)).get_object();
    copy["hotpluggable"] = true;
    break;
  }
  return json::Value(std::move(volume));
}

json::Value new_disk(const ActionCase& asked) {
  const auto options = asked.options<AddVolumeOptions>();
  json::Value disk(*options.disk().object(), asked.storage);
  disk.get_object()["name"] = text_of(options.name(), asked);
  return disk;
}

json::Array without(const json::Value* list, std::string_view name, const ActionCase& asked) {
  json::Array kept(asked.storage);
  if (const json::Array* all = json::as_array(list))
    for (const json::Value& item : *all)
      if (json::get_string_or(item, "name") != name) kept.push_back(item);
  return kept;
}

// --- patches
// ---------------------------------------------------------------------------------------------------------------

struct Lists {
  json::Array volumes, disks;
};

PatchObject spec_patch(const ActionCase& asked, Lists wanted, bool dry_run) {
  const auto spec = changed_spec(asked);
  const json::Value* volumes = spec.get("volumes");
  const json::Value* disks = spec.domain().devices().get("disks");
  const std::string root = is_machine(asked) ? "/spec/template/spec" : "/spec";
  const std::string volumes_path = root + "/volumes", disks_path = root + "/domain/devices/disks";
  json::PatchBuilder builder(asked.storage);
  builder.test(volumes_path, copy_of(volumes, asked)).test(disks_path, copy_of(disks, asked));
  const auto put = [&](const std::string& path, const json::Value* before, json::Array after) {
    const json::Array* list = json::as_array(before);
    if (list && !list->empty())
      builder.replace(path, json::Value(std::move(after)));
    else
      builder.add(path, json::Value(std::move(after)));
  };
  put(volumes_path, volumes, std::move(wanted.volumes));
  put(disks_path, disks, std::move(wanted.disks));
  return {.resource = is_machine(asked) ? machines : instances,
          .part = "",
          .operations = builder.take(),
          .dry_run = dry_run,
          .refused = Refused::invalid_or_internal};
}

PatchObject request_patch(const ActionCase& asked, json::Array wanted, bool dry_run) {
  constexpr std::string_view path = "/status/volumeRequests";
  const auto status = asked.vm().status();
  json::PatchBuilder builder(asked.storage);
  builder.test(path, copy_of(status.get("volumeRequests"), asked));
  if (status.volume_requests().empty())
    builder.add(path, json::Value(std::move(wanted)));
  else
    builder.replace(path, json::Value(std::move(wanted)));
  return {.resource = machines,
          .part = "status",
          .operations = builder.take(),
          .dry_run = dry_run,
          .refused = Refused::invalid_or_internal};
}

json::Value request_of(const ActionCase& asked, std::string_view member, json::Value options) {
  json::Object request(asked.storage);
  request.emplace(boost::json::string_view(member), std::move(options));
  return json::Value(std::move(request));
}

// The options as they were sent, with the names that the new disk and volume get.
json::Value add_options(const ActionCase& asked) {
  json::Value options(*asked.body, asked.storage);
  json::Object& members = options.get_object();
  members["disk"] = new_disk(asked);
  json::Value* source = json::find(members, "volumeSource");
  for (const std::string_view kind : {"dataVolume", "persistentVolumeClaim"})
    if (json::Object* found = json::get_object(*source, kind)) {
      (*found)["hotpluggable"] = true;
      break;
    }
  return options;
}

Decision request_added(const ActionCase& asked, bool dry_run) {
  const std::string_view name = asked_name(asked);
  for (const auto request : asked.vm().status().volume_requests()) {
    if (request.add_volume_options() && request.add_volume_options().name() == name)
      return fail(
          kind_conflict(asked, fmt::format("volume \"{}\" is already being added; wait until it completes", name)));
    if (request.remove_volume_options() && request.remove_volume_options().name() == name)
      return fail(kind_conflict(
          asked, fmt::format("volume \"{}\" is being removed; wait until it completes, or choose another name", name)));
  }
  json::Array wanted = copy_list(asked.vm().status().get("volumeRequests"), asked);
  wanted.push_back(request_of(asked, "addVolumeOptions", add_options(asked)));
  return effects(request_patch(asked, std::move(wanted), dry_run));
}

Decision request_removed(const ActionCase& asked, bool dry_run) {
  const std::string_view name = asked_name(asked);
  json::Array wanted(asked.storage);
  for (const auto request : asked.vm().status().volume_requests()) {
    if (request.remove_volume_options() && request.remove_volume_options().name() == name)
      return fail(
          kind_conflict(asked, fmt::format("volume \"{}\" is already being removed; wait until it completes", name)));
    const bool undone = request.add_volume_options() && request.add_volume_options().name() == name;
    if (!undone) wanted.emplace_back(*request.object());
  }
  wanted.push_back(request_of(asked, "removeVolumeOptions", json::Value(*asked.body, asked.storage)));
  return effects(request_patch(asked, std::move(wanted), dry_run));
}

// --- obstacles that both have
// ------------------------------------------------------------------------------------------------

bool belongs_to_machine(const VirtualMachineInstance& vmi) {
  for (const auto owner : vmi.metadata().owner_references())
    if (owner.controller() == true && owner.kind() == "VirtualMachine" && owner.api_version() == "kubevirt.io/v1")
      return true;
  return false;
}

std::optional<Status> find_obstacle(const ActionCase& asked, std::string_view refused) {
  if (is_machine(asked)) {
    if (asked.vm().spec().template_().spec()) return std::nullopt;
    return Status::bad_request(fmt::format("VM \"{}\" has no spec.template", asked.name));
  }
  if (!asked.enabled(config::Gate::hotplug_volumes) && belongs_to_machine(asked.vmi()))
    return Status::bad_request(
        fmt::format("VMI \"{0}\" belongs to a VM, whose spec would not change; use "
                    "virtualmachines/{0}, as `virtctl {1} {0} --persist` does",
                    asked.name, asked.action.name));
  if (asked.phase() != "Running") return not_running(asked, refused);
  return std::nullopt;
}

// Either the machine's controller is asked through its status, or the spec itself is changed.
bool by_request(const ActionCase& asked) { return is_machine(asked) && asked.enabled(config::Gate::hotplug_volumes); }

}  // namespace

std::optional<Status> check_hotplug(const ActionCase& asked) {
  if (asked.enabled(config::Gate::hotplug_volumes) || asked.enabled(config::Gate::declarative_hotplug_volumes))
    return std::nullopt;
  return Status::bad_request(
      "volumes cannot be hotplugged: the feature gates DeclarativeHotplugVolumes and "
      "HotplugVolumes are disabled; an administrator can remove the first from disabledFeatureGates of the KubeVirt "
      "object");
}

std::optional<Status> check_added_volume(const ActionCase& asked) {
  const auto options = asked.options<AddVolumeOptions>();
  if (options.name().empty()) return Status::bad_request("name is required: the name of the new volume");
  if (!options.disk()) return Status::bad_request("disk is required: how the guest sees the volume");
  if (!options.volume_source()) return Status::bad_request("volumeSource is required: the DataVolume or PVC to add");
  return std::nullopt;
}

std::optional<Status> check_removed_volume(const ActionCase& asked) {
  if (!asked_name(asked).empty()) return std::nullopt;
  return Status::bad_request("name is required: the volume to remove");
}

Decision decide_add_volume(const ActionCase& asked) {
  if (auto obstacle = find_obstacle(asked, "cannot add a volume")) return fail(std::move(*obstacle));
  const auto spec = changed_spec(asked);
  if (auto conflict = find_added_conflict(asked, spec.volumes())) return fail(std::move(*conflict));
  const bool dry_run = begins_with_dry_run(asked);
  if (by_request(asked)) return request_added(asked, dry_run);
  Lists wanted{.volumes = copy_list(spec.get("volumes"), asked),
               .disks = copy_list(spec.domain().devices().get("disks"), asked)};
  wanted.volumes.push_back(new_volume(asked));
  wanted.disks.push_back(new_disk(asked));
  return effects(spec_patch(asked, std::move(wanted), dry_run));
}

Decision decide_remove_volume(const ActionCase& asked) {
  if (auto obstacle = find_obstacle(asked, "cannot remove a volume")) return fail(std::move(*obstacle));
  const auto spec = changed_spec(asked);
  if (auto conflict = find_removed_conflict(asked, spec.volumes())) return fail(std::move(*conflict));
  const bool dry_run = begins_with_dry_run(asked);
  if (by_request(asked)) return request_removed(asked, dry_run);
  const std::string_view name = asked_name(asked);
  return effects(spec_patch(asked,
                            {.volumes = without(spec.get("volumes"), name, asked),
                             .disks = without(spec.domain().devices().get("disks"), name, asked)},
                            dry_run));
}

}  // namespace vg::actions
