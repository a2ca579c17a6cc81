// Instance types and preferences (spec vm-instancetype 3.4).
#include <fmt/format.h>

#include <algorithm>

#include "admission/instancetype/topology.h"
#include "admission/rule.h"
#include "api/canonical_words.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view overcommit_field = "spec.memory.overcommitPercent";

std::int64_t overcommit(const Case& judged) {
  return json::as_int(json::find_path(*judged.object, {"spec", "memory", "overcommitPercent"})).value_or(0);
}

void overcommit_is_a_percentage(const Case& judged, Causes& causes) {
  const auto percent = overcommit(judged);
  if (percent < 0 || percent > 100) causes.invalid(overcommit_field, fmt::format("{}: must be from 0 to 100", percent));
}

void overcommit_without_hugepages(const Case& judged, Causes& causes) {
  if (overcommit(judged) != 0 && json::find_path(*judged.object, {"spec", "memory", "hugepages"}))
    causes.invalid(overcommit_field, "overcommitPercent is mutually exclusive with hugepages; remove one of them");
}

void launch_security_belongs_elsewhere(const Case& judged, Causes& causes) {
  if (json::find_path(*judged.object, {"spec", "launchSecurity"}))
    causes.warn("launchSecurity of an instance type is deprecated; use preferredLaunchSecurity of a preference");
}

constexpr Rule instancetype_table[] = {
    {"IT1", "overcommitPercent must be from 0 to 100", overcommit_field, overcommit_is_a_percentage},
    {"IT2", "hugepages and overcommitPercent are mutually exclusive", overcommit_field, overcommit_without_hugepages},
    {"ITW", "launchSecurity of an instance type is deprecated (a warning)", "spec.launchSecurity",
     launch_security_belongs_elsewhere},
};

// --- preferences -----------------------------------------------------------------------------------------------------

constexpr string_view topology_field = "spec.cpu.preferredCPUTopology";

api::instancetype::VirtualMachinePreferenceSpec preference(const Case& judged) {
  return api::instancetype::VirtualMachinePreferenceSpec(json::find(*judged.object, "spec"));
}
TopologyChoice choice(const Case& judged) { return chosen_topology(preference(judged)); }

void topology_is_known(const Case& judged, Causes& causes) {
  const auto name = preference(judged).cpu().preferred_cpu_topology();
  if (name && choice(judged).topology == Topology::unknown)
    causes.invalid(topology_field,
                   fmt::format("{}: supported values: sockets, cores, threads, spread, any", api::in_words(*name)));
}

void spread_is_known(const Case& judged, Causes& causes) {
  if (!choice(judged).spreads() || choice(judged).across != Across::unknown) return;
  const string_view over = preference(judged).cpu().spread_options().across().value_or("");
  causes.invalid(
      "spec.cpu.spreadOptions.across",
      fmt::format("{}: supported values: SocketsCores, CoresThreads, SocketsCoresThreads", api::in_words(over)));
}

void threads_come_in_pairs(const Case& judged, Causes& causes) {
  const TopologyChoice chosen = choice(judged);
  if (!chosen.spreads() || chosen.across != Across::cores_threads || chosen.ratio == 2) return;
  causes.invalid(
      "spec.cpu.spreadOptions.ratio",
      fmt::format("{}: must be 2 to spread across CoresThreads, because a core has two threads", chosen.ratio));
}

void topology_has_a_new_name(const Case& judged, Causes& causes) {
  const string_view name = preference(judged).cpu().preferred_cpu_topology().value_or("");
  const auto* old = std::ranges::find(topology_names, name, &TopologyName::deprecated);
  if (old != topology_names.end())
    causes.warn(fmt::format("preferredCPUTopology {} is deprecated; use {}", old->deprecated, old->name));
}

constexpr Rule preference_table[] = {
    {"PF1", "preferredCPUTopology must be supported", topology_field, topology_is_known},
    {"PF2", "spreadOptions.across must be supported", "spec.cpu.spreadOptions.across", spread_is_known},
    {"PF3", "the ratio must be 2 to spread across CoresThreads", "spec.cpu.spreadOptions.ratio", threads_come_in_pairs},
    {"PFW", "old names of topologies are deprecated (a warning)", topology_field, topology_has_a_new_name},
};

}  // namespace

std::span<const Rule> instancetype_rules() { return instancetype_table; }
std::span<const Rule> preference_rules() { return preference_table; }

}  // namespace vg::admission
