#include "guests/moving.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/controller_limits.h"
#include "base/node_limits.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/migrations.h"
#include "controllers/nodes.h"
#include "guests/decide.h"
#include "json/access.h"

namespace vg::guests {
namespace {

using controllers::EventType;
using controllers::vmi::Draft;
using json::Object;
using std::string_view;
using std::chrono::milliseconds;

constexpr string_view target_label = "kubevirt.io/migrationTargetNodeName";
constexpr std::int64_t usual_limit_seconds = 150;
constexpr std::int64_t giga = 1'000'000'000;

Object& moving(Draft& guest) { return json::ensure_object(guest.status(), "migrationState"); }

// What was changed while the guest could not have it.
void apply_live_updates(Draft& guest, const Grown& grown) {
  show_growth(guest, grown, false);
  Object& status = guest.status();
  for (const string_view condition : {"VolumesChange", "MigrationRequired"})  // MIG-D33, D11
    controllers::drop_condition(status, condition);
  json::erase(status, "migratedVolumes");
  // What was tracked stayed with the source (MIG-D33).
  if (Object* tracking = json::get_object(status, "changedBlockTracking"))
    if (json::get_string_or(*tracking, "state") == "Enabled") (*tracking)["state"] = "Initializing";
}

}  // namespace

const Object* moving_of(const Object& vmi) {
  const Object* status = json::get_object(vmi, "status");
  return status ? json::get_object(*status, "migrationState") : nullptr;
}

bool is_done(const Object& state) {
  return json::get_bool_or(state, "completed", false) || json::get_bool_or(state, "failed", false);
}

void show_target(Draft& guest, string_view address, const std::vector<std::pair<std::string, int>>& ports) {
  Object& state = moving(guest);
  Object shown(guest.storage());
  for (const auto& [port, meaning] : ports) shown[port] = meaning;
  const std::string target(json::get_string_or(state, "targetNode"));
  state["targetNodeAddress"] = address;
  state["targetDirectMigrationNodePorts"] = std::move(shown);
  guest.tell(EventType::normal, "PreparingTarget", "VirtualMachineInstance Migration Target Prepared.");
  guest.tell(EventType::normal, "PreparingTarget", fmt::format("node {} listens at {}", target, address));
}

void show_begin(Draft& guest, string_view mode) {
  Object& state = moving(guest);
  if (json::get_string_or(state, "startTimestamp").empty()) {
    state["startTimestamp"] = guest.now();
    guest.tell(EventType::normal, "Migrating", "VirtualMachineInstance is migrating.");
  }
  state["mode"] = mode;
}

void show_failure(Draft& guest, string_view reason, bool is_target) {
  Object& state = moving(guest);
  const bool is_abort = reason == migration_aborted;
  if (is_abort) {
    state["abortStatus"] = "Succeeded";
    guest.tell(EventType::normal, "Migrating", "VirtualMachineInstance is aborting migration.");  // MIG-R11
  }
  state["failed"] = true;
  state["completed"] = true;
  state["failureReason"] = reason;
  for (const string_view time : {"startTimestamp", "endTimestamp"})
    if (json::get_string_or(state, time).empty()) state[time] = guest.now();
  guest.tell(EventType::warning, "Migrated",
             fmt::format("migration {} failed: {}", json::get_string_or(state, "migrationUid"), reason));
  if (is_target) guest.drop_label(target_label);
}

void show_arrival(Draft& guest, const Grown& grown) {
  Object& state = moving(guest);
  const std::string target(json::get_string_or(state, "targetNode"));
  state["targetNodeDomainDetected"] = true;
  state["targetNodeDomainReadyTimestamp"] = guest.now();
  // A source that was killed before it said so has begun all the same.
  if (json::get_string_or(state, "startTimestamp").empty()) state["startTimestamp"] = guest.now();
  state["endTimestamp"] = guest.now();
  state["completed"] = true;
  const std::string overhead(json::get_string_or(state, "targetMemoryOverhead"));
  Object& status = guest.status();  // `state` moves when this changes
  status["nodeName"] = target;
  json::ensure_object(guest.metadata(), "labels")["kubevirt.io/nodeName"] = target;
  for (const string_view gone : {"evacuationNodeName", "launcherContainerImageVersion"}) json::erase(status, gone);
  status["migrationTransport"] = "Unix";
  guest.drop_label(controllers::outdated_label);
  if (Object* annotations = json::get_object(guest.metadata(), "annotations"))
    json::erase(*annotations, "kubevirt.io/eviction-source");
  if (!overhead.empty()) json::ensure_object(status, "memory")["memoryOverhead"] = overhead;
  apply_live_updates(guest, grown);
  guest.drop_label(target_label);  // MIG-D42
  guest.tell(EventType::normal, "Migrated", fmt::format("the VMI runs on node {} now", target));
}

const Object* options_of(const Object& vmi) {
  const Object* moving = moving_of(vmi);
  return moving ? json::get_object(*moving, "migrationConfiguration") : nullptr;
}

std::int64_t memory_of(const Object& vmi) {
  const json::Value* status = json::find(vmi, "status");
  const json::Value* memory = status ? json::find_path(*status, {"memory", "guestCurrent"}) : nullptr;
  const json::Value* spec = json::find(vmi, "spec");
  if (!memory && spec) memory = json::find_path(*spec, {"domain", "memory", "guest"});
  return memory ? controllers::amount_of("memory", *memory) : 0;
}

milliseconds transfer_limit(const Object& vmi) {
  const Object* options = options_of(vmi);
  const std::int64_t seconds =
      options ? json::get_int_or(*options, "completionTimeoutPerGiB", usual_limit_seconds) : usual_limit_seconds;
  const std::int64_t units = (memory_of(vmi) + giga - 1) / giga;
  const std::chrono::seconds most = limits::simulated_time_max;
  if (seconds <= 0 || units <= 0) return {};
  return std::min<milliseconds>(std::chrono::seconds(std::min(seconds, most.count()) * units), most);
}

// --- watching the engine ---------------------------------------------------------------------------------------------

std::string failure_text(string_view message, bool is_aborting) {
  return std::string(is_aborting || message.contains("canceled by client") ? migration_aborted : message);
}

TransferRules transfer_rules(const Object& vmi) {
  static const Object none;
  const Object* given = options_of(vmi);
  const Object& options = given ? *given : none;
  const std::int64_t patience =
      std::clamp<std::int64_t>(json::get_int_or(options, "progressTimeout", limits::migration_patience.count()), 0,
                               std::chrono::seconds(limits::simulated_time_max).count());
  const bool may_postcopy = json::get_bool_or(options, "allowPostCopy", false);
  return {.limit = transfer_limit(vmi),
          .patience = std::chrono::seconds(patience),
          .may_disturb = json::get_bool_or(options, "allowWorkloadDisruption", may_postcopy),
          .may_postcopy = may_postcopy};
}

void Transfer::see(milliseconds at, std::uint64_t total, std::uint64_t remaining) {
  if (total == 0 || !before_ || remaining < *before_) fell_at_ = at;
  if (total > 0) before_ = remaining;
}

// 5.2, the first row that applies. The one about devices of the host has none: no guest gets such a device.
Transfer::Decision Transfer::decide(milliseconds at, string_view mode) const {
  const bool is_late = rules_.limit > milliseconds::zero() && at > rules_.limit;
  const bool is_stuck = rules_.patience > milliseconds::zero() && at - fell_at_ > rules_.patience;
  if (mode == "PostCopy") return {Next::nothing, "MIG-X10"};
  if (is_late && rules_.may_disturb && mode != "Paused")
    return rules_.may_postcopy ? Decision{Next::postcopy, "MIG-X11"} : Decision{Next::suspend, "MIG-X13"};
  if (is_stuck) return {Next::cancel, "MIG-X14"};
  return is_late ? Decision{Next::cancel, "MIG-X15"} : Decision{};
}

// --- what a node of this machine does about it -----------------------------------------------------------------------

namespace {

bool is_known(const Move& move, const Object& state) { return move.uid == json::get_string_or(state, "migrationUid"); }
bool has_begun(const Object& state) { return !json::get_string_or(state, "startTimestamp").empty(); }
bool is_not_wanted(const Object& state) { return json::get_bool_or(state, "abortRequested", false); }

MoveDecision decide_source(const Move& move, const Object& state) {
  if (is_known(move, state) && move.began && !move.is_over) {
    if (is_not_wanted(state) && !move.is_aborting) return {MoveAct::abort, "MIG-R11"};
    return json::get_string_or(state, "mode") == move.mode ? MoveDecision{MoveAct::wait, "MIG-R12"}
                                                           : MoveDecision{MoveAct::tell, "MIG-R20"};
  }
  const bool is_prepared = json::find(state, "targetDirectMigrationNodePorts") != nullptr;
  if (is_known(move, state) || has_begun(state) || is_prepared) return {MoveAct::settle, "MIG-R21"};
  return is_not_wanted(state) ? MoveDecision{MoveAct::abort, "MIG-R11"} : MoveDecision{MoveAct::wait, "MIG-R13"};
}

// MIG-R24: a hypervisor that was killed before it heard that the guest has arrived still has it.
bool is_left_behind(const Case& one, const Object& status, const Object& state) {
  const string_view target = json::get_string_or(state, "targetNode");
  return one.domain && json::get_bool_or(state, "completed", false) && !json::get_bool_or(state, "failed", false) &&
         json::get_string_or(state, "sourceNode") == one.node && target != one.node &&
         json::get_string_or(status, "nodeName") == target;
}
// One that failed while the hypervisor was away.
bool stands_still(const Case& one, const Object& status, const Object& state) {
  return json::get_bool_or(state, "failed", false) && json::get_string_or(state, "sourceNode") == one.node &&
         json::get_string_or(status, "nodeName") == one.node && one.is_paused("Migration");
}

MoveDecision decide_target(const Case& one, const Move& move, const Object& state) {
  if (is_done(state)) return {MoveAct::clean_up, "MIG-D40"};
  if (one.domain && is_active(*one.domain)) return {MoveAct::receive, "MIG-D11"};
  if (move.is_prepared && move.uid == json::get_string_or(state, "migrationUid")) {
    const bool is_shown = !json::get_string_or(state, "targetNodeAddress").empty();
    const bool is_seen = json::get_bool_or(state, "targetNodeDomainDetected", false);
    if (!is_shown || (one.domain && !is_seen)) return {MoveAct::receive, is_shown ? "MIG-D10" : "MIG-D15"};
    return {MoveAct::wait, "MIG-D04"};
  }
  // What came before this process was prepared by another one.
  return one.domain ? MoveDecision{MoveAct::receive, "MIG-D10"} : MoveDecision{MoveAct::prepare, "MIG-D06"};
}

}  // namespace

MoveDecision decide_move(const Case& one, const Move& move) {
  const Object* state = one.vmi ? moving_of(*one.vmi) : nullptr;
  if (!state || json::get_string_or(*state, "migrationUid").empty()) return {};
  const Object& status = *json::get_object(*one.vmi, "status");
  const bool is_target = controllers::label_of(*one.vmi, target_label) == one.node &&
                         json::get_string_or(*state, "targetNode") == one.node;
  if (is_target && (one.is_deleting() || one.is_final()) && json::get_string_or(status, "nodeName") != one.node)
    return {MoveAct::clean_up, "MIG-D40"};
  if (is_target) return decide_target(one, move, *state);
  if (is_left_behind(one, status, *state)) return {MoveAct::leave, "MIG-R24"};
  if (!one.is_deleting() && !one.is_final() && stands_still(one, status, *state)) return {MoveAct::settle, "MIG-R21"};
  if (one.is_deleting() || one.is_final() || is_done(*state)) return {};  // MIG-R01, MIG-R02
  if (json::get_string_or(*state, "sourceNode") != one.node || json::get_string_or(status, "nodeName") != one.node)
    return {};  // MIG-R03
  return decide_source(move, *state);
}

bool is_active(const hypervisor::Domain& domain) {
  using hypervisor::State;
  if (domain.state != State::paused) return domain.state == State::running || domain.state == State::blocked;
  static constexpr string_view in_doubt[] = {"Migration", "StartingUp", "Postcopy", "PostcopyFailed", "Unknown"};
  return std::ranges::find(in_doubt, domain.reason) == std::end(in_doubt);
}

bool is_held_by_recovery(const Case& one, const Status& refusal) {
  return one.is_paused("Migration") && refusal.message.contains("cannot acquire state change lock") &&
         refusal.message.contains("monitor=init-");
}

There there_of(const std::optional<hypervisor::Domain>& domain) {
  using hypervisor::State;
  if (!domain || domain->state == State::shutoff || domain->state == State::crashed) return There::absent;
  return is_active(*domain) ? There::active : There::incoming;
}

Settling settle_move(const Case& one, const Move& move, bool is_sent, There there) {
  const Object* state = one.vmi ? moving_of(*one.vmi) : nullptr;
  if (!state) return Settling::nothing;
  const bool is_known_over = is_known(move, *state) && move.is_over;
  if (is_sent) return is_done(*state) ? Settling::wait : Settling::adopt;
  if (!is_known_over && !has_begun(*state)) {
    if (is_not_wanted(*state)) return Settling::abort;
    if (one.domain_is_alive()) return Settling::send;
  }
  if (one.domain && is_active(*one.domain)) return is_done(*state) ? Settling::nothing : Settling::tell;
  const bool can_resume = one.domain_is_alive() && !one.is_paused("PostcopyFailed");
  switch (there) {
    case There::not_asked:
      return Settling::ask;
    case There::incoming:
      return Settling::wait;
    case There::active:  // and if it is here no more the target tells
      return one.domain_is_alive() && !is_done(*state) ? Settling::leave : Settling::wait;
    case There::absent:
      break;
  }
  if (can_resume) return Settling::resume;
  return is_done(*state) ? Settling::nothing : Settling::tell;
}

}  // namespace vg::guests
