// Writes to the status of a machine (spec work-objects 5). The rules of the machine with the requested volumes applied
// (ST13) are not here yet.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "admission/rules/hotplug_disk.h"
#include "admission/rules/tables.h"
#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "base/time_rfc3339.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::View;
using std::string_view;

constexpr string_view vmis = "kubevirt.io/virtualmachineinstances";
constexpr string_view requests_field = "Status.volumeRequests";

string_view text(const View& view, string_view name) { return api::Read<string_view>::or_zero(view.get(name)); }

api::List<View> requests(const Case& about) {
  return api::List<View>(json::find_path(*about.object, {"status", "volumeRequests"}));
}

// What a request asks for, whichever way: its name is empty when it asks for nothing, or for both.
struct Asked {
  View add, remove;
  explicit Asked(const View& request)
      : add(request.get("addVolumeOptions")), remove(request.get("removeVolumeOptions")) {}
  bool is_clear() const { return static_cast<bool>(add) != static_cast<bool>(remove); }
  string_view name() const { return text(add ? add : remove, "name"); }
};

void requests_are_clear(const Case& about, Causes& causes) {
  for (const View request : requests(about))
    if (!Asked(request).is_clear())
      return causes.invalid(requests_field,
                            "a volume request either adds a volume or removes one; give one of "
                            "addVolumeOptions and removeVolumeOptions");
}

void requests_differ(const Case& about, Causes& causes) {
  std::vector<string_view> added, removed;
  for (const View request : requests(about)) {
    const Asked asked(request);
    auto& seen = asked.add ? added : removed;
    if (std::ranges::find(seen, asked.name()) != seen.end())
      return causes.invalid(requests_field, fmt::format("volume {} is {} twice; ask once", in_words(asked.name()),
                                                        asked.add ? "added" : "removed"));
    seen.push_back(asked.name());
  }
}

void disks_can_be_plugged(const Case& about, Causes& causes) {
  for (const View request : requests(about)) {
    const Asked asked(request);
    if (!asked.add) continue;
    check_hotplug_disk(api::kubevirt::Disk(asked.add.get("disk")), asked.name(), requests_field, causes);
    if (!causes.empty()) return;
  }
}

// The machine that runs now, when the requests are for it as well; null when there is none.
Result<const json::Value*> running_machine(const Case& about) {
  if (requests(about).empty() || !json::as_bool(json::find_path(*about.object, {"status", "ready"})).value_or(false))
    return nullptr;
  const auto member = [&](string_view name) {
    return json::as_string(json::find_path(*about.object, {"metadata", name})).value_or("");
  };
  const auto found = about.context.lookups.get(vmis, member("namespace"), member("name"), about.context.storage);
  if (!found) return fail(found.error());
  if (!*found || json::find_path(**found, {"metadata", "deletionTimestamp"})) return nullptr;
  return *found;
}

// A volume of that name may be there already if it is the very one that is asked for.
bool is_the_same(const View& volume, const View& add) {
  const View source(add.get("volumeSource"));
  for (const string_view kind : {string_view("persistentVolumeClaim"), string_view("dataVolume")}) {
    const View wanted(source.get(kind)), there(volume.get(kind));
    if (static_cast<bool>(wanted) != static_cast<bool>(there)) return false;
    if (wanted && *wanted.object() != *there.object()) return false;
  }
  return volume.object()->size() <= 2;
}

void check_names_free(const Case& about, const json::Value* volumes, string_view where, Causes& causes) {
  const api::List<View> all(volumes);
  for (const View request : requests(about)) {
    const Asked asked(request);
    if (!asked.add) continue;
    for (const View volume : all)
      if (text(volume, "name") == asked.name() && !is_the_same(volume, asked.add))
        return causes.invalid(requests_field, fmt::format("there is another volume {} in {}; choose another name",
                                                          in_words(asked.name()), where));
  }
}

void names_are_free(const Case& about, Causes& causes) {
  check_names_free(about, json::find_path(*about.object, {"spec", "template", "spec", "volumes"}), "the template",
                   causes);
  if (!causes.empty()) return;
  const auto vmi = running_machine(about);
  if (!vmi) return causes.error(vmi.error().message);
  if (*vmi) check_names_free(about, json::find_path(**vmi, {"spec", "volumes"}), "the running machine", causes);
}

bool is_migrating(const json::Value& vmi, Clock::Wall now) {
  const View state(json::find_path(vmi, {"status", "migrationState"}));
  const auto is_past = [&](string_view member) {
    const auto time = parse_rfc3339(text(state, member));
    return time && *time <= Timestamp::from(now);
  };
  return state && is_past("startTimestamp") && !is_past("endTimestamp");
}

void machine_stays_where_it_is(const Case& about, Causes& causes) {
  const auto vmi = running_machine(about);
  if (!vmi) return causes.error(vmi.error().message);
  if (*vmi && is_migrating(**vmi, about.context.now))
    causes.not_supported("spec", "volumes cannot be added or removed while the machine migrates; wait for its end");
}

bool same_run_state(const Case& about) {
  for (const string_view member : {string_view("running"), string_view("runStrategy")}) {
    const json::Value* after = json::find_path(*about.object, {"spec", member});
    const json::Value* before = json::find_path(*about.old_object, {"spec", member});
    if (after && before) return *after == *before;
  }
  return false;
}

void snapshot_is_undisturbed(const Case& about, Causes& causes) {
  if (!about.old_object || !json::find_path(*about.object, {"status", "snapshotInProgress"})) return;
  if (unchanged(about, {"spec", "template", "spec", "volumes"}) && same_run_state(about)) return;
  causes.not_supported("spec", "a snapshot is being taken; volumes and run state cannot change until it is done");
}

string_view run_strategy(const json::Value& machine) {
  const auto running = json::as_bool(json::find_path(machine, {"spec", "running"}));
  const auto strategy = json::as_string(json::find_path(machine, {"spec", "runStrategy"}));
  if (running && strategy) return "";
  if (running) return *running ? "Always" : "Halted";
  return strategy.value_or("Halted");
}

void restore_is_undisturbed(const Case& about, Causes& causes) {
  if (!about.old_object || !json::find_path(*about.object, {"status", "restoreInProgress"})) return;
  if (unchanged(about, {"spec"}) || run_strategy(*about.object) == run_strategy(*about.old_object)) return;
  causes.not_supported("spec", "the machine is being restored; its run strategy cannot change until it is done");
}

constexpr Rule rules[] = {
    Rule{"ST07", "a volume request adds or removes", requests_field, requests_are_clear}.stops(),
    Rule{"ST08", "no volume is added or removed twice", requests_field, requests_differ}.stops(),
    Rule{"ST09", "added disks can be plugged in", requests_field, disks_can_be_plugged}.stops(),
    Rule{"ST11", "added volumes have names of their own", requests_field, names_are_free}.stops(),
    Rule{"ST14", "the machine does not migrate meanwhile", "spec", machine_stays_where_it_is}.stops(),
    Rule{"ST15", "a snapshot is not disturbed", "spec", snapshot_is_undisturbed}.on(When::update).stops(),
    Rule{"ST16", "a restore is not disturbed", "spec", restore_is_undisturbed}.on(When::update).stops(),
};

}  // namespace

std::span<const Rule> status_rules() { return rules; }

}  // namespace vg::admission
