// The pass over a content: the guest is frozen, its volumes are copied to image records, and it is thawed (spec copies
// 3.5, 3.8).
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/controller_limits.h"
#include "base/duration.h"
#include "base/names.h"
#include "controllers/common/owners.h"
#include "controllers/copies/names.h"
#include "controllers/copies/writing.h"
#include "controllers/snapshot/snapshot.h"
#include "controllers/snapshot/state.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers {
namespace snapshot {
namespace {

// One of spec.volumeBackups, and what has become of it.
struct Backup {
  string_view volume_snapshot, claim, claim_uid;
  std::string record, job;
  std::optional<ImageRecord> taken = {};
  std::optional<DiskJobStatus> work = {};

  bool is_failed() const { return !taken && work && work->state == DiskJobState::failed; }
  bool is_underway() const {
    return !taken && work && (work->state == DiskJobState::waiting || work->state == DiskJobState::running);
  }
  bool is_missing() const { return !taken && !is_underway() && !is_failed(); }
  std::string error() const { return taken ? taken->error : is_failed() ? work->message : std::string(); }
};

std::string drop_job(const std::string& record) { return "drop-record/" + record; }

std::vector<Backup> backups_of(const World& world, const Object& content) {
  std::vector<Backup> all;
  const string_view ns = metadata_text(content, "namespace");
  const Object* spec = vm::spec_of(content);
  vm::each(spec ? json::get_array(*spec, "volumeBackups") : nullptr, [&](const Object& entry) {
    const Object* claim = json::get_object(entry, "persistentVolumeClaim");
    const string_view name = json::get_string_or(entry, "volumeSnapshotName");
    if (name.empty() || !claim || all.size() == limits::snapshot_volumes_max) return;
    Backup backup{.volume_snapshot = name,
                  .claim = metadata_text(*claim, "name"),
                  .claim_uid = metadata_text(*claim, "uid"),
                  .record = record_name(ns, name),
                  .job = {}};
    backup.job = "take-record/" + backup.record;
    backup.taken = world.disks().record(backup.record);
    backup.work = world.disks().job(backup.job);
    all.push_back(std::move(backup));
  });
  return all;
}

struct Content {
  const Object& object;
  const Object* snapshot_object = nullptr;
  std::optional<State> state = {};  // of the snapshot, if there is one
  std::vector<Backup> backups = {};
  bool is_created = false;

  bool is_orphan_or_ending() const { return !state || state->is_ending(); }
  bool snapshot_is_going() const { return !state || state->deleted; }
};

Content read(const Turn& turn) {
  Content read{.object = *turn.world.get(kinds::snapshot_content, turn.key.ns, turn.key.name)};
  const Object* spec = vm::spec_of(read.object);
  const string_view name = spec ? json::get_string_or(*spec, "virtualMachineSnapshotName") : string_view();
  read.snapshot_object = turn.world.get(kinds::snapshot, turn.key.ns, name);
  // A snapshot of the name which has another content is another one: this one was kept.
  if (read.snapshot_object && content_of(*read.snapshot_object) == turn.key.name)
    read.state.emplace(read_state(turn.world, *read.snapshot_object, turn.now));
  read.backups = backups_of(turn.world, read.object);
  const Object* status = vm::status_of(read.object);
  read.is_created = status && vm::edit::has(*status, "creationTime");
  return read;
}

// --- the guest -------------------------------------------------------------------------------------------------------

constexpr string_view freeze_failed = "freeze", unfreeze_failed = "unfreeze", copy_failed = "copydisks";

Effect guest_call(const Turn& turn, const State& state, string_view path, string_view failure) {
  return {.verb = Verb::call,
          .resource = kinds::vmi,
          .ns = turn.key.ns,
          .name = std::string(state.source.name),
          .identity = Identity::own(),
          .path = path,
          .soft_reason = std::string(failure),
          .finish_decides = true};
}

// SNAP-26
void freeze(Pass& pass, const Turn& turn, const State& state) {
  const Source& source = state.source;
  if (source.is_frozen() || source.paused() || !source.has_agent()) return;
  Effect& effect = pass.add(guest_call(turn, state, "freeze", freeze_failed));
  const auto timeout = failure_deadline(state.snapshot).value_or(std::chrono::nanoseconds(0));
  effect.document = Value({{"unfreezeTimeout", print_duration(timeout)}}, turn.storage);
}

// SNAP-27. Null when there is nothing to thaw.
Effect* unfreeze(Pass& pass, const Turn& turn, const State& state) {
  const Source& source = state.source;
  if (!source.locked || !source.has_agent() || source.paused()) return nullptr;
  return &pass.add(guest_call(turn, state, "unfreeze", unfreeze_failed));
}

// --- records ---------------------------------------------------------------------------------------------------------

// SNAP-70: they go before the content does.
void drop_records(Pass& pass, const Turn& turn, const Content& content) {
  bool left = false;
  for (const Backup& backup : content.backups) {
    if (backup.is_underway()) pass.unwanted_jobs.push_back(backup.job);
    if (const std::string staged = staged_name(backup.record); turn.world.disks().record(staged))
      pass.jobs.push_back(
          {.identity = Identity::own(), .job = {.id = drop_job(staged), .work = RemoveRecord{.record = staged}}});
    if (!backup.taken) continue;
    left = true;
    pass.jobs.push_back({.identity = Identity::own(),
                         .job = {.id = drop_job(backup.record), .work = RemoveRecord{.record = backup.record}}});
  }
  const bool known = turn.world.disks().ready() || content.backups.empty();
  if (!left && known) remove_finalizer(pass, turn, kinds::snapshot_content, content.object, records_finalizer);
  if (left || !known) pass.look_again(limits::snapshot_retry);
}

bool is_name_fit(string_view name) { return dns1123_subdomain_defects(name).empty() && !is_staged_name(name); }

bool may_try_again(const Backup& backup, Time now) {
  if (!backup.is_failed() || now < backup.work->changed) return true;  // the clock was set back
  return now >= backup.work->changed + limits::snapshot_retry;
}

// SNAP-71: the node of a guest that runs writes the copies, all of one point in time, and the guest is thawed at once.
// Claims that the guest does not have open are left to the jobs, which find that out.
void copy_live(Pass& pass, const Turn& turn, const Content& content) {
  if (!content.state->source.is_copied_by_node()) return;
  Effect& effect = pass.add(guest_call(turn, *content.state, "copydisks", copy_failed));
  effect.others_follow = true;  // the guest is thawed whatever became of it
  Array copies(turn.storage);
  for (const Backup& backup : content.backups)
    if (!backup.taken) copies.emplace_back(Value({{"claim", backup.claim}, {"record", backup.record}}, turn.storage));
  effect.document = Value({{"copies", std::move(copies)}}, turn.storage);
  if (Effect* thaw = unfreeze(pass, turn, *content.state)) {
    thaw->finish_decides = false;
    thaw->may_fail = true;
  }
}

// SNAP-44, SNAP-71, SNAP-73, SNAP-75
void take_records(Pass& pass, const Turn& turn, const Content& content) {
  bool first = true;
  for (const Backup& backup : content.backups) {
    if (backup.taken || backup.is_underway() || !is_name_fit(backup.volume_snapshot)) continue;
    if (!may_try_again(backup, turn.now)) {
      pass.look_again(limits::snapshot_retry);
      continue;
    }
    if (first) {
      add_finalizer(pass, turn, kinds::snapshot_content, content.object, records_finalizer);
      freeze(pass, turn, *content.state);
      copy_live(pass, turn, content);
      first = false;
    }
    pass.jobs.push_back({.identity = identity_of(turn, *content.state),
                         .job = {.id = backup.job,
                                 .claim = {.ns = turn.key.ns, .name = std::string(backup.claim)},
                                 .claim_uid = std::string(backup.claim_uid),
                                 .work = TakeRecord{.record = backup.record}}});
  }
}

// SNAP-40: the snapshot is gone or going. True when the status is still to be looked at.
bool let_go(Pass& pass, const Turn& turn, const Content& content) {
  if (has_finalizer(content.object, content_finalizer)) {
    if (Effect* call = content.state ? unfreeze(pass, turn, *content.state) : nullptr) {
      call->finish_decides = false;
      call->may_fail = true;
    }
    // One finalizer at a time: the next pass follows from this one's write.
    remove_finalizer(pass, turn, kinds::snapshot_content, content.object, content_finalizer);
    return false;
  }
  if (is_being_deleted(content.object)) {
    drop_records(pass, turn, content);
    return false;
  }
  return !content.state || !content.state->drops_content();
}

Pass sync(const Turn& turn) {
  Pass pass;
  const Content content = read(turn);
  if (content.is_orphan_or_ending()) {
    pass.complete = !let_go(pass, turn, content);
    return pass;
  }
  const bool unknown = !content.backups.empty() && !turn.world.disks().ready();
  if (is_being_deleted(content.object) || unknown) {  // SNAP-41
    pass.look_again(limits::snapshot_retry);
    pass.complete = true;
    return pass;
  }
  if (content.is_created) return pass;
  take_records(pass, turn, content);
  const bool all_taken = std::ranges::all_of(content.backups, [](const Backup& one) { return one.taken.has_value(); });
  if (all_taken && !content.backups.empty()) unfreeze(pass, turn, *content.state);  // SNAP-48
  return pass;
}

// --- status ----------------------------------------------------------------------------------------------------------

struct Outcome {
  bool created = true, ready = true;
  std::string error = {};
};

std::string joined(const std::vector<string_view>& names) {
  std::string all;
  for (const string_view name : names) all += fmt::format("{}{}", all.empty() ? "" : ",", name);
  return all;
}

// SNAP-42, SNAP-43. Empty when none is missing that should be there.
std::string missing_error(Pass& pass, const Content& content) {
  std::vector<string_view> missing;
  for (const Backup& backup : content.backups)
    if (backup.is_missing()) missing.push_back(backup.volume_snapshot);
  if (missing.empty()) return {};
  if (content.is_created) {
    for (const string_view name : missing)
      pass.tell(EventType::warning, "VolumeSnapshotMissing", fmt::format("VolumeSnapshot {} is missing", name));
    return fmt::format("VolumeSnapshots ({}) missing", joined(missing));
  }
  if (!content.snapshot_is_going()) return {};
  return fmt::format("VolumeSnapshots ({}) skipped because vm snapshot is deleted", joined(missing));
}

// SNAP-47
Outcome outcome_of(const Content& content) {
  Outcome outcome;
  for (const Backup& backup : content.backups) {
    outcome.created = outcome.created && backup.taken.has_value();
    outcome.ready = outcome.ready && backup.taken && backup.taken->ready;
    std::string error = backup.error();
    if (error.empty() && !is_name_fit(backup.volume_snapshot)) error = "its name cannot be one";
    if (error.empty()) continue;
    outcome.error = fmt::format("VolumeSnapshot {} error: {}", backup.volume_snapshot, error);
    break;
  }
  return outcome;
}

Value error_value(Time time, string_view text, const json::StoragePtr& storage) {
  return Value({{"time", time_text(time)}, {"message", text}}, storage);
}

// SNAP-46
void show_records(Object& status, const Content& content) {
  Array all(status.storage());
  for (const Backup& backup : content.backups) {
    if (!backup.taken && !backup.work) continue;
    Object entry(status.storage());
    entry["volumeSnapshotName"] = backup.volume_snapshot;
    if (backup.taken) entry["creationTime"] = time_text(backup.taken->created_at);
    entry["readyToUse"] = backup.taken && backup.taken->ready;
    if (const std::string error = backup.error(); !error.empty())
      entry["error"] =
          error_value(backup.taken ? backup.taken->created_at : backup.work->changed, error, status.storage());
    all.emplace_back(std::move(entry));
  }
  if (all.empty())
    json::erase(status, "volumeSnapshotStatus");
  else
    status["volumeSnapshotStatus"] = std::move(all);
}

// SNAP-49
void show_error(Object& status, const std::string& error, bool ready, Time now) {
  if (error.empty()) {
    json::erase(status, "error");
    return;
  }
  const Object* shown = json::get_object(status, "error");
  if (ready || (shown && json::get_string_or(*shown, "message") == error)) return;
  status["error"] = error_value(now, error, status.storage());
}

// SNAP-75: what watchers of volume snapshots would see.
void tell_taken(Pass& pass, const Object& before, const Content& content) {
  const Array* known = json::get_array(before, "volumeSnapshotStatus");
  for (const Backup& backup : content.backups) {
    const Object* entry = vm::named(known, backup.volume_snapshot, "volumeSnapshotName");
    if (backup.taken && !(entry && vm::edit::has(*entry, "creationTime")))
      pass.tell(EventType::normal, "SuccessfulVolumeSnapshotCreate",
                fmt::format("VolumeSnapshot {} was created", backup.volume_snapshot));
  }
}

Pass finish(const Turn& turn, const Pass&, const Carried& carried) {
  Pass pass;
  const Content content = read(turn);
  if (!content.backups.empty() && !turn.world.disks().ready()) return pass;
  Object status = status_copy(content.object, turn.storage);
  const bool thaw_ended_early = carried.error && carried.error->reason == unfreeze_failed &&
                                carried.error->message.find("fsfreeze is limited") != std::string::npos;
  if (carried.error && carried.error->reason == unfreeze_failed && !thaw_ended_early) {  // SNAP-48: err
    pass.try_again = true;
    return pass;
  }
  if (carried.error) {  // SNAP-44, SNAP-48
    show_error(status, carried.error->message, false, turn.now);
    status["readyToUse"] = false;
    pass.look_again(limits::snapshot_retry);
    write_status(pass, turn, kinds::snapshot_content, content.object, status);
    return pass;
  }
  const std::string missing = missing_error(pass, content);
  Outcome outcome = outcome_of(content);
  tell_taken(pass, status, content);
  if (!missing.empty()) outcome = {.created = false, .ready = false, .error = missing};
  show_records(status, content);
  if (outcome.created && !content.is_created) status["creationTime"] = time_text(turn.now);
  show_error(status, outcome.error, outcome.ready, turn.now);
  status["readyToUse"] = outcome.ready;
  write_status(pass, turn, kinds::snapshot_content, content.object, status);
  return pass;
}

std::vector<Key> of_snapshot(const Change& change, const World&) {
  return {{.ns = std::string(metadata_text(change.object(), "namespace")), .name = content_of(change.object())}};
}

constexpr Trigger triggers[] = {{.resource = kinds::snapshot, .keys = of_snapshot}};

}  // namespace
}  // namespace snapshot

Controller snapshot_content_controller() {
  return {.name = "snapshot_content",
          .resource = kinds::snapshot_content,
          .component = "snapshot-controller",
          .triggers = snapshot::triggers,
          .sync = snapshot::sync,
          .finish = snapshot::finish};
}

}  // namespace vg::controllers
