// Instance types and preferences (spec vm-instancetype 3.4).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rules/tables.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view overcommit_field = "spec.memory.overcommitPercent";

std::int64_t overcommit(const Case& about) {
  return json::as_int(json::find_path(*about.object, {"spec", "memory", "overcommitPercent"})).value_or(0);
}

void overcommit_is_a_percentage(const Case& about, Causes& causes) {
  const auto percent = overcommit(about);
  if (percent < 0 || percent > 100)
    causes.invalid(overcommit_field, fmt::format("overcommitPercent is a percentage from 0 to 100, not {}", percent));
}

void overcommit_without_hugepages(const Case& about, Causes& causes) {
  if (overcommit(about) != 0 && json::find_path(*about.object, {"spec", "memory", "hugepages"}))
    causes.invalid(overcommit_field, "hugepages cannot be overcommitted; set either hugepages or overcommitPercent");
}

void launch_security_belongs_elsewhere(const Case& about, Causes& causes) {
  if (json::find_path(*about.object, {"spec", "launchSecurity"}))
    causes.warn("launchSecurity of an instance type is deprecated; use preferredLaunchSecurity of a preference");
}

constexpr Rule instancetype_table[] = {
    {"IT1", "overcommitPercent is from 0 to 100", overcommit_field, overcommit_is_a_percentage},
    {"IT2", "hugepages are not overcommitted", overcommit_field, overcommit_without_hugepages},
    {"ITW", "launchSecurity stands in a preference (a warning)", "spec.launchSecurity",
     launch_security_belongs_elsewhere},
};

// --- preferences -----------------------------------------------------------------------------------------------------

struct Topology {
  string_view name, deprecated;
};
constexpr std::array topologies = std::to_array<Topology>({{"sockets", "preferSockets"},
                                                           {"cores", "preferCores"},
                                                           {"threads", "preferThreads"},
                                                           {"spread", "preferSpread"},
                                                           {"any", "preferAny"}});

string_view topology(const Case& about) {
  return json::as_string(json::find_path(*about.object, {"spec", "cpu", "preferredCPUTopology"})).value_or("");
}

const json::Value* spread_option(const Case& about, string_view name) {
  return json::find_path(*about.object, {"spec", "cpu", "spreadOptions", name});
}

bool spreads(const Case& about) { return topology(about) == "spread" || topology(about) == "preferSpread"; }

string_view across(const Case& about) {
  return json::as_string(spread_option(about, "across")).value_or("SocketsCores");
}

std::int64_t ratio(const Case& about) {
  constexpr std::int64_t usual = 2;
  if (const auto own = json::as_int(spread_option(about, "ratio"))) return *own;
  const auto older =
      json::as_int(json::find_path(*about.object, {"spec", "preferSpreadSocketToCoreRatio"})).value_or(0);
  return older != 0 ? older : usual;
}

void topology_is_known(const Case& about, Causes& causes) {
  if (!json::find_path(*about.object, {"spec", "cpu", "preferredCPUTopology"})) return;
  const string_view chosen = topology(about);
  if (std::ranges::any_of(topologies, [&](const Topology& t) { return chosen == t.name || chosen == t.deprecated; }))
    return;
  causes.invalid(
      "spec.cpu.preferredCPUTopology",
      fmt::format("the topology is one of sockets, cores, threads, spread and any, not {}", api::in_words(chosen)));
}

void spread_is_known(const Case& about, Causes& causes) {
  if (!spreads(about)) return;
  const string_view over = across(about);
  if (over == "SocketsCores" || over == "CoresThreads" || over == "SocketsCoresThreads") return;
  causes.invalid("spec.cpu.spreadOptions.across",
                 fmt::format("CPUs are spread across SocketsCores, CoresThreads or SocketsCoresThreads, not {}",
                             api::in_words(over)));
}

void threads_come_in_pairs(const Case& about, Causes& causes) {
  if (!spreads(about) || across(about) != "CoresThreads" || ratio(about) == 2) return;
  causes.invalid(
      "spec.cpu.spreadOptions.ratio",
      fmt::format("a core has two threads, so spreading across CoresThreads takes the ratio 2, not {}", ratio(about)));
}

void topology_has_a_new_name(const Case& about, Causes& causes) {
  const auto* old = std::ranges::find(topologies, topology(about), &Topology::deprecated);
  if (old != topologies.end())
    causes.warn(fmt::format("preferredCPUTopology {} is deprecated; write {}", old->deprecated, old->name));
}

constexpr Rule preference_table[] = {
    {"PF1", "the topology is a known one", "spec.cpu.preferredCPUTopology", topology_is_known},
    {"PF2", "CPUs are spread across something known", "spec.cpu.spreadOptions.across", spread_is_known},
    {"PF3", "threads are spread in pairs", "spec.cpu.spreadOptions.ratio", threads_come_in_pairs},
    {"PFW", "the topology has its new name (a warning)", "spec.cpu.preferredCPUTopology", topology_has_a_new_name},
};

}  // namespace

std::span<const Rule> instancetype_rules() { return instancetype_table; }
std::span<const Rule> preference_rules() { return preference_table; }

}  // namespace vg::admission
