#include "controllers/migration/status.h"

#include <algorithm>

#include "base/duration.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/migration/act.h"
#include "controllers/migration/options.h"
#include "controllers/placement.h"
#include "json/access.h"

namespace vg::controllers::migration {
namespace {

struct Row {
  Verdict verdict;
  std::string_view from;  // the phase; "*": any
  bool (*applies)(const State& state);
};

constexpr std::string_view failure = "FailedMigration";
constexpr std::string_view utility_condition = "migrationBlockedByUtilityVolumes";
constexpr std::string_view backup_condition = "migrationBlockedByBackup";

bool live_updates_are_over(const State& state) {
  return !find_condition(state.vmi_status, "HotVCPUChange") && !is_true(state.vmi_status, "HotMemoryChange") &&
         !is_true(state.vmi_status, "MigrationRequired");
}

// 2.3, 2.4: the first row that applies. A VMI that is being deleted takes the target with it, so MIG-S04 and S05 also
// end a migration whose VMI goes. What only exists between clusters, and what only pods have (a quota's refusal, an
// attachment, a recovery job), has no row.
constexpr Row rows[] = {
    {{"MIG-S02", phase::failed, failure, "the VMI was shut down"},
     "*",
     [](const State& state) { return state.vmi_final; }},
    {{"MIG-S03", phase::failed, failure, "the migration was canceled", true},
     "*",
     [](const State& state) { return state.deleting && !state.mine; }},
    {{"MIG-S04", phase::failed, failure, "the target was shut down"},
     "*",
     [](const State& state) { return state.target == Target::down; }},
    {{"MIG-S05", phase::failed, failure, "the target was removed"},
     "*",
     [](const State& state) {
       return state.target_due() && state.target == Target::none && state.kind != Kind::source;
     }},
    {{"MIG-S06", phase::failed, failure, "the VMI does not know of the migration any more"},
     "*",
     [](const State& state) { return state.handed_over() && !state.synced; }},
    {{"MIG-S07", phase::failed, failure, "another migration took the VMI over"},
     "*",
     [](const State& state) { return state.handed_over() && state.synced && !state.mine; }},
    {{"MIG-S08", phase::failed, failure, "the source node reported that the migration failed"},
     "*",
     [](const State& state) { return state.mine && state.moving_failed; }},
    {{.id = "MIG-S09", .show_abort = true},
     "*",
     [](const State& state) { return state.deleting && !state.abort_shown; }},

    {{"MIG-P02", phase::failed, failure, "another migration of the VMI is in progress"},
     "",
     [](const State& state) { return state.other_is_running; }},
    {{"MIG-P01", phase::pending}, "", [](const State& state) { return state.kind == Kind::local; }},
    {{"MIG-P01", phase::waiting_for_sync}, "", [](const State& state) { return state.kind == Kind::target; }},
    {{"MIG-P01", phase::synchronizing}, "", [](const State& state) { return state.kind == Kind::source; }},
    {{"MIG-P03"},
     phase::pending,
     [](const State& state) { return state.backup_in_progress || state.has_utility_volumes; }},
    {{"MIG-P04", phase::scheduling}, phase::pending, [](const State& state) { return state.target != Target::none; }},
    {{"MIG-P06", phase::scheduling},
     phase::pending,
     [](const State& state) { return state.kind == Kind::source && state.vmi_running; }},
    {{"MIG-P08", phase::scheduled},
     phase::scheduling,
     [](const State& state) { return state.target == Target::ready; }},
    {{"MIG-P09", phase::preparing_target},
     phase::scheduled,
     [](const State& state) { return state.mine && !state.said("targetNode").empty(); }},
    {{"MIG-P10", phase::target_ready},
     phase::preparing_target,
     [](const State& state) { return !state.said("targetNode").empty() && !state.said("targetNodeAddress").empty(); }},
    {{"MIG-P11", phase::running}, phase::target_ready, [](const State& state) { return state.moving_started; }},
    {{"MIG-P13", phase::succeeded, "SuccessfulMigration", "the VMI runs on its target node"},
     phase::running,
     [](const State& state) { return state.moving_completed && live_updates_are_over(state); }},
};

// True when it is new.
bool show_condition(Work& work, std::string_view type, std::string_view reason, std::string_view message) {
  const std::string now = time_text(work.turn.now);
  return set_condition(
      work.status(),
      {.type = type, .status = "True", .reason = reason, .message = message, .last_probe = {}, .last_transition = now});
}

// While it is Pending, and not any more once the nodes are in charge.
void show_source(Work& work, const State& state) {
  const json::Object* active = json::get_object(*state.vmi_status, "activePods");
  const std::string_view home = json::get_string_or(*state.vmi_status, "nodeName");
  const std::string own = placement_uid(state.uid);
  if (!active) return;
  for (const auto& [uid, value] : *active) {
    if (uid == own || json::as_string(&value) != home) continue;
    json::ensure_object(work.status(), "migrationState")["sourcePod"] =
        placement_name(metadata_text(work.vmi.stored(), "name"), uid);
    return;
  }
}

std::chrono::seconds utility_volumes_timeout(const Work& work) {
  const json::Object options = cluster_options(work.turn.config, work.turn.storage);
  return work.annotated("kubevirt.io/migrationUtilityVolumesTimeoutSeconds",
                        bounded_seconds(json::get_int_or(options, "utilityVolumesTimeout", 150)));
}

std::chrono::seconds age_of(const Work& work) {
  const auto created = parse_rfc3339(metadata_text(work.migration.stored(), "creationTimestamp"));
  return std::chrono::seconds(created ? Timestamp::from(work.turn.now).seconds - created->seconds : 0);
}

// MIG-T06, T07
void wait_for_utility_volumes(Work& work) {
  const std::chrono::seconds age = age_of(work), most = utility_volumes_timeout(work);
  if (age >= most) {
    work.tell(EventType::warning, failure, "the VMI still has utility volumes; detach them and migrate again");
    return work.enter(phase::failed);
  }
  if (show_condition(work, utility_condition, "UtilityVolumesPresent", "the VMI has utility volumes"))
    work.tell(EventType::warning, "UtilityVolumeMigrationPending",
              "the migration waits until the VMI has no utility volumes any more");
  work.pass.look_again(most - age);
}

// MIG-T08
void wait_for_backup(Work& work) {
  show_condition(work, backup_condition, "BackupInProgress", "a backup of the VMI is in progress");
  const MigrationInfo* info = work.turn.world.migrations().find(work.turn.key.ns, work.turn.key.name);
  work.pass.look_again(wait_for_place(info ? info->priority : 0));
}

void drop(Work& work, std::string_view type) {
  if (find_condition(json::get_object(work.migration.read(), "status"), type)) drop_condition(work.status(), type);
}

}  // namespace

Verdict judge(const State& state) {
  for (const Row& row : rows)
    if ((row.from == "*" || row.from == state.phase) && row.applies(state)) return row.verdict;
  return {.id = "MIG-S11"};
}

void show(Work& work, const State& state, const Verdict& verdict) {
  if (verdict.show_abort) show_condition(work, "migrationAbortRequested", {}, {});
  if (!verdict.reason.empty())
    work.tell(verdict.reason == failure ? EventType::warning : EventType::normal, verdict.reason,
              std::string(verdict.message));
  if (!verdict.phase.empty()) work.enter(verdict.phase);
  if (verdict.phase == phase::pending) show_source(work, state);
}

void wait_for_vmi(Work& work, const State& state) {
  if (state.phase != phase::pending) return;
  if (!state.has_utility_volumes) drop(work, utility_condition);
  if (!state.backup_in_progress) drop(work, backup_condition);
  if (state.has_utility_volumes) return wait_for_utility_volumes(work);
  if (state.backup_in_progress) wait_for_backup(work);
}

void close(Work& work, const State& state) {
  if (state.mine) work.status()["migrationState"] = *state.moving;
  work.drop_finalizer = true;
}

}  // namespace vg::controllers::migration
