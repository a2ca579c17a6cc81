// What the rules of the migration controller ask (spec migration-and-fleets 1): the predicates over a migration and its
// VMI, read once for each step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controllers/nodes.h"
#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers::migration {

namespace phase {
inline constexpr std::string_view pending = "Pending";
inline constexpr std::string_view waiting_for_sync = "WaitingForSync";
inline constexpr std::string_view synchronizing = "Synchronizing";
inline constexpr std::string_view scheduling = "Scheduling";
inline constexpr std::string_view scheduled = "Scheduled";
inline constexpr std::string_view preparing_target = "PreparingTarget";
inline constexpr std::string_view target_ready = "TargetReady";
inline constexpr std::string_view running = "Running";
inline constexpr std::string_view succeeded = "Succeeded";
inline constexpr std::string_view failed = "Failed";
}  // namespace phase

enum class Kind : std::uint8_t { local, source, target };
// The target placement: an entry of the VMI's status.activePods.
enum class Target : std::uint8_t {
  none,
  waiting,  // for a node
  ready,
  down,  // it goes with its VMI, or with its node
};

struct State {
  std::string_view uid, phase;
  Kind kind = Kind::local;
  bool deleting = false;
  bool abort_shown = false;  // condition migrationAbortRequested

  const json::Object* vmi_status = nullptr;
  bool vmi_final = false, vmi_deleting = false, vmi_running = false;
  bool has_placement = false;  // one that is not the target
  std::size_t placements = 0;  // all of them
  bool has_utility_volumes = false;
  bool backup_in_progress = false;

  const json::Object* moving = nullptr;  // status.migrationState of the VMI
  bool synced = false, mine = false;
  bool moving_failed = false, moving_completed = false, moving_started = false;
  bool other_is_running = false;  // MIG-A02: another migration holds the VMI
  Target target = Target::none;

  bool is_final() const { return phase == phase::succeeded || phase == phase::failed; }
  bool target_due() const;   // one must exist in this phase
  bool handed_over() const;  // the nodes know of it in this phase
  // A text of the migrationState; empty for none.
  std::string_view said(std::string_view member) const;
};

// `another_runs`: whether the migration with that uid exists and is not final.
State state_of(const json::Object& migration, const json::Object& vmi, const World& world, Steady now);

Kind kind_of(const json::Object& migration);
// NODE-C01: gone, or silent for five minutes.
bool is_lost(const NodeInfo* node, Steady now);

}  // namespace vg::controllers::migration
