#include "controllers/vm/restart_required.h"

#include <algorithm>

#include "admission/instancetype/expand.h"
#include "controllers/common/owners.h"
#include "controllers/vm/instancetypes.h"
#include "controllers/vm/revisions.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers::vm {
namespace {

constexpr std::initializer_list<string_view> volume_path = {"spec", "template", "spec", "volumes"};
constexpr std::initializer_list<string_view> disk_path = {"spec", "template", "spec", "domain", "devices", "disks"};

bool all_of(const Array* list, auto&& holds) {
  return !list || std::ranges::all_of(*list, [&](const Value& item) {
    const Object* object = item.if_object();
    return !object || holds(*object);
  });
}

string_view name_of(const Object& item) { return json::get_string_or(item, "name"); }

// Gives `to` what `from` has at this place: nothing, if that is it.
void copy_at(const Object& from, Object& to, std::initializer_list<string_view> parents, string_view member) {
  const Object* source = at(&from, parents);
  const Value* value = source ? json::find(*source, member) : nullptr;
  if (!value) {
    Object* target = &to;
    for (const string_view name : parents) target = target ? json::get_object(*target, name) : nullptr;
    if (target) json::erase(*target, member);
    return;
  }
  json::ensure_path(to, parents)[member] = *value;
}

// VMC-100d
void copy_live_fields(const Object& cur, Object& last) {
  if (at(&cur, {"domain", "cpu"}) && at(&last, {"domain", "cpu"})) copy_at(cur, last, {"domain", "cpu"}, "sockets");
  if (value_at(&cur, {"domain", "memory", "guest"})) copy_at(cur, last, {"domain", "memory"}, "guest");
  for (const string_view member : {"nodeSelector", "affinity", "tolerations"}) copy_at(cur, last, {}, member);
}

// VMC-100f: a firmware UUID that was made up at the start is the same as none.
void copy_firmware_uuid(const Object& vmi, const Object& cur, Object& last) {
  const Object* running = at(&vmi, {"spec", "domain", "firmware"});
  const Object* wanted = at(&cur, {"domain", "firmware"});
  if (!running || !wanted || json::get_string_or(*running, "uuid") != json::get_string_or(*wanted, "uuid")) return;
  copy_at(cur, last, {"domain", "firmware"}, "uuid");
}

// Two items that agree in everything but one member.
bool agree_but_for(const Object& one, const Object& other, string_view member) {
  const auto without = [&](const Object& item) {
    Object copy(item);
    json::erase(copy, member);
    return copy;
  };
  return json::equal(without(one), without(other));
}

bool networks_agree(const Object& one, const Object& other) {
  const auto plain = [](const Object& network) {
    Object copy(network);
    if (Object* multus = json::get_object(copy, "multus")) json::erase(*multus, "networkName");
    return copy;
  };
  return json::equal(plain(one), plain(other));
}

bool has_pod_network(const Object& spec) {
  return !all_of(networks_of(&spec), [](const Object& network) { return !json::get_object(network, "pod"); });
}

// A VM as it was at some time, with instance type and preference applied; nothing when they cannot be.
std::optional<Value> applied(const Object& spec, const admission::Chosen& chosen, const json::StoragePtr& storage) {
  const Object* machine_template = at(&spec, {"template"});
  Value copy = machine_template ? Value(*machine_template, storage) : Value(boost::json::object_kind, storage);
  if (!admission::apply_chosen(chosen, copy.get_object())) return std::nullopt;
  return copy;
}

// The VM of the last start: its own name and namespace, and no status, since the revisions in use stand in its spec.
Result<admission::Chosen> chosen_at_start(const Work& work, const Object& last) {
  Value vm({{"metadata", *json::find(work.stored_vm, "metadata")}, {"spec", *json::find(last, "spec")}},
           work.storage());
  return chosen_by(vm.get_object(), work.turn);
}

// True when nothing in the template can differ: the VMI shows the VM's generation, and only a template of which nothing
// changed is ever shown.
bool is_as_started(const Work& work) {
  return !names_instancetype_or_preference(work.vm_object()) &&
         annotation_of(*work.vmi_object(), generation_annotation) == std::to_string(generation_of(work.stored_vm));
}

// VMC-100b to VMC-100f: what may differ is made equal.
void level(const Work& work, Object& cur, Object& last) {
  const Object& vm = work.vm_object();
  const bool migrates = json::get_string_or(*spec_of(vm), "updateVolumesStrategy") == "Migration";
  if (volumes_are_live(cur, last, migrates)) copy_at(cur, last, {}, "volumes");
  if (disks_are_live(cur, last)) copy_at(cur, last, {"domain", "devices"}, "disks");
  if (work.turn.config.live_update()) copy_live_fields(cur, last);
  const Object* vmi_spec = at(work.vmi_object(), {"spec"});
  if (vmi_spec && !network_needs_restart(cur, *vmi_spec)) {
    copy_at(cur, last, {"domain", "devices"}, "interfaces");
    copy_at(cur, last, {}, "networks");
  }
  copy_firmware_uuid(*work.vmi_object(), cur, last);
}

}  // namespace

bool volumes_are_live(const Object& cur, const Object& last, bool migrates) {
  const Array* now = volumes_of(&cur);
  const Array* before = volumes_of(&last);
  const bool current = all_of(now, [&](const Object& volume) {
    if (is_hotpluggable_or_dump(volume)) return true;
    const Object* old = named(before, name_of(volume));
    if (!old) return false;
    const bool movable = json::get_object(volume, "persistentVolumeClaim") || json::get_object(volume, "dataVolume");
    return (migrates && movable) || same_items(Type::vm, volume_path, volume, *old);
  });
  return current &&
         all_of(before, [&](const Object& old) { return named(now, name_of(old)) || is_hotpluggable_or_dump(old); });
}

bool disks_are_live(const Object& cur, const Object& last) {
  const Array* now = disks_of(&cur);
  const Array* before = disks_of(&last);
  const bool current = all_of(now, [&](const Object& disk) {
    const Object* volume = named(volumes_of(&cur), name_of(disk));
    if (volume && is_hotpluggable_or_dump(*volume)) return true;
    const Object* old = named(before, name_of(disk));
    return old && same_items(Type::vm, disk_path, disk, *old);
  });
  return current && all_of(before, [&](const Object& old) {
           if (named(now, name_of(old))) return true;
           const Object* volume = named(volumes_of(&last), name_of(old));
           return (!volume || is_hotpluggable_or_dump(*volume)) && !is_cdrom(old);
         });
}

bool network_needs_restart(const Object& machine, const Object& vmi_spec) {
  const bool interfaces = all_of(interfaces_of(&vmi_spec), [&](const Object& there) {
    const Object* wanted = named(interfaces_of(&machine), name_of(there));
    return wanted && agree_but_for(there, *wanted, "state");
  });
  const bool networks = all_of(networks_of(&vmi_spec), [&](const Object& there) {
    const Object* wanted = named(networks_of(&machine), name_of(there));
    return wanted && networks_agree(there, *wanted);
  });
  return !interfaces || !networks || (has_pod_network(machine) && !has_pod_network(vmi_spec));
}

bool compare_with_start(Work& work) {
  if (!work.vmi) return false;
  if (is_as_started(work)) {
    work.outcome.restart.drop();
    return false;
  }
  const auto last = last_start(work);
  if (!last || !spec_of(last->get_object())) return false;
  const auto chosen = chosen_at_start(work, last->get_object());
  if (!chosen) return false;
  auto cur_template = applied(*spec_of(work.vm_object()), work.chosen, work.storage());
  auto last_template = applied(*spec_of(last->get_object()), *chosen, work.storage());
  if (!cur_template || !last_template) return false;  // VMC-100a
  Object& cur = json::ensure_object(cur_template->get_object(), "spec");
  Object& old = json::ensure_object(last_template->get_object(), "spec");
  level(work, cur, old);
  const Value cur_spec(cur, work.storage()), old_spec(old, work.storage());
  if (same_values(Type::vm, {"spec", "template", "spec"}, &cur_spec, &old_spec)) {
    work.outcome.restart.drop();  // VMC-100h
    return false;
  }
  work.outcome.restart.set("the template was changed in something that cannot be updated while the VM runs");
  return true;  // VMC-100g
}

}  // namespace vg::controllers::vm
