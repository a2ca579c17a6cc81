#include "actions/seen.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "api/views/k8s_meta.h"
#include "base/journal_limits.h"
#include "json/access.h"

namespace vg::actions {
namespace {

using std::string_view;

// A text of a status: written by components, but nobody's rule says how long it may be.
void add(std::string& state, string_view label, string_view text) {
  if (text.empty()) return;
  fmt::format_to(std::back_inserter(state), "{}{}{}", state.empty() ? "" : ", ", label,
                 text.substr(0, limits::record_value_bytes_max));
}

std::string machine_state(const ActionCase& asked) {
  const VirtualMachine vm = asked.vm();
  std::string state;
  add(state, "", vm.status().printable_status());
  const auto strategy = run_strategy(asked);
  add(state, "run strategy ", strategy ? *strategy : string_view("unclear"));
  const auto waiting = vm.status().state_change_requests();
  if (!waiting.empty()) add(state, "waiting for ", waiting[0].action());
  if (vm.metadata().deletion_timestamp()) add(state, "", "being deleted");
  return state;
}

std::string instance_state(const ActionCase& asked) {
  static constexpr std::array<string_view, 2> told = {"Paused", "AgentConnected"};
  const VirtualMachineInstance vmi = asked.vmi();
  std::string state;
  add(state, "", printed_phase(asked.phase()));
  add(state, "on node ", vmi.status().node_name());
  for (const string_view type : told)
    if (is_true(vmi, type)) add(state, "", type);
  if (has_condition(vmi, "LiveMigratable") && !is_true(vmi, "LiveMigratable")) add(state, "", "not migratable");
  if (vmi.metadata().deletion_timestamp()) add(state, "", "being deleted");
  return state;
}

void tell(record::Details& details, const ActionCase& asked, string_view resource, const json::Value* object,
          std::string state) {
  if (!object || details.seen.size() >= limits::record_seen_max) return;
  const auto version = json::as_string(json::find_path(*object, {"metadata", "resourceVersion"})).value_or("");
  add(state, "version ", version);
  details.seen.push_back(
      {fmt::format("{} {}/{}", resource, asked.ns, asked.name), state.substr(0, limits::record_state_bytes_max)});
}

}  // namespace

void tell_decision(const ActionCase& asked, record::Details& details) {
  details.decided_by = asked.action.resource.empty() ? std::string(asked.action.name)
                                                     : fmt::format("{}/{}", asked.action.resource, asked.action.name);
  if (asked.machine) tell(details, asked, "kubevirt.io/virtualmachines", asked.machine, machine_state(asked));
  if (asked.instance)
    tell(details, asked, "kubevirt.io/virtualmachineinstances", asked.instance, instance_state(asked));
}

}  // namespace vg::actions
