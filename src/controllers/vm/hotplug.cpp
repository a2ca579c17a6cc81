#include "controllers/vm/hotplug.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

constexpr string_view hotplug_error = "HotPlugVolumeError";
constexpr std::initializer_list<string_view> volumes_path = {"spec", "volumes"};
constexpr std::initializer_list<string_view> disks_path = {"spec", "domain", "devices", "disks"};

string_view name_of(const Object& item) { return json::get_string_or(item, "name"); }

const Array* requests_of(const Object* vm_status) {
  return vm_status ? json::get_array(*vm_status, "volumeRequests") : nullptr;
}

// --- requests --------------------------------------------------------------------------------------------------------

struct Lists {
  Array volumes, disks;
};

// VMC-110: the volume of a request, which takes a claim before a DataVolume.
Value requested_volume(const Object& options, const json::StoragePtr& storage) {
  Value volume({{"name", name_of(options)}}, storage);
  for (const string_view kind : {"persistentVolumeClaim", "dataVolume"})
    if (const Object* source = at(&options, {"volumeSource", kind})) {
      volume.get_object()[kind] = *source;
      (*json::get_object(volume, kind))["hotpluggable"] = true;
      break;
    }
  return volume;
}

Value requested_disk(const Object& options, const json::StoragePtr& storage) {
  const Object* disk = json::get_object(options, "disk");
  Value made = disk ? Value(*disk, storage) : Value(boost::json::object_kind, storage);
  edit::set_text(made.get_object(), "name", name_of(options));
  return made;
}

// The machine's lists after the request; nothing when they are so already.
std::optional<Lists> after_request(const Object& request, const Object* machine, const json::StoragePtr& storage) {
  if (const Object* options = json::get_object(request, "addVolumeOptions")) {
    if (named(volumes_of(machine), name_of(*options))) return std::nullopt;
    Lists lists{.volumes = copy_of(volumes_of(machine), storage), .disks = copy_of(disks_of(machine), storage)};
    lists.volumes.push_back(requested_volume(*options, storage));
    lists.disks.push_back(requested_disk(*options, storage));
    return lists;
  }
  const Object* options = json::get_object(request, "removeVolumeOptions");
  if (!options) return std::nullopt;
  const auto others = [&](const Object& item) { return name_of(item) != name_of(*options); };
  if (!named(volumes_of(machine), name_of(*options)) && !named(disks_of(machine), name_of(*options)))
    return std::nullopt;
  return Lists{.volumes = filtered(volumes_of(machine), storage, others),
               .disks = filtered(disks_of(machine), storage, others)};
}

// VMC-111: what the actions addvolume and removevolume of the VMI would do.
void change_vmi(Work& work, const Object& request) {
  auto lists = after_request(request, at(work.vmi_object(), {"spec"}), work.storage());
  if (!lists) return;
  if (!work.turn.config.enabled(config::Gate::hotplug_volumes))
    return work.fail(hotplug_error, "the VMI belongs to a VM, and the feature gate HotplugVolumes is disabled");
  if (phase_of(*work.stored_vmi) != "Running")
    return work.fail(hotplug_error,
                     fmt::format("volumes of VMI \"{}\" cannot be changed: it is not running", work.turn.key.name));
  Object& spec = json::ensure_object(work.edit_vmi(hotplug_error), "spec");
  set_volumes(spec, std::move(lists->volumes));
  set_disks(spec, std::move(lists->disks));
}

// --- declarative -----------------------------------------------------------------------------------------------------

bool is_declarative(const Work& work) {
  const auto& config = work.turn.config;
  return config.enabled(config::Gate::declarative_hotplug_volumes) && !config.enabled(config::Gate::hotplug_volumes) &&
         json::get_string_or(*spec_of(work.vm_object()), "updateVolumesStrategy") != "Migration" &&
         phase_of(*work.stored_vmi) == "Running";
}

// VMC-115, VMC-116
Array wanted_volumes(const Work& work, const Object& machine, const Object& running) {
  const Array* wanted = volumes_of(&machine);
  const Array* present = volumes_of(&running);
  Array volumes = filtered(present, work.storage(), [&](const Object& volume) {
    if (!is_hotpluggable(volume)) return true;
    const Object* other = named(wanted, name_of(volume));
    return other && (!is_hotpluggable(*other) || same_items(Type::vmi, volumes_path, volume, *other));
  });
  const Object* status = status_of(*work.stored_vmi);
  const Array* statuses = status ? json::get_array(*status, "volumeStatus") : nullptr;
  each(wanted, [&](const Object& volume) {
    if (is_hotpluggable(volume) && !named(present, name_of(volume)) && !named(statuses, name_of(volume)))
      volumes.emplace_back(volume);
  });
  return volumes;
}

// VMC-117, VMC-118
Array wanted_disks(const Work& work, const Object& machine, const Object& running, const Array& volumes) {
  Array disks = filtered(disks_of(&running), work.storage(), [&](const Object& disk) {
    if (named(&volumes, name_of(disk))) return true;
    const Object* other = named(disks_of(&machine), name_of(disk));
    return other && (!named(volumes_of(&machine), name_of(disk)) || (is_cdrom(disk) && is_cdrom(*other)));
  });
  each(disks_of(&machine), [&](const Object& disk) {
    const Object* volume = named(&volumes, name_of(disk));
    if (volume && is_hotpluggable(*volume) && !named(disks_of(&running), name_of(disk))) disks.emplace_back(disk);
  });
  return disks;
}

}  // namespace

Array copy_of(const Array* list, const json::StoragePtr& storage) {
  return list ? Array(*list, storage) : Array(storage);
}

void set_volumes(Object& spec, Array volumes) {
  if (volumes.empty())
    json::erase(spec, "volumes");
  else
    spec["volumes"] = std::move(volumes);
}

void set_disks(Object& spec, Array disks) {
  Object& devices = json::ensure_path(spec, {"domain", "devices"});
  if (disks.empty())
    json::erase(devices, "disks");
  else
    devices["disks"] = std::move(disks);
}

void handle_volume_requests(Work& work) {
  const Array* requests = requests_of(status_of(work.stored_vm));
  if (!requests) return;
  for (const Value& value : *requests) {
    const Object* request = value.if_object();
    if (!request) continue;
    if (auto lists = after_request(*request, template_spec_of(work.vm_object()), work.storage())) {
      Object& machine = json::ensure_path(work.vm.edit(), {"spec", "template", "spec"});
      set_volumes(machine, std::move(lists->volumes));
      set_disks(machine, std::move(lists->disks));
    }
    if (work.vmi && !work.is_vmi_deleted()) change_vmi(work, *request);
    if (work.failed()) return;
  }
}

void sync_hotplugged_volumes(Work& work) {
  if (!work.vmi || !is_declarative(work)) return;
  const Object* machine = template_spec_of(work.vm_object());
  const Object* running = at(work.vmi_object(), {"spec"});
  if (!machine || !running) return;
  Array volumes = wanted_volumes(work, *machine, *running);
  Array disks = wanted_disks(work, *machine, *running, volumes);
  const Value volumes_value(volumes, work.storage()), disks_value(disks, work.storage());
  if (same_values(Type::vmi, volumes_path, &volumes_value, value_at(running, {"volumes"})) &&
      same_values(Type::vmi, disks_path, &disks_value, value_at(running, {"domain", "devices", "disks"})))
    return;  // VMC-119
  Object& spec = json::ensure_object(work.edit_vmi(hotplug_error), "spec");
  set_volumes(spec, std::move(volumes));
  set_disks(spec, std::move(disks));
}

void drop_done_volume_requests(Object& status, const Object& vm) {
  const Array* requests = requests_of(&status);
  if (!requests) return;
  const Object* machine = template_spec_of(vm);
  Array kept = filtered(requests, status.storage(), [&](const Object& request) {
    const Object* added = json::get_object(request, "addVolumeOptions");
    const Object* removed = json::get_object(request, "removeVolumeOptions");
    const string_view name = added ? name_of(*added) : removed ? name_of(*removed) : string_view();
    const bool volume = named(volumes_of(machine), name) != nullptr, disk = named(disks_of(machine), name) != nullptr;
    return added ? !(volume && disk) : volume || disk;
  });
  if (kept.empty())
    json::erase(status, "volumeRequests");
  else
    status["volumeRequests"] = std::move(kept);
}

}  // namespace vg::controllers::vm
