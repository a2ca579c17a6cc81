#include "controllers/snapshot/status.h"

#include <algorithm>
#include <array>
#include <set>

#include "controllers/common/owners.h"
#include "controllers/copies/writing.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::snapshot {
namespace {

struct Indication {
  string_view name, message;
};
constexpr std::array<Indication, 6> indications{{
    {"GuestAgent", "The guest agent was asked to freeze the file systems of the guest while the snapshot was taken."},
    {"NoGuestAgent",
     "No guest agent is connected, so the file systems were not frozen: the snapshot is as consistent "
     "as a disk after a power cut."},
    {"Online", "The VM was running while the snapshot was taken."},
    {"PartialSnapshot", "Some volumes that could be snapshotted are not in the snapshot."},
    {"Paused",
     "The VM was paused while the snapshot was taken, so that its file systems were not frozen: the snapshot "
     "is as consistent as a disk after a power cut."},
    {"QuiesceTimeout", "The file systems were frozen, but the guest thawed them before the snapshot was complete."},
}};

void copy_member(Object& to, const Object& from, string_view member) {
  if (const Value* value = json::find(from, member))
    to[member] = *value;
  else
    json::erase(to, member);
}

bool quiesce_timed_out(const Object& status) {
  const Object* error = json::get_object(status, "error");
  return error && json::get_string_or(*error, "message").find("fsfreeze is limited") != string_view::npos;
}

std::set<std::string, std::less<>> kept_indications(const Object& status) {
  std::set<std::string, std::less<>> kept;
  if (const Array* names = json::get_array(status, "indications"))
    for (const Value& name : *names)
      if (const auto word = json::as_string(&name)) kept.emplace(*word);
  return kept;
}

// Only those that are known have words.
void write_indications(Object& status, const std::set<std::string, std::less<>>& names) {
  Array words(status.storage()), told(status.storage());
  for (const Indication& one : indications) {
    if (!names.contains(one.name)) continue;
    words.emplace_back(one.name);
    told.emplace_back(Value({{"indication", one.name}, {"message", one.message}}, status.storage()));
  }
  status["indications"] = std::move(words);
  status["sourceIndications"] = std::move(told);
}

// SNAP-67
void show_indications(Object& status, const Source& source) {
  if (!source.online()) {
    json::erase(status, "indications");
    json::erase(status, "sourceIndications");
    return;
  }
  auto names = kept_indications(status);
  names.emplace("Online");
  names.emplace(source.paused() ? "Paused" : source.has_agent() ? "GuestAgent" : "NoGuestAgent");
  if (source.has_agent() && quiesce_timed_out(status)) names.emplace("QuiesceTimeout");
  write_indications(status, names);
}

// SNAP-68
void show_volumes(Object& status, const Turn& turn, const Object& content) {
  const Object* vm = vm::at(&content, {"spec", "source", "virtualMachine"});
  const Object* spec = vm::at(&content, {"spec"});
  if (!vm) return;
  const Array* backups = json::get_array(*spec, "volumeBackups");
  Array included(status.storage()), excluded(status.storage());
  bool partial = false;
  for (const SourceVolume& volume : volumes_of(turn.world, turn.key.ns, *vm).all) {
    const bool is_in = vm::named(backups, volume.name, "volumeName") != nullptr;
    (is_in ? included : excluded).emplace_back(volume.name);
    partial = partial || (!is_in && volume.is_claim());
  }
  Object& lists = status["snapshotVolumes"].emplace_object();
  if (!included.empty()) lists["includedVolumes"] = std::move(included);
  if (!excluded.empty()) lists["excludedVolumes"] = std::move(excluded);
  if (!partial) return;
  auto names = kept_indications(status);
  names.emplace("PartialSnapshot");
  write_indications(status, names);
}

// SNAP-61
void show_content(Object& status, const Object* content) {
  const Object* made = content ? vm::status_of(*content) : nullptr;
  if (!made) return;
  vm::edit::set_text(status, "virtualMachineSnapshotContentName", metadata_text(*content, "name"));
  for (const string_view member : {"creationTime", "readyToUse", "error"}) copy_member(status, *made, member);
}

struct Progress {
  bool going = false;
  string_view reason = {};
};

// SNAP-62..65
Progress show_phase(Object& status, const Turn& turn, const State& state, const Lock& lock) {
  if (state.exceeded) {
    status["phase"] = "Failed";
    set(status, "Failure", true, "snapshot deadline exceeded", turn.now);
    return {.reason = "Operation failed"};
  }
  if (json::get_string_or(status, "phase") == "Succeeded" || vm::edit::has(status, "creationTime")) {
    status["phase"] = "Succeeded";
    if (state.content) show_volumes(status, turn, *state.content);
    return {.reason = "Operation complete"};
  }
  status["phase"] = state.deleted ? "Deleting" : "InProgress";
  if (state.source.vm) show_indications(status, state.source);
  if (state.deleted) return {.reason = "VM snapshot is deleting"};
  if (!state.source.vm) return {.reason = "Source does not exist"};
  return {.going = lock.locked, .reason = lock.text};
}

}  // namespace

Object snapshot_status(const Turn& turn, const State& state, const Lock& lock) {
  Object status = status_copy(state.snapshot, turn.storage);
  if (!state.status) status["readyToUse"] = false;
  if (state.source.vm) vm::edit::set_text(status, "sourceUID", metadata_text(*state.source.vm, "uid"));
  show_content(status, state.content);
  Progress progress = show_phase(status, turn, state, lock);
  if (vm::edit::has(status, "error")) progress = {.reason = "In error state"};  // SNAP-66, without spec copies Q-02
  set(status, "Progressing", progress.going, progress.reason, turn.now);
  const bool ready = json::get_bool_or(status, "readyToUse", false);
  set(status, "Ready", ready, ready ? "Ready" : "Not ready", turn.now);
  return status;
}

}  // namespace vg::controllers::snapshot
