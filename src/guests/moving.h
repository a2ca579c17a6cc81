// What a VMI says about its live migration, written by the two nodes of it (spec migration-and-fleets 3, 4, 6).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/vmi/draft.h"
#include "guests/case.h"
#include "guests/growth.h"

namespace vg::guests {

inline constexpr std::string_view migration_aborted = "Live migration has been aborted";

// status.migrationState; null when there is none.
const json::Object* moving_of(const json::Object& vmi);
// What was agreed on for it; null when nothing was.
const json::Object* options_of(const json::Object& vmi);
// That the guest has now.
std::int64_t memory_of(const json::Object& vmi);
// MIG-R02, MIG-D01: nothing more comes of it.
bool is_done(const json::Object& state);

// MIG-D15: the target waits for the guest. `ports`: of the node, with what each stands for (0, 49152, 49153).
void show_target(controllers::vmi::Draft& guest, std::string_view address,
                 const std::vector<std::pair<std::string, int>>& ports);
// MIG-R20, MIG-X02
void show_begin(controllers::vmi::Draft& guest, std::string_view mode);
// MIG-R21, MIG-D40, D42, MIG-X30, X31. The label that wakes the target goes with it if `is_target`.
void show_failure(controllers::vmi::Draft& guest, std::string_view reason, bool is_target);
// MIG-D10 to D12, D20, D21, D30 to D33, D42: the guest runs on the target now.
void show_arrival(controllers::vmi::Draft& guest, const Grown& grown);

// MIG-X30: what is shown of an engine that ended with this message.
std::string failure_text(std::string_view message, bool is_aborting);

// MIG-X15, RUN-MIG-09: after this the source gives up, or goes on by other means. 0: never.
std::chrono::milliseconds transfer_limit(const json::Object& vmi);

// --- watching the engine (spec migration-and-fleets 5.2) -------------------------------------------------------------

// How long a transfer may take, and by what means it may go on then. Zero is no limit.
struct TransferRules {
  std::chrono::milliseconds limit{0}, patience{0};
  bool may_disturb = false, may_postcopy = false;
};
TransferRules transfer_rules(const json::Object& vmi);

// How a transfer goes on, in the time that has passed since it began.
class Transfer {
 public:
  explicit Transfer(const TransferRules& rules) : rules_(rules) {}
  // A sample. Less than in the one before is progress, whatever was least (spec migration-and-fleets Q11). Without a
  // total disks are being copied, which libvirt does not count.
  void see(std::chrono::milliseconds at, std::uint64_t total, std::uint64_t remaining);
  enum class Next : std::uint8_t { nothing, postcopy, suspend, cancel };
  struct Decision {
    Next next = Next::nothing;
    std::string_view rule = {};
  };
  Decision decide(std::chrono::milliseconds at, std::string_view mode) const;
  // MIG-X13: as long again.
  void extend() { rules_.limit *= 2; }

 private:
  TransferRules rules_;
  std::chrono::milliseconds fell_at_{0};
  std::optional<std::uint64_t> before_;
};

// --- what a node of this machine does about it -----------------------------------------------------------------------

// What a node knows of a migration beside the VMI; gone when its process ends.
struct Move {
  std::string uid = {};            // of the migration
  std::optional<Time> began = {};  // source: the engine runs, or ran
  std::string mode = "PreCopy";
  bool is_over = false;      // source: the engine has ended
  std::string failure = {};  // why; empty: it succeeded
  bool is_aborting = false;
  bool is_prepared = false;  // target
  // source: since then the hypervisor has answered nothing but refusals, see is_held_by_recovery()
  std::optional<std::chrono::steady_clock::time_point> held_since = {};
};

// A hypervisor that began anew ends a migration that nobody waits for any more, and keeps everybody else waiting until
// QEMU has. QEMU 7.2 never does when it is told so at the moment at which it stops the guest to send the rest: it waits
// for a word to go on which it does not take any more, and neither the migration nor the guest goes on again.
bool is_held_by_recovery(const Case& one, const Status& refusal);

// The guest has its CPUs here, or would have them if nobody had paused it: not one that is still to come, or that has
// gone and is not known to have arrived.
bool is_active(const hypervisor::Domain& domain);

enum class MoveAct : std::uint8_t {
  none,      // this node has nothing to do with it now
  wait,      // something is still to come from the other side
  abort,     // MIG-R11
  send,      // MIG-R14
  tell,      // source: what became of it
  prepare,   // MIG-D06
  receive,   // target: the domain is there, or to come
  clean_up,  // MIG-D40, MIG-D42
  settle,    // source: what became of it must be found out first, see settle_move()
  leave,     // source: the guest runs on the target, and what is still here goes
};
struct MoveDecision {
  MoveAct act = MoveAct::none;
  std::string_view rule = {};
};
MoveDecision decide_move(const Case& one, const Move& move);

// Where the target's hypervisor has the guest.
enum class There : std::uint8_t { not_asked, absent, incoming, active };
There there_of(const std::optional<hypervisor::Domain>& domain);

// What a source does about a migration whose end nobody saw: its own process, or one of the two hypervisors, was
// killed meanwhile. Nobody says that it failed while the guest may have arrived: the target would destroy it.
enum class Settling : std::uint8_t {
  nothing,
  adopt,  // it goes on
  send,   // it has not begun
  abort,  // likewise, and is not wanted any more
  ask,    // the target's hypervisor
  wait,
  resume,  // the guest is here alone, and stands still
  leave,   // it is there
  tell,    // it is here
};
Settling settle_move(const Case& one, const Move& move, bool is_sent, There there);

}  // namespace vg::guests
