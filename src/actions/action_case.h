// What an action is decided from, and the questions that most of them ask. Everything is a value that was looked up
// before, so decide functions are pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actions/action.h"
#include "actions/effect.h"
#include "admission/context.h"
#include "api/views/vm.h"
#include "api/views/vmi.h"
#include "api/views/vmi_status.h"
#include "base/status.h"
#include "config/cluster_config.h"
#include "json/value.h"

namespace vg::actions {

using api::kubevirt::VirtualMachine;
using api::kubevirt::VirtualMachineInstance;

struct ActionCase {
  const Action& action;
  const config::ClusterConfig& config;
  const admission::Context& context;  // for what applies instance types
  std::string_view ns, name;
  std::string_view raw_query = {};
  std::string_view port = {}, protocol = {};  // of a port-forward
  bool guests_have_pods = false;              // StreamSupport
  // Null: not asked for, or not there.
  const json::Value* machine = nullptr;
  const json::Value* instance = nullptr;
  const json::Value* claim = nullptr;
  const json::Value* cdi = nullptr;
  const json::Value* node = nullptr;
  const json::Value* kubevirt = nullptr;
  const json::Value* body = nullptr;            // canonical; never null where the action has options
  std::optional<Status> body_problem = {};      // why there is none
  std::vector<const json::Value*> pods = {};    // launchers
  std::vector<const json::Value*> claims = {};  // with persistent state
  std::vector<Component> components = {};       // of KubeVirt
  std::string continue_token = {};              // behind them
  json::StoragePtr storage = {};

  VirtualMachine vm() const { return VirtualMachine(machine); }
  VirtualMachineInstance vmi() const { return VirtualMachineInstance(instance); }
  template <class Options>
  Options options() const {
    return Options(body);
  }
  std::string_view phase() const { return vmi().status().phase(); }
  bool enabled(config::Gate gate) const { return config.enabled(gate); }
};

// --- phases, conditions, strategies

inline bool is_final(std::string_view phase) { return phase == "Failed" || phase == "Succeeded"; }
// "Running", or "not set" for the empty phase, in which an instance begins.
std::string_view printed_phase(std::string_view phase);

// An entry of that type, whatever its status (spec subresources 2.0).
bool has_condition(const VirtualMachineInstance& vmi, std::string_view type);
bool is_true(const VirtualMachineInstance& vmi, std::string_view type);
bool is_true(const VirtualMachine& vm, std::string_view type);

// 500 when the machine says both running and runStrategy.
Result<std::string_view> run_strategy(const ActionCase& asked);

// --- refusals: the present state, and what would work

inline constexpr std::string_view machine_kind = "virtualmachine";
inline constexpr std::string_view instance_kind = "virtualmachineinstance";
inline constexpr std::string_view claim_kind = "persistentvolumeclaim";

Status not_found(std::string_view kind, std::string_view name);
Status conflict(std::string_view kind, std::string_view name, std::string_view why);
Status forbidden(std::string_view kind, std::string_view name, std::string_view why);
inline Status machine_conflict(const ActionCase& asked, std::string_view why) {
  return conflict(machine_kind, asked.name, why);
}
inline Status instance_conflict(const ActionCase& asked, std::string_view why) {
  return conflict(instance_kind, asked.name, why);
}
// The instance is not in phase Running; `refused` says what cannot be had or done because of that: "no screenshot".
Status not_running(const ActionCase& asked, std::string_view refused);

// --- dry run

// Where it is passed on to the API: that refuses a write under any other word than "All", so that a decision that
// begins with a write is a 500 then.
bool says_dry_run(const ActionCase& asked);
Decision pass_dry_run_on(const ActionCase& asked, Decision decision);
// Elsewhere the first word alone counts, and anything but "All" is done for real (spec subresources Q9).
bool begins_with_dry_run(const ActionCase& asked);

// --- patches

// A copy in the request's memory; null when there is none.
json::Value copy_of(const json::Value* value, const ActionCase& asked);
json::Value text_of(std::string_view text, const ActionCase& asked);

}  // namespace vg::actions
