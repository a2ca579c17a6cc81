#include "simulated/moving.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/controller_limits.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/nodes.h"
#include "json/access.h"
#include "simulated/made_up.h"
#include "simulated/waiting.h"

namespace vg::simulated {
namespace {

using controllers::EventType;
using controllers::vmi::Draft;
using json::Object;
using std::string_view;

constexpr string_view target_label = "kubevirt.io/migrationTargetNodeName";
constexpr string_view aborted = "Live migration has been aborted";
constexpr std::int64_t usual_limit_seconds = 150;
constexpr std::int64_t giga = 1'000'000'000;

const Object* moving_of(const Object& vmi) {
  const Object* status = json::get_object(vmi, "status");
  return status ? json::get_object(*status, "migrationState") : nullptr;
}

const Object* options_of(const Object& vmi) {
  const Object* moving = moving_of(vmi);
  return moving ? json::get_object(*moving, "migrationConfiguration") : nullptr;
}

std::int64_t memory_of(const Object& vmi) {
  const json::Value* status = json::find(vmi, "status");
  const json::Value* memory = status ? json::find_path(*status, {"memory", "guestCurrent"}) : nullptr;
  return memory ? controllers::amount_of("memory", *memory) : 0;
}

Object& moving(Draft& guest) { return json::ensure_object(guest.status(), "migrationState"); }

void drop_label(Draft& guest, string_view label) {
  if (Object* labels = json::get_object(guest.metadata(), "labels")) json::erase(*labels, label);
}

// --- begin -----------------------------------------------------------------------------------------------------------

// MIG-D06, D07, D15: the target listens. MIG-R13, R14, R20, MIG-X02: the source sends.
void begin(Draft& guest) {
  Object& state = moving(guest);
  const std::string target(json::get_string_or(state, "targetNode"));
  const std::string address = made_up_node_address(target);
  const auto port = [&](std::uint32_t index) { return fmt::format("{}", 32768 + (hash(guest.uid()) + index) % 16384); };
  Object ports({{port(0), 0}, {port(1), 49152}}, guest.storage());
  if (json::get_string_or(guest.status(), "migrationMethod") == "BlockMigration") ports[port(2)] = 49153;
  state["targetNodeAddress"] = address;
  state["targetDirectMigrationNodePorts"] = std::move(ports);
  state["startTimestamp"] = guest.now();
  state["mode"] = "PreCopy";
  guest.tell(EventType::normal, "PreparingTarget", "VirtualMachineInstance Migration Target Prepared.");
  guest.tell(EventType::normal, "PreparingTarget", fmt::format("node {} listens at {}", target, address));
  guest.tell(EventType::normal, "Migrating", "VirtualMachineInstance is migrating.");
}

// --- end -------------------------------------------------------------------------------------------------------------

// MIG-R21, MIG-D40, D42, MIG-X30, X31.
void fail(Draft& guest, string_view reason) {
  Object& state = moving(guest);
  const bool is_abort = reason == aborted;
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
  drop_label(guest, target_label);
}

// MIG-D30 to D32: what was changed while the guest could not have it.
void apply_live_updates(Draft& guest) {
  const json::Value* spec = json::find(guest.stored, "spec");
  Object& status = guest.status();
  if (controllers::drop_condition(status, "HotVCPUChange")) {
    const json::Value* cpu = spec ? json::find_path(*spec, {"domain", "cpu"}) : nullptr;
    Object& topology = json::ensure_object(status, "currentCPUTopology");
    for (const string_view part : {"cores", "sockets", "threads"})
      if (const json::Value* count = cpu ? json::find(*cpu, part) : nullptr) topology[part] = *count;
    drop_label(guest, "kubevirt.io/vmi-pod-cpu-resource-limits");
  }
  if (controllers::drop_condition(status, "HotMemoryChange")) {
    const json::Value* memory = spec ? json::find_path(*spec, {"domain", "memory", "guest"}) : nullptr;
    if (memory)
      for (const string_view part : {"guestRequested", "guestCurrent"})
        json::ensure_object(status, "memory")[part] = *memory;
    drop_label(guest, "kubevirt.io/vmi-pod-memory-resource-requests");
    drop_label(guest, "kubevirt.io/memory-hotplug-overhead-ratio");
  }
  for (const string_view condition : {"VolumesChange", "MigrationRequired"})  // MIG-D33, D11
    controllers::drop_condition(status, condition);
  json::erase(status, "migratedVolumes");
}

// MIG-D10 to D12, D20, D21.
void arrive(Draft& guest) {
  Object& state = moving(guest);
  const std::string target(json::get_string_or(state, "targetNode"));
  state["targetNodeDomainDetected"] = true;
  state["targetNodeDomainReadyTimestamp"] = guest.now();
  state["endTimestamp"] = guest.now();
  state["completed"] = true;
  const std::string overhead(json::get_string_or(state, "targetMemoryOverhead"));
  Object& status = guest.status();  // `state` moves when this changes
  status["nodeName"] = target;
  json::ensure_object(guest.metadata(), "labels")["kubevirt.io/nodeName"] = target;
  for (const string_view gone : {"evacuationNodeName", "launcherContainerImageVersion"}) json::erase(status, gone);
  status["migrationTransport"] = "Unix";
  drop_label(guest, "kubevirt.io/outdatedLauncherImage");
  if (Object* annotations = json::get_object(guest.metadata(), "annotations"))
    json::erase(*annotations, "kubevirt.io/eviction-source");
  if (!overhead.empty()) json::ensure_object(status, "memory")["memoryOverhead"] = overhead;
  apply_live_updates(guest);
  drop_label(guest, target_label);  // MIG-D42
  guest.tell(EventType::normal, "Migrated", fmt::format("the VMI runs on node {} now", target));
}

// MIG-X11, X15: it takes longer than it may.
void give_up_or_go(Draft& guest) {
  const Object* options = options_of(guest.stored);
  if (!options || !json::get_bool_or(*options, "allowPostCopy", false))
    return fail(guest, "the migration took too long");
  moving(guest)["mode"] = "PostCopy";
  arrive(guest);
}

}  // namespace

// MIG-R01 to R03, MIG-D01.
bool is_moving(const Draft& guest) {
  const Object* state = moving_of(guest.stored);
  if (!state || json::get_bool_or(*state, "completed", false) || json::get_string_or(*state, "migrationUid").empty())
    return false;
  const string_view target = json::get_string_or(*state, "targetNode");
  const controllers::Nodes& nodes = guest.turn.world.nodes();
  return json::get_string_or(*state, "sourceNode") == guest.read_status().node_name() &&
         controllers::label_of(guest.stored, target_label) == target && is_simulated(nodes.find(target));
}

milliseconds transfer_time(const Object& vmi, const Settings& settings) {
  const Object* options = options_of(vmi);
  const json::Value* bandwidth = options ? json::find(*options, "bandwidthPerMigration") : nullptr;
  const std::int64_t bytes_per_second = bandwidth ? controllers::amount_of("memory", *bandwidth) : 0;
  if (bytes_per_second <= 0) return settings.migration;
  const std::chrono::seconds most = limits::simulated_time_max;
  return milliseconds(std::min(memory_of(vmi) / bytes_per_second, most.count()) * 1000);
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

// MIG-R04, R12, MIG-D03.
void move(Draft& guest, const Settings& settings) {
  const Object& state = *moving_of(guest.stored);
  if (json::get_bool_or(state, "abortRequested", false)) return fail(guest, aborted);
  const auto began = parse_rfc3339(json::get_string_or(state, "startTimestamp"));
  const milliseconds whole = transfer_time(guest.stored, settings), limit = transfer_limit(guest.stored);
  const bool too_long = limit > milliseconds::zero() && whole > limit;
  const milliseconds takes = too_long ? limit : whole;
  if (!began) {
    begin(guest);
    return guest.pass.look_again(takes);
  }
  const milliseconds left = left_of(guest.turn, began->seconds, takes);
  if (left > milliseconds::zero()) return guest.pass.look_again(left);
  if (settings.migration_fails) return fail(guest, "the simulated migration was told to fail");
  if (too_long) return give_up_or_go(guest);
  arrive(guest);
}

}  // namespace vg::simulated
