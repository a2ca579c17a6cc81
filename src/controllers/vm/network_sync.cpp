#include "controllers/vm/network_sync.h"

#include <algorithm>

#include "controllers/common/owners.h"
#include "controllers/vm/hotplug.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

constexpr string_view network_error = "HotPlugNetworkInterfaceError";

string_view name_of(const Object& item) { return json::get_string_or(item, "name"); }
string_view state_of(const Object& interface) { return json::get_string_or(interface, "state"); }
bool is_absent(const Object& interface) { return state_of(interface) == "absent"; }

const Array* reported_interfaces(const Object* vmi) {
  const Object* status = vmi ? status_of(*vmi) : nullptr;
  return status ? json::get_array(*status, "interfaces") : nullptr;
}

struct Lists {
  Array interfaces, networks;
};

// VMC-120
void plug(Lists& lists, const Object& machine) {
  each(interfaces_of(&machine), [&](const Object& interface) {
    const bool pluggable = json::get_object(interface, "bridge") || json::get_object(interface, "sriov");
    if (is_absent(interface) || !pluggable || named(&lists.interfaces, name_of(interface))) return;
    lists.interfaces.emplace_back(interface);
    if (const Object* network = named(networks_of(&machine), name_of(interface))) lists.networks.emplace_back(*network);
  });
}

// VMC-121
void take_states(Lists& lists, const Object& machine) {
  for (Value& value : lists.interfaces) {
    Object* interface = value.if_object();
    const Object* wanted = interface ? named(interfaces_of(&machine), name_of(*interface)) : nullptr;
    if (!wanted || is_absent(*interface) || state_of(*wanted) == state_of(*interface)) continue;
    if (state_of(*wanted).empty())
      json::erase(*interface, "state");
    else
      edit::set_text(*interface, "state", state_of(*wanted));
  }
}

// VMC-122a: what is gone from the guest goes from the spec; networks stand in the order of interfaces.
void unplug(Lists& lists, const Array* reported, const json::StoragePtr& storage) {
  lists.interfaces = filtered(&lists.interfaces, storage, [&](const Object& interface) {
    return !is_absent(interface) || named(reported, name_of(interface));
  });
  Array networks(storage);
  each(&lists.interfaces, [&](const Object& interface) {
    if (const Object* network = named(&lists.networks, name_of(interface))) networks.emplace_back(*network);
  });
  lists.networks = std::move(networks);
}

// VMC-122b
void take_network_names(Lists& lists, const Object& machine) {
  for (Value& value : lists.networks) {
    Object* multus = json::get_object(value, "multus");
    const Object* wanted = named(networks_of(&machine), json::get_string_or(value, "name"));
    const Object* other = wanted ? json::get_object(*wanted, "multus") : nullptr;
    if (multus && other) edit::set_text(*multus, "networkName", json::get_string_or(*other, "networkName"));
  }
}

void set_lists(Object& spec, Lists lists) {
  Object& devices = json::ensure_path(spec, {"domain", "devices"});
  const auto put = [](Object& in, string_view member, Array list) {
    if (list.empty())
      json::erase(in, member);
    else
      in[member] = std::move(list);
  };
  put(devices, "interfaces", std::move(lists.interfaces));
  put(spec, "networks", std::move(lists.networks));
}

void sync_vmi(Work& work, const Object& machine) {
  const Object* running = at(work.vmi_object(), {"spec"});
  if (!running) return;
  Lists lists{.interfaces = copy_of(interfaces_of(running), work.storage()),
              .networks = copy_of(networks_of(running), work.storage())};
  plug(lists, machine);
  take_states(lists, machine);
  unplug(lists, reported_interfaces(work.vmi_object()), work.storage());
  take_network_names(lists, machine);
  const Value interfaces(lists.interfaces, work.storage()), networks(lists.networks, work.storage());
  if (same_values(Type::vmi, {"spec", "domain", "devices", "interfaces"}, &interfaces,
                  value_at(running, {"domain", "devices", "interfaces"})) &&
      same_values(Type::vmi, {"spec", "networks"}, &networks, value_at(running, {"networks"})))
    return;
  set_lists(json::ensure_object(work.edit_vmi(network_error), "spec"), std::move(lists));
}

// VMC-122c
void forget_absent(Work& work, const Object& machine) {
  const Array* running = interfaces_of(at(work.vmi_object(), {"spec"}));
  const Array* reported = reported_interfaces(work.vmi_object());
  const auto stays = [&](const Object& interface) {
    return !is_absent(interface) || named(running, name_of(interface)) || named(reported, name_of(interface));
  };
  const Array* interfaces = interfaces_of(&machine);
  if (!interfaces || std::ranges::all_of(*interfaces, [&](const Value& value) {
        const Object* interface = value.if_object();
        return !interface || stays(*interface);
      }))
    return;
  Lists lists{.interfaces = filtered(interfaces, work.storage(), stays), .networks = Array(work.storage())};
  lists.networks = filtered(networks_of(&machine), work.storage(), [&](const Object& network) {
    const Object* interface = named(interfaces, name_of(network));
    return !interface || stays(*interface);
  });
  set_lists(json::ensure_path(work.vm.edit(), {"spec", "template", "spec"}), std::move(lists));
}

}  // namespace

void sync_interfaces(Work& work) {
  const Object* machine = template_spec_of(work.vm_object());
  if (!machine || (work.stored_vmi && work.is_vmi_deleted())) return;
  if (work.vmi) sync_vmi(work, *machine);
  forget_absent(work, *machine);
}

}  // namespace vg::controllers::vm
