// Volumes that shall be added to or removed from a VM and its running machine (spec vmi-storage-network 5.2).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "admission/defaults/edit.h"
#include "admission/rules/hotplug_disk.h"
#include "admission/rules/machine/machine.h"
#include "admission/rules/machine/name_index.h"
#include "admission/rules/vm_storage.h"
#include "api/canonical.h"
#include "api/canonical_words.h"
#include "api/schema.h"
#include "api/views/vm.h"
#include "api/views/vmi_volumes.h"
#include "base/time_rfc3339.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::View;
using api::kubevirt::AddVolumeOptions;
using api::kubevirt::RemoveVolumeOptions;
using api::kubevirt::VirtualMachineVolumeRequest;
using api::kubevirt::Volume;
using std::string_view;

constexpr string_view vmis = "kubevirt.io/virtualmachineinstances";
constexpr string_view requests_field = "Status.volumeRequests";  // upstream's spelling

// Volumes that are there: those of the template, or of the running machine.
struct Present {
  api::List<Volume> volumes;
  NameIndex names;

  explicit Present(const json::Value* list) : volumes(list), names(volumes) {}
  Volume named(string_view name) const {
    const auto found = names.last(name);
    return found ? volumes[*found] : Volume();
  }
};

struct Requests {
  const Case& judged;
  api::List<VirtualMachineVolumeRequest> all;
  const json::Value* vm_template;  // null without
  const json::Value* vmi;          // the running machine; null without
};

struct RequestAt {
  AddVolumeOptions add;
  RemoveVolumeOptions remove;
  bool repeated;  // the same was asked before
  const Present& in_template;
  const Present& in_machine;
};

// The source that is taken when there are two.
string_view source_of(const AddVolumeOptions& add) {
  const View source(add.get("volumeSource"));
  for (const string_view kind : {string_view("persistentVolumeClaim"), string_view("dataVolume")})
    if (View(source.get(kind))) return kind;
  return {};
}

// A volume of that name may be there already if it is the very one that is asked for.
bool is_the_same(const Volume& volume, const AddVolumeOptions& add) {
  const string_view kind = source_of(add);
  if (kind.empty()) return volume.object()->size() == 1;
  const View there(volume.get(kind)), wanted(View(add.get("volumeSource")).get(kind));
  return volume.object()->size() == 2 && there && *there.object() == *wanted.object();
}

void asks_one_thing(const RequestAt& at, Causes& causes) {
  if (at.add && at.remove)
    causes.invalid(requests_field,
                   "addVolumeOptions is mutually exclusive with removeVolumeOptions; send two "
                   "requests for both");
}

void asks_something(const RequestAt& at, Causes& causes) {
  if (!at.add && !at.remove) causes.invalid(requests_field, "addVolumeOptions or removeVolumeOptions is required");
}

void adds_once(const RequestAt& at, Causes& causes) {
  if (at.add && at.repeated)
    causes.invalid(requests_field, fmt::format("volume {} is added twice; send one request", in_words(at.add.name())));
}

void adds_a_disk_that_can_be_plugged(const RequestAt& at, Causes& causes) {
  if (at.add) check_hotplug_disk(api::kubevirt::Disk(at.add.get("disk")), at.add.name(), requests_field, causes);
}

void check_name_is_free(const RequestAt& at, const Present& present, string_view where, Causes& causes) {
  const Volume there = at.add ? present.named(at.add.name()) : Volume();
  if (there && !is_the_same(there, at.add))
    causes.invalid(requests_field,
                   fmt::format("volume {} already exists in {}; choose another name", in_words(at.add.name()), where));
}

void name_is_free_in_the_template(const RequestAt& at, Causes& causes) {
  check_name_is_free(at, at.in_template, "the template of the VM", causes);
}
void name_is_free_in_the_machine(const RequestAt& at, Causes& causes) {
  check_name_is_free(at, at.in_machine, "the VMI", causes);
}

void removes_once(const RequestAt& at, Causes& causes) {
  if (at.remove && at.repeated)
    causes.invalid(requests_field,
                   fmt::format("volume {} is removed twice; send one request", in_words(at.remove.name())));
}

constexpr RuleOn<RequestAt> request_rows[] = {
    {"VR-01", "addVolumeOptions and removeVolumeOptions are mutually exclusive", requests_field, asks_one_thing},
    {"VR-07", "addVolumeOptions or removeVolumeOptions is required", requests_field, asks_something},
    {"VR-02", "a volume must not be added twice", requests_field, adds_once},
    {"VR-03", "the disk of an added volume must support hotplug", requests_field, adds_a_disk_that_can_be_plugged},
    {"VR-04", "the name of an added volume must be unique in the template", requests_field,
     name_is_free_in_the_template},
    {"VR-05", "the name of an added volume must be unique in the VMI", requests_field, name_is_free_in_the_machine},
    {"VR-06", "a volume must not be removed twice", requests_field, removes_once},
};

// --- the machine as it will be ---

void add_volume(const AddVolumeOptions& add, json::Array& volumes, json::Array& disks) {
  json::Object& volume = edit::append_object(volumes);
  edit::set_text(volume, "name", add.name());
  if (const string_view kind = source_of(add); !kind.empty()) {
    json::Object& source = volume[kind].emplace_object();
    source = *View(View(add.get("volumeSource")).get(kind)).object();
    source["hotpluggable"] = true;
  }
  json::Object& disk = edit::append_object(disks);
  if (const View given(add.get("disk")); given) disk = *given.object();
  edit::set_text(disk, "name", add.name());
}

// Upstream carries the requests out one by one. As a name is added and removed at most once, it comes to this.
void apply(const Requests& requests, const Present& before, json::Object& spec) {
  std::map<string_view, std::size_t> removed;  // by which request
  for (std::size_t i = 0; i < requests.all.size(); ++i)
    if (const auto remove = requests.all[i].remove_volume_options(); remove) removed.emplace(remove.name(), i);
  std::set<string_view> there;
  for (const Volume volume : before.volumes)
    if (!removed.contains(volume.name())) there.insert(volume.name());

  json::Array& disks = json::ensure_array(json::ensure_path(spec, {"domain", "devices"}), "disks");
  json::Array& volumes = json::ensure_array(spec, "volumes");  // last: members of spec move when it grows
  const auto is_removed = [&](const json::Value& item) { return removed.contains(json::get_string_or(item, "name")); };
  for (json::Array* list : {&volumes, &disks})
    list->erase(std::remove_if(list->begin(), list->end(), is_removed), list->end());
  for (std::size_t i = 0; i < requests.all.size(); ++i) {
    const auto add = requests.all[i].add_volume_options();
    if (!add) continue;
    const auto gone = removed.find(add.name());
    if ((gone == removed.end() || gone->second < i) && there.insert(add.name()).second) add_volume(add, volumes, disks);
  }
}

// `machine`: a template or a VMI; both are told of as the template.
void check_applied(const Requests& requests, const json::Value& machine, Causes& causes) {
  const Case& judged = requests.judged;
  const json::Value* spec = json::find(machine, "spec");
  json::Value changed(boost::json::object_kind, judged.context.storage);
  if (View(spec)) changed = *spec;
  apply(requests, Present(json::find_path(machine, {"spec", "volumes"})), changed.get_object());
  const Place root, in_spec = root.field("spec"), in_template = in_spec.field("template"),
                    place = in_template.field("spec"), metadata_place = in_template.field("metadata");
  check_machine_spec({.judged = judged,
                      .spec = api::kubevirt::VirtualMachineInstanceSpec(&changed),
                      .metadata = json::find(machine, "metadata"),
                      .place = place,
                      .metadata_place = metadata_place},
                     causes);
}

void template_stays_sound(const Requests& requests, Causes& causes) {
  if (requests.vm_template) return check_applied(requests, *requests.vm_template, causes);
  causes.required("spec.template", "volumes cannot be added or removed without spec.template; set it");
}

void running_machine_stays_sound(const Requests& requests, Causes& causes) {
  if (requests.vmi) check_applied(requests, *requests.vmi, causes);
}

void machine_stays_where_it_is(const Requests& requests, Causes& causes) {
  if (!requests.vmi) return;
  const View state(json::find_path(*requests.vmi, {"status", "migrationState"}));
  const auto is_past = [&](string_view member) {
    const auto time = parse_rfc3339(api::Read<string_view>::or_zero(state.get(member)));
    return time && *time <= Timestamp::from(requests.judged.context.now);
  };
  if (is_past("startTimestamp") && !is_past("endTimestamp"))
    causes.not_supported("spec", "volumes cannot be added or removed during a migration; wait until it completes");
}

constexpr RuleOn<Requests> outcome_rows[] = {
    {"VR-08", "the template must be valid after all requests", "spec.template.spec", template_stays_sound},
    {"VR-09", "the VMI must be valid after all requests", "spec.template.spec", running_machine_stays_sound},
    {"VR-10", "the VMI must not be migrating", "spec", machine_stays_where_it_is},
};

// The machine that runs now, when the requests are for it as well; null when there is none.
Result<const json::Value*> running_machine(const Case& judged) {
  if (!json::as_bool(json::find_path(*judged.object, {"status", "ready"})).value_or(false)) return nullptr;
  const auto member = [&](string_view name) {
    return json::as_string(json::find_path(*judged.object, {"metadata", name})).value_or("");
  };
  const auto found = judged.context.lookups.get(vmis, member("namespace"), member("name"), judged.context.storage);
  if (!found) return fail(found.error());
  if (!*found || json::find_path(**found, {"metadata", "deletionTimestamp"})) return nullptr;
  static const api::Type& type = *api::find_kind("kubevirt.io", "", "VirtualMachineInstance")->type;
  if (auto good = api::canonicalize(**found, type, {}, api::Empties::kept); !good) return fail(std::move(good.error()));
  return *found;
}

bool check_each(const Requests& requests, Causes& causes) {
  const auto volumes_of = [](const json::Value* machine) {
    return Present(machine ? json::find_path(*machine, {"spec", "volumes"}) : nullptr);
  };
  const Present in_template = volumes_of(requests.vm_template), in_machine = volumes_of(requests.vmi);
  std::set<string_view> added, removed;
  for (const auto request : requests.all) {
    const auto add = request.add_volume_options();
    const auto remove = request.remove_volume_options();
    const bool repeated =
        (add && !added.insert(add.name()).second) || (remove && !removed.insert(remove.name()).second);
    if (!ask_until_broken<request_rows>(RequestAt{.add = add,
                                                  .remove = remove,
                                                  .repeated = repeated,
                                                  .in_template = in_template,
                                                  .in_machine = in_machine},
                                        causes))
      return false;
  }
  return true;
}

}  // namespace

void check_volume_requests(const Case& judged, Causes& causes) {
  const api::List<VirtualMachineVolumeRequest> all(json::find_path(*judged.object, {"status", "volumeRequests"}));
  if (all.empty()) return;
  const auto vmi = running_machine(judged);
  if (!vmi) return causes.error(fmt::format("the VMI cannot be read: {}", vmi.error().message));
  const json::Value* machine_template = json::find_path(*judged.object, {"spec", "template"});
  const Requests requests{
      .judged = judged, .all = all, .vm_template = View(machine_template) ? machine_template : nullptr, .vmi = *vmi};
  if (check_each(requests, causes)) ask_until_broken<outcome_rows>(requests, causes);
}

void list_volume_request_rules(std::vector<RuleInfo>& out) {
  list_rows<request_rows>(out);
  list_hotplug_disk_rules(out);
  list_rows<outcome_rows>(out);
}

}  // namespace vg::admission
