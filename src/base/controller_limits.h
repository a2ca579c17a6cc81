// The limits of the controllers, with their reasons. Apart from limits.h so that a change here does not build all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::limits {

// Of an object whose passes fail, doubling from the one to the other: upstream's, so that nobody waits longer here.
inline constexpr std::chrono::milliseconds controller_backoff_min{5};
inline constexpr std::chrono::seconds controller_backoff_max{1000};
// Objects that are worked on at once, for each controller. A pass waits for the disk once or twice, so a few dozens
// fill the store's batches; each holds an arena.
inline constexpr std::size_t controller_passes_max = 64;
// Every object is looked at again after this time, should a change have gone unnoticed.
inline constexpr std::chrono::hours controller_resync{12};
// Changes that are taken from one watch at a time, before passes get their turn.
inline constexpr std::size_t controller_changes_at_once = 256;
// Objects that are kept open for the next who looks at them, in bytes of their text: values take several times as much,
// those of somebody who wants it up to thirty times. Large ones are opened anew by everybody.
inline constexpr std::size_t opened_bytes_max = 512 * 1024;
inline constexpr std::size_t opened_object_bytes_max = 16 * 1024;
// A pass that knows that its own writes bring nothing new looks at them after this time, unless something else happens
// before. A guest that boots is quicker, and so saves a pass.
inline constexpr std::chrono::seconds controller_settled_look{2};
// A change that most likely is followed by another one waits this long for it.
inline constexpr std::chrono::milliseconds controller_patience{250};
// Changes of an object that are remembered one by one while it has a pass; more of them are looked at again for sure.
inline constexpr std::size_t held_changes_max = 8;
// Events that are remembered in order to count a repetition on the one that is there. One takes about 300 bytes.
inline constexpr std::size_t remembered_events_max = 4096;
// Events that wait to be written; beyond that passes write theirs themselves. One takes about a kilobyte.
inline constexpr std::size_t events_waiting_max = 4096;
// As kube-apiserver does by default.
inline constexpr std::chrono::hours event_life{1};
// How often events that are older are looked for: whoever lists events may see one for so much longer.
inline constexpr std::chrono::minutes event_expiry_interval{1};
// Objects that found no node are tried again when nodes or placements changed: a few at once, many not more often than
// they can be tried. One takes about a tenth of the pause.
inline constexpr std::chrono::milliseconds controller_wake_interval{100};
inline constexpr std::chrono::milliseconds controller_wake_pause{1};
// A controller that leaves an object waiting for so long does not keep up, and /readyz says so.
inline constexpr std::chrono::seconds controller_lag{30};
// No amount is read as more than this, so that sums of them stay numbers: 8 PiB, or nine billion CPUs.
inline constexpr std::int64_t placement_amount_max = std::int64_t{1} << 53;
// VMs or VMIs that one pass of a pool or replica set makes or deletes (spec migration-and-fleets 11.2, RS-05).
inline constexpr std::size_t fleet_burst_max = 250;
// How long a migration's target may wait for a node, and for anything else (MIG-T02, MIG-T03).
inline constexpr std::chrono::seconds migration_unschedulable_max{300};
inline constexpr std::chrono::seconds migration_pending_max{900};
// Migrations of a VMI that are over and are kept (MIG-G01), and the longest wait between two by the system (MIG-B01).
inline constexpr std::size_t migrations_kept_max = 5;
inline constexpr std::chrono::seconds migration_wait_max{320};
// Phases in one pass: more than there are, since every round but the last enters one, or shows a condition.
inline constexpr int migration_rounds_max = 16;
// Woken when one is over (MIG-E05). More than can start, for some wait for their node; the rest look again by
// themselves.
inline constexpr std::size_t migrations_woken_max = 64;
// Woken when one starts: a few, for each of them that starts wakes others.
inline constexpr std::size_t migrations_woken_by_start_max = 8;
// A job on a disk that failed is tried again after a while, which doubles (spec storage 4.2).
inline constexpr std::chrono::seconds disk_retry_min{10};
inline constexpr std::chrono::minutes disk_retry_max{5};
// The data of a claim that is gone waits for the guest that has it, and a new claim of that name for the data to go.
inline constexpr std::chrono::seconds released_look_interval{5};
// Of what a node says when it refuses: it becomes an error of a status.
inline constexpr std::size_t node_words_max = 1024;
// A snapshot that does not come to an end fails after this time unless it says otherwise (spec copies 3.1).
inline constexpr std::chrono::minutes snapshot_deadline{5};
// What waits for its turn with a VM, a claim or a node looks again after this time (spec copies 3.2, 3.5).
inline constexpr std::chrono::seconds snapshot_retry{5};
// Volumes of one snapshot. A VM cannot have more disks; contents can be written by hand.
inline constexpr std::size_t snapshot_volumes_max = 1024;
// How long a restore waits for its target to stop (spec copies 4.1).
inline constexpr std::chrono::minutes restore_grace{5};
// How long an export lives unless it says otherwise, and how soon it looks again at a source in use (spec copies 6).
inline constexpr std::chrono::hours export_life{2};
inline constexpr std::chrono::seconds export_retry{3};

// Nodes that one program makes up: each has a heartbeat and a line in every placement.
inline constexpr std::int64_t simulated_nodes_max = 1000;
// The longest that anything made up takes, so that sums of times stay numbers.
inline constexpr std::chrono::hours simulated_time_max{24};
// Times that a call to a simulated node reads the VMI anew because somebody else wrote it.
inline constexpr int simulated_attempts_max = 16;
// Bytes that a console which echoes keeps for a client that does not read.
inline constexpr std::size_t simulated_console_bytes_max = 65536;

// What all filters of a clone for one kind of keys together may take, compiled. A hundred ordinary ones need some KiB.
inline constexpr std::size_t clone_filters_memory_bytes_max = std::size_t{1} << 20;

// Texts in the rules of all flow schemas that are asked: a request may be compared with each, which takes some
// microseconds for so many. Kubernetes' own schemas have about a hundred.
inline constexpr std::size_t flow_schema_texts_max = 4096;
// Priority levels that share the seats out, each a series among the metrics.
inline constexpr std::size_t priority_levels_max = 1000;

}  // namespace vg::limits
