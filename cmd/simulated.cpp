#include "simulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "json/access.h"
#include "simulated/made_up.h"

namespace vg::cmd {
namespace {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;

constexpr string_view node_label = "kubevirt.io/nodeName";
constexpr string_view vm_finalizer = "kubevirt.io/virtualMachineControllerFinalize";
constexpr string_view migration_finalizer = "kubevirt.io/migrationJobFinalize";
// Those that components take off a VMI that has ended.
constexpr std::array vmi_finalizers = {vm_finalizer, string_view("kubevirt.io/foregroundDeleteVirtualMachine"),
                                       string_view("foregroundDeleteVirtualMachine")};

// What a phase implies.
struct PhaseRow {
  string_view phase;
  bool placed;   // it has a node and a pod there
  bool started;  // the guest was started there
  bool ready;
  string_view not_ready_reason;
};
constexpr std::array phases = std::to_array<PhaseRow>({
    {"Pending", false, false, false, "PodNotExists"},
    {"Scheduling", false, false, false, "GuestNotRunning"},
    {"Scheduled", true, false, false, "GuestNotRunning"},
    {"Running", true, true, true, ""},
    {"Succeeded", true, true, false, "PodTerminating"},
    {"Failed", true, true, false, "PodTerminating"},
    {"Unknown", true, true, false, "GuestNotRunning"},
});

const PhaseRow& row_of(string_view phase) {
  const auto* found = std::ranges::find(phases, phase, &PhaseRow::phase);
  return found == phases.end() ? phases.front() : *found;
}

string_view metadata(const Object& object, string_view key) {
  const Object* found = json::get_object(object, "metadata");
  return found ? json::get_string_or(*found, key) : string_view();
}

bool is_deleted(const Object& object) { return !metadata(object, "deletionTimestamp").empty(); }

const Object& part_of(const Object& object, string_view key) {
  static const Object nothing;
  const Object* found = json::get_object(object, key);
  return found ? *found : nothing;
}

string_view phase_of(const Object& vmi) { return json::get_string_or(part_of(vmi, "status"), "phase"); }
bool is_final(const Object& vmi) { return phase_of(vmi) == "Succeeded" || phase_of(vmi) == "Failed"; }

// Sets a condition; its time changes with its status only.
void set_condition(Array& conditions, string_view type, bool holds, string_view reason, string_view message,
                   string_view now) {
  const string_view status = holds ? "True" : "False";
  Object wanted(conditions.storage());
  wanted["lastProbeTime"] = nullptr;
  wanted["lastTransitionTime"] = now;
  if (!message.empty()) wanted["message"] = message;
  if (!reason.empty()) wanted["reason"] = reason;
  wanted["status"] = status;
  wanted["type"] = type;
  for (Value& one : conditions) {
    if (json::get_string_or(one, "type") != type) continue;
    if (json::get_string_or(one, "status") == status)
      wanted["lastTransitionTime"] = json::get_string_or(one, "lastTransitionTime", now);
    if (json::get_string_or(one, "reason") == reason && json::get_string_or(one, "status") == status) return;
    one = std::move(wanted);
    return;
  }
  conditions.emplace_back(std::move(wanted));
}

const Object* find_condition(const Object& object, string_view type) {
  const Array* conditions = json::get_array(part_of(object, "status"), "conditions");
  if (!conditions) return nullptr;
  for (const Value& one : *conditions)
    if (json::get_string_or(one, "type") == type) return one.if_object();
  return nullptr;
}

void drop_condition(Array& conditions, string_view type) {
  auto* end = std::remove_if(conditions.begin(), conditions.end(),
                             [&](const Value& one) { return json::get_string_or(one, "type") == type; });
  conditions.erase(end, conditions.end());
}

void note_phase(Object& status, string_view phase, string_view now) {
  Array& times = json::ensure_array(status, "phaseTransitionTimestamps");
  for (const Value& one : times)
    if (json::get_string_or(one, "phase") == phase) return;
  Object entry(times.storage());
  entry["phase"] = phase;
  entry["phaseTransitionTimestamp"] = now;
  times.emplace_back(std::move(entry));
}

void set_phase(Object& status, string_view phase, string_view now) {
  // The phases on the way there, which a watch would have seen.
  const PhaseRow& target = row_of(phase);
  for (const PhaseRow& row : phases) {
    const bool on_the_way = &row <= &target && (row.phase == phase || &row <= &row_of("Running"));
    if (on_the_way) note_phase(status, row.phase, now);
  }
  status["phase"] = phase;
}

void set_volumes(const Object& vmi, Object& status) {
  const Array* volumes = json::as_array(json::find(part_of(vmi, "spec"), "volumes"));
  if (!volumes) return;
  Array statuses(status.storage());
  for (std::size_t i = 0; i < volumes->size(); ++i) {
    Object one(status.storage());
    one["name"] = json::get_string_or((*volumes)[i], "name");
    one["target"] = i < 26 ? fmt::format("vd{}", static_cast<char>('a' + i)) : fmt::format("vda{}", i);
    statuses.emplace_back(std::move(one));
  }
  status["volumeStatus"] = std::move(statuses);
}

void set_guest_agent(Object& status, Array& conditions, const Simulation& simulation) {
  if (!simulation.guest_agent) {
    drop_condition(conditions, "AgentConnected");
    return;
  }
  set_condition(conditions, "AgentConnected", true, "", "", simulation.now);
  status["guestOSInfo"] = simulated::guest_os(status.storage());
}

void move_to(Object& vmi, string_view node) {
  json::ensure_path(vmi, {"metadata", "labels"})[node_label] = node;
  Object& status = json::ensure_object(vmi, "status");
  status["nodeName"] = node;
  Object pods(status.storage());
  // The pod that would run it: one a node, told apart by the last digits of its uid.
  std::string uid(metadata(vmi, "uid"));
  const std::string suffix = fmt::format("{:08x}", simulated::hash(fmt::format("{}/{}", uid, node)));
  if (uid.size() >= suffix.size()) uid.replace(uid.size() - suffix.size(), suffix.size(), suffix);
  pods[uid.empty() ? suffix : uid] = node;
  status["activePods"] = std::move(pods);
}

bool drop_finalizers(Object& object, std::span<const string_view> names) {
  Array* finalizers = json::as_array(json::find(json::ensure_object(object, "metadata"), "finalizers"));
  if (!finalizers) return false;
  const std::size_t before = finalizers->size();
  auto* end = std::remove_if(finalizers->begin(), finalizers->end(), [&](const Value& one) {
    return std::ranges::find(names, json::as_string(&one).value_or("")) != names.end();
  });
  finalizers->erase(end, finalizers->end());
  return finalizers->size() != before;
}

// --- the VM ----------------------------------------------------------------------------------------------------------

string_view run_strategy(const Object& vm) {
  const Object& spec = part_of(vm, "spec");
  if (const auto strategy = json::get_string(spec, "runStrategy")) return *strategy;
  return json::get_bool_or(spec, "running", false) ? "Always" : "Halted";
}

const Object* first_request(const Object& vm) {
  const Array* requests = json::get_array(part_of(vm, "status"), "stateChangeRequests");
  return requests && !requests->empty() ? requests->front().if_object() : nullptr;
}

bool asks_to_start(const Object& vm) {
  const Object* request = first_request(vm);
  return request && json::get_string_or(*request, "action") == "Start";
}

bool asks_to_stop(const Object& vm, const Object& vmi) {
  const Object* request = first_request(vm);
  return request && json::get_string_or(*request, "action") == "Stop" &&
         json::get_string_or(*request, "uid") == metadata(vmi, "uid");
}

bool is_to_stop(const Object& vm, const Object& vmi) {
  const string_view strategy = run_strategy(vm);
  if (is_deleted(vm)) return true;
  if (strategy == "Halted") return true;
  if (strategy == "Always") return asks_to_stop(vm, vmi) || is_final(vmi);
  if (strategy == "RerunOnFailure") return asks_to_stop(vm, vmi) || is_final(vmi);
  return strategy == "Manual" && asks_to_stop(vm, vmi);
}

bool belongs_to_vm(const Object& vmi) {
  const Array* owners = json::get_array(part_of(vmi, "metadata"), "ownerReferences");
  return owners && std::ranges::any_of(*owners, [](const Value& owner) {
           return json::get_string_or(owner, "kind") == "VirtualMachine" &&
                  json::get_bool_or(owner, "controller", false);
         });
}

// At most one request is dropped at a time, as its controller does.
void drop_done_request(const Object& vm, const Object* vmi, Object& status) {
  const Object* request = first_request(vm);
  if (!request) return;
  const string_view action = json::get_string_or(*request, "action");
  const bool stopped = action == "Stop" && (!vmi || json::get_string_or(*request, "uid") != metadata(*vmi, "uid"));
  const bool started = action == "Start" && vmi && !is_deleted(*vmi) && !is_final(*vmi);
  if (!stopped && !started) return;
  Array& requests = json::ensure_array(status, "stateChangeRequests");
  requests.erase(requests.begin());
  if (requests.empty()) json::erase(status, "stateChangeRequests");
}

string_view printable_status(const Object& vm, const Object* vmi) {
  if (is_deleted(vm)) return "Terminating";
  if (!vmi) return is_to_start(vm) ? "Starting" : "Stopped";
  if (is_final(*vmi)) return "Stopped";
  if (is_deleted(*vmi)) return "Stopping";
  if (phase_of(*vmi) == "Unknown") return "Unknown";
  if (phase_of(*vmi) != "Running") return "Starting";
  const Object* paused = find_condition(*vmi, "Paused");
  return paused && json::get_string_or(*paused, "status") == "True" ? "Paused" : "Running";
}

}  // namespace

void simulate_vmi(Object& vmi, const Simulation& simulation) {
  const PhaseRow& row = row_of(simulation.phase);
  Object& status = json::ensure_object(vmi, "status");
  set_phase(status, row.phase, simulation.now);
  if (row.placed && (row.phase != "Succeeded" && row.phase != "Failed")) {
    move_to(vmi, simulation.node);
    status["migrationTransport"] = "Unix";
    status["qosClass"] = "Burstable";
  }
  Array& conditions = json::ensure_array(status, "conditions");
  set_condition(conditions, "Ready", row.ready, row.not_ready_reason, "", simulation.now);
  if (row.phase != "Running") return;
  set_condition(conditions, "LiveMigratable", true, "", "", simulation.now);
  set_condition(conditions, "StorageLiveMigratable", true, "", "", simulation.now);
  if (json::get_string_or(part_of(vmi, "spec"), "startStrategy") == "Paused")
    set_condition(conditions, "Paused", true, "PausedByUser", "VMI was paused by user", simulation.now);
  set_guest_agent(status, conditions, simulation);
  status["migrationMethod"] = "BlockMigration";
  status["interfaces"] = simulated::interfaces_of(
      vmi, nullptr, {.guest_agent = simulation.guest_agent, .first_ip = simulation.ip}, status.storage());
  set_volumes(vmi, status);
}

Value vmi_of(const Object& vm) {
  const Object& tmpl = part_of(part_of(vm, "spec"), "template");
  Object vmi;
  vmi["apiVersion"] = "kubevirt.io/v1";
  vmi["kind"] = "VirtualMachineInstance";
  Object& meta = (vmi["metadata"] = part_of(tmpl, "metadata")).as_object();
  meta["name"] = metadata(vm, "name");
  meta["namespace"] = metadata(vm, "namespace");
  json::erase(meta, "generateName");
  json::erase(meta, "creationTimestamp");
  json::ensure_object(meta, "annotations")["kubevirt.io/vm-generation"] =
      std::to_string(json::get_int_or(part_of(vm, "metadata"), "generation", 1));
  json::ensure_array(meta, "finalizers").emplace_back(vm_finalizer);
  meta["ownerReferences"] = Array({Object({{"apiVersion", "kubevirt.io/v1"},
                                           {"kind", "VirtualMachine"},
                                           {"name", metadata(vm, "name")},
                                           {"uid", metadata(vm, "uid")},
                                           {"controller", true},
                                           {"blockOwnerDeletion", true}})});
  Object& spec = (vmi["spec"] = part_of(tmpl, "spec")).as_object();
  const Object* request = first_request(vm);
  const Object* data = request ? json::get_object(*request, "data") : nullptr;
  if (asks_to_start(vm) && data && json::get_string_or(*data, "paused") == "true") spec["startStrategy"] = "Paused";
  Object& devices = json::ensure_path(spec, {"domain", "devices"});
  const auto has = [&](string_view list, string_view name) {
    const Array* all = json::get_array(devices, list);
    return all && std::ranges::any_of(*all, [&](const Value& one) { return json::get_string_or(one, "name") == name; });
  };
  if (const Array* volumes = json::get_array(spec, "volumes"))
    for (const Value& volume : *volumes) {
      const string_view name = json::get_string_or(volume, "name");
      if (!has("disks", name) && !has("filesystems", name))
        json::ensure_array(devices, "disks").emplace_back(Object({{"name", name}}));
    }
  return vmi;
}

bool is_to_start(const Object& vm) {
  const string_view strategy = run_strategy(vm);
  if (is_deleted(vm)) return false;
  if (strategy == "Always" || strategy == "Once") return true;
  if (strategy == "RerunOnFailure")
    return asks_to_start(vm) || json::get_string_or(part_of(vm, "status"), "runStrategy") != "RerunOnFailure";
  return strategy == "Manual" && asks_to_start(vm);
}

bool simulate_vm_status(Object& vm, const Object* vmi, const Simulation& simulation) {
  const Value before = part_of(vm, "status");
  const string_view printable = printable_status(vm, vmi);
  Object status = before.as_object();
  drop_done_request(vm, vmi, status);
  const auto set_flag = [&](string_view name, bool holds) {
    if (holds)
      status[name] = true;
    else
      json::erase(status, name);
  };
  const Object* ready = vmi ? find_condition(*vmi, "Ready") : nullptr;
  const bool is_ready = ready && json::get_string_or(*ready, "status") == "True";
  set_flag("created", vmi != nullptr);
  set_flag("ready", is_ready);
  if (vmi || status.contains("runStrategy")) status["runStrategy"] = run_strategy(vm);
  status["printableStatus"] = printable;
  if (const auto generation = json::get_int(part_of(vm, "metadata"), "generation")) {
    status["desiredGeneration"] = *generation;
    status["observedGeneration"] = *generation;
  }
  Array& conditions = json::ensure_array(status, "conditions");
  if (!vmi)
    set_condition(conditions, "Ready", false, "VMINotExists", "VMI does not exist", simulation.now);
  else
    set_condition(conditions, "Ready", is_ready, ready ? json::get_string_or(*ready, "reason") : "GuestNotRunning", "",
                  simulation.now);
  if (Value(status) == before) return false;
  vm["status"] = std::move(status);
  return true;
}

SimulationStep next_step(const Object* vm, const Object* vmi, const Simulation& simulation) {
  using Kind = SimulationStep::Kind;
  if (vmi && is_deleted(*vmi)) {
    Value ended = *vmi;
    if (!is_final(*vmi)) {
      Simulation end = simulation;
      end.phase = "Succeeded";
      simulate_vmi(ended.as_object(), end);
    }
    const bool released = drop_finalizers(ended.as_object(), vmi_finalizers);
    if (released || !is_final(*vmi)) return {Kind::update_vmi, std::move(ended), "VMI ended"};
  } else if (vmi && !vm && belongs_to_vm(*vmi)) {
    return {Kind::delete_orphan, {}, "VMI deleted"};
  } else if (vmi && (phase_of(*vmi).empty() || !row_of(phase_of(*vmi)).started) && phase_of(*vmi) != simulation.phase) {
    Value started = *vmi;
    simulate_vmi(started.as_object(), simulation);
    return {Kind::update_vmi, std::move(started), "VMI started"};
  } else if (vm && vmi && is_to_stop(*vm, *vmi)) {
    return {Kind::delete_vmi, {}, "VMI deleted"};
  } else if (vm && !vmi && is_to_start(*vm)) {
    return {Kind::create_vmi, {}, "VMI created"};
  }
  if (!vm) return {};
  // A start that needs a request, of a VM that is halted, sets it running for good.
  if (!vmi && !is_deleted(*vm) && run_strategy(*vm) == "Halted" && asks_to_start(*vm)) {
    Value changed = *vm;
    Object& spec = json::ensure_object(changed.as_object(), "spec");
    if (spec.contains("runStrategy"))
      spec["runStrategy"] = "Always";
    else
      spec["running"] = true;
    return {Kind::update_vm, std::move(changed), "VM set to run"};
  }
  Value changed = *vm;
  if (simulate_vm_status(changed.as_object(), vmi, simulation)) return {Kind::update_vm_status, std::move(changed), {}};
  return {};
}

MigrationStep next_migration_step(const Object& migration, const Object* vmi, const Simulation& simulation) {
  using Kind = MigrationStep::Kind;
  const string_view phase = json::get_string_or(part_of(migration, "status"), "phase");
  Value changed = migration;
  if (phase == "Succeeded" || phase == "Failed") {
    const std::array names = {migration_finalizer};
    if (drop_finalizers(changed.as_object(), names)) return {Kind::update_migration, std::move(changed)};
    return {};
  }
  const bool running = vmi && phase_of(*vmi) == "Running" && !is_deleted(*vmi);
  const Object& state = running ? part_of(part_of(*vmi, "status"), "migrationState") : part_of(migration, "nothing");
  const bool mine = json::get_string_or(state, "migrationUid") == metadata(migration, "uid");
  Object& status = json::ensure_object(changed.as_object(), "status");
  if (!running || is_deleted(migration) || (mine && json::get_bool_or(state, "completed", false))) {
    const bool good = running && mine;
    status["phase"] = good ? "Succeeded" : "Failed";
    note_phase(status, good ? "Succeeded" : "Failed", simulation.now);
    if (good) status["migrationState"] = state;
    return {Kind::update_migration_status, std::move(changed)};
  }
  Value moved = *vmi;
  const std::string source(json::get_string_or(part_of(*vmi, "status"), "nodeName"));
  const std::string target = source == simulation.node ? simulation.node + "-target" : simulation.node;
  move_to(moved.as_object(), target);
  json::ensure_object(moved.as_object(), "status")["migrationState"] =
      Object({{"migrationUid", metadata(migration, "uid")},
              {"sourceNode", source},
              {"targetNode", target},
              {"startTimestamp", simulation.now},
              {"endTimestamp", simulation.now},
              {"mode", "PreCopy"},
              {"completed", true}});
  return {Kind::update_vmi, std::move(moved)};
}

}  // namespace vg::cmd
