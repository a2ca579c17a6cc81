#include "controllers/migration/act.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/controller_limits.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/migration/hand_over.h"
#include "controllers/migration/history.h"
#include "controllers/migration/options.h"
#include "controllers/migration/target.h"
#include "controllers/placement.h"
#include "json/access.h"

namespace vg::controllers::migration {
namespace {

using std::chrono::seconds;

constexpr std::string_view nonroot_annotation = "kubevirt.io/nonroot";
constexpr std::int64_t nonroot_user = 107;

struct ActRow {
  std::string_view id;
  std::string_view phase;  // "*": any
  bool (*applies)(const Work& work, const State& state);
  void (*act)(Work& work, const State& state);
};

void nothing(Work&, const State&) {}
bool asked_to_end(const Work&, const State& state) { return state.deleting; }

std::string_view vmi_name(const Work& work) { return metadata_text(work.vmi.stored(), "name"); }
const MigrationInfo* info_of(const Work& work) {
  return work.turn.world.migrations().find(work.turn.key.ns, work.turn.key.name);
}
History history_of(const Work& work) { return work.turn.world.migrations().of(work.turn.key.ns, vmi_name(work)); }

// --- time ------------------------------------------------------------------------------------------------------------

std::int64_t seconds_now(const Work& work) { return Timestamp::from(work.turn.now).seconds; }

// The target was made when the migration became Scheduling.
std::int64_t age_of_target(const Work& work) {
  const json::Object* status = json::get_object(work.migration.read(), "status");
  const json::Array* times = status ? json::get_array(*status, "phaseTransitionTimestamps") : nullptr;
  if (times)
    for (const json::Value& entry : *times)
      if (json::get_string_or(entry, "phase") == phase::scheduling)
        if (const auto since = parse_rfc3339(json::get_string_or(entry, "phaseTransitionTimestamp")))
          return seconds_now(work) - since->seconds;
  return 0;
}

// --- target ----------------------------------------------------------------------------------------------------------

// MIG-T05; a migration without its target fails (MIG-T04).
void delete_target(Work& work, const State& state) {
  if (state.target == Target::none || state.target == Target::down) return;
  work.active_pods().erase(placement_uid(state.uid));
  work.tell_with_vmi(EventType::normal, "SuccessfulDelete",
                     fmt::format("the target placement of VMI \"{}\" was deleted", vmi_name(work)));
}

// MIG-T01
void tell_unschedulable(Work& work, const PlacementDemand& demand, std::string_view message) {
  work.tell(EventType::warning, "migrationTargetPodUnschedulable",
            fmt::format("no node can take the target: {}", message));
  if (!cpu_is_offered(demand, work.turn.world.nodes()))
    work.tell_of_vmi(EventType::warning, "NoSuitableNodesForHostModelMigration",
                     "no other node offers the CPU model and features of the source node");
}

// MIG-N04: the next migration asks for the CPU that the guest has, not for the one of the node that it is on by then.
void remember_cpu(Work& work, const TargetDemand& target, std::string_view node) {
  const NodeInfo* info = work.turn.world.nodes().find(node);
  const std::string cpu = info ? cpu_to_remember(target, *info) : std::string();
  if (cpu.empty() || annotation_of(work.vmi.read(), guest_cpu_annotation) == cpu) return;
  json::Object& metadata = json::ensure_object(work.vmi.edit(), "metadata");
  json::ensure_object(metadata, "annotations")[guest_cpu_annotation] = cpu;
}

// MIG-A16: a target without a node gets one as soon as there is one, and is given up after a while (MIG-T01..T03).
void place_target(Work& work, const State& state) {
  const NodeInfo* source = work.turn.world.nodes().find(json::get_string_or(*state.vmi_status, "nodeName"));
  const TargetDemand target = target_demand(work.vmi.read(), work.migration.stored(), source, work.turn.config);
  Scheduled found{.node = {}, .message = target.problem};
  if (target.problem.empty()) found = schedule(target.demand, work.turn.world.nodes(), work.turn.steady);
  if (!found.node.empty()) {
    work.active_pods()[placement_uid(state.uid)] = found.node;
    return remember_cpu(work, target, found.node);
  }
  const seconds age(age_of_target(work));
  const seconds most = std::min(
      work.annotated("kubevirt.io/migrationUnschedulablePodTimeoutSeconds", limits::migration_unschedulable_max),
      work.annotated("kubevirt.io/migrationPendingPodTimeoutSeconds", limits::migration_pending_max));
  tell_unschedulable(work, target.demand, found.message);
  if (age >= most) return delete_target(work, state);
  work.pass.look_again(most - age);
  work.pass.waits_for_nodes = true;
}

// --- start -----------------------------------------------------------------------------------------------------------

// MIG-A14: the user that the guest runs as on the target.
void set_runtime_user(Work& work, const State& state) {
  const bool root = work.turn.config.enabled(config::Gate::root);
  const std::int64_t wanted = root ? 0 : nonroot_user;
  if (json::get_int_or(*state.vmi_status, "runtimeUser", 0) != wanted) work.vmi_status()["runtimeUser"] = wanted;
  const std::string_view said = annotation_of(work.vmi.read(), nonroot_annotation);
  if (!root && said != "true") {
    json::Object& metadata = json::ensure_object(work.vmi.edit(), "metadata");
    json::ensure_object(metadata, "annotations")[nonroot_annotation] = "true";
  } else if (root && !said.empty()) {
    json::Object& metadata = json::ensure_object(work.vmi.edit(), "metadata");
    json::erase(json::ensure_object(metadata, "annotations"), nonroot_annotation);
  }
}

// 2.5: whether it has to wait, and how long.
std::optional<seconds> must_wait(const Work& work, const State& state) {
  if (state.placements > 1) return seconds(1);  // MIG-Q01
  const Migrations& migrations = work.turn.world.migrations();
  const Limits limits = limits_of(work.turn.config);
  const MigrationInfo* info = info_of(work);
  const seconds wait = wait_for_place(info ? info->priority : 0);
  if (static_cast<std::int64_t>(migrations.running()) >= limits.in_cluster) return wait;  // MIG-Q02
  const auto from_here = migrations.running_from(json::get_string_or(*state.vmi_status, "nodeName"));
  if (static_cast<std::int64_t>(from_here) >= limits.from_node) return wait;  // MIG-Q03
  return std::nullopt;
}

// MIG-A14, 2.5
void start(Work& work, const State& before) {
  set_runtime_user(work, before);
  const State state = work.state();
  if (const auto wait = must_wait(work, state)) return work.pass.look_again(*wait);
  if (!state.vmi_running) return;  // MIG-Q05
  const std::string uid = placement_uid(state.uid);
  work.active_pods()[uid] = "";  // MIG-Q04
  work.tell_with_vmi(EventType::normal, "SuccessfulCreate",
                     fmt::format("created the target placement {}", placement_name(vmi_name(work), uid)));
  work.if_vmi_fails = Told{.event = {.type = EventType::warning,
                                     .reason = "FailedCreate",
                                     .message = "the target placement could not be created"},
                           .involved = event_object(work.vmi.stored())};
}

bool backs_off(const Work& work, const State& state) {
  return wait_before_start(history_of(work), state.uid, work.turn.now) > seconds::zero();
}

void wait_in_backoff(Work& work, const State& state) {
  const seconds wait = wait_before_start(history_of(work), state.uid, work.turn.now);
  work.tell_of_vmi(EventType::warning, "MigrationBackoff",
                   fmt::format("migration {} waits, because the last one failed", work.turn.key.name));
  work.pass.look_again(wait);
}

// --- end -------------------------------------------------------------------------------------------------------------

void abort_on_node(Work& work, const State& state) {
  if (json::get_bool_or(*state.moving, "abortRequested", false)) return;
  work.moving()["abortRequested"] = true;
  work.tell_with_vmi(EventType::normal, "SuccessfulAbortMigration", "the source node was asked to abort the migration");
  work.if_vmi_fails = Told{.event = {.type = EventType::warning,
                                     .reason = "FailedAbortMigration",
                                     .message = "the source node could not be asked to abort the migration"}};
}

void mark_failed(Work& work, const State&) {
  json::Object& moving = work.moving();
  moving["failed"] = true;
  moving["completed"] = true;
  for (const std::string_view time : {"startTimestamp", "endTimestamp"})
    if (json::get_string_or(moving, time).empty()) moving[time] = time_text(work.turn.now);
  if (json::get_string_or(moving, "failureReason").empty()) moving["failureReason"] = "Target pod is down";
  work.tell_of_vmi(EventType::warning, "FailedMigration", "the migration failed: its target is down");
}

bool target_died_early(const Work&, const State& state) {
  return (state.target == Target::none || state.target == Target::down) && state.mine && !state.moving_started &&
         !state.moving_failed && !state.moving_completed;
}

bool is_unplaced(const Work&, const State& state) { return state.target == Target::waiting; }

// 2.2, in this order. What only pods have (attachments) and the halves of migrations between clusters have no row.
constexpr ActRow rows[] = {
    {"MIG-A01", "*",
     [](const Work&, const State& state) { return state.vmi_deleting || (state.mine && state.moving_completed); },
     nothing},
    {"MIG-A02", "*", [](const Work&, const State& state) { return state.other_is_running; },
     [](Work& work, const State&) { work.pass.try_again = true; }},
    {"MIG-A10", phase::pending, asked_to_end, delete_target},
    {"MIG-A11", phase::pending, backs_off, wait_in_backoff},
    {"MIG-A12", phase::pending,
     [](const Work&, const State& state) { return state.has_utility_volumes || state.kind == Kind::source; }, nothing},
    {"MIG-A13", phase::pending,
     [](const Work&, const State& state) {
       return state.target == Target::none && state.kind == Kind::local && !state.has_placement;
     },
     nothing},
    {"MIG-A14", phase::pending,
     [](const Work&, const State& state) { return state.target == Target::none && !state.backup_in_progress; }, start},
    {"MIG-A20", phase::scheduling, asked_to_end, delete_target},
    {"MIG-A16", phase::pending, is_unplaced, place_target},
    {"MIG-A16", phase::scheduling, is_unplaced, place_target},
    {"MIG-A30", phase::scheduled, [](const Work&, const State& state) { return state.deleting && !state.mine; },
     delete_target},
    {"MIG-A31", phase::scheduled,
     [](const Work&, const State& state) { return state.target == Target::ready && !state.mine; }, hand_over},
    {"MIG-A40", phase::preparing_target, target_died_early, mark_failed},
    {"MIG-A40", phase::target_ready, target_died_early, mark_failed},
    {"MIG-A50", phase::running, [](const Work&, const State& state) { return state.deleting && state.mine; },
     abort_on_node},
    // Only of one's own: what another migration left behind is none of this one's failures.
    {"MIG-A60", phase::failed, [](const Work&, const State& state) { return state.mine && !state.moving_failed; },
     mark_failed},
};

}  // namespace

std::string_view act(Work& work, const State& state) {
  for (const ActRow& row : rows) {
    if ((row.phase != "*" && row.phase != state.phase) || !row.applies(work, state)) continue;
    row.act(work, state);
    return row.id;
  }
  return {};
}

void drop_leftover_placements(Work& work, const State& state) {
  const json::Object* active = json::get_object(*state.vmi_status, "activePods");
  if (!active || state.vmi_final || state.vmi_deleting) return;
  const std::string own = placement_uid(state.uid);
  const std::string_view home = json::get_string_or(*state.vmi_status, "nodeName");
  const bool moved = state.mine && state.phase == phase::succeeded;
  std::vector<std::string> over;
  for (const auto& [uid, value] : *active) {
    const std::string_view node = json::as_string(&value).value_or("");
    if (node == home) continue;  // it runs there
    const bool lost_target = uid == own && state.phase == phase::failed;
    const bool left_source = moved && uid != own && node == state.said("sourceNode");
    if (lost_target || left_source) over.emplace_back(uid);
  }
  // The target of a migration that came after this one is none of its leftovers.
  for (const MigrationInfo* other : history_of(work))
    if (!other->is_final()) std::erase(over, placement_uid(other->uid));
  for (const std::string& uid : over) work.active_pods().erase(uid);
}

std::chrono::seconds wait_for_place(int priority) {
  if (priority >= 100) return seconds(1);
  return priority >= 50 ? seconds(3) : seconds(5);
}

}  // namespace vg::controllers::migration
