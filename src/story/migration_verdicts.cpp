// Verdicts about a migration: which limit, node or guest it waits for (spec migration-and-fleets).
#include <fmt/format.h>

#include <algorithm>

#include "json/access.h"
#include "story/tables.h"

namespace vg::story {
namespace {

using std::string_view;
using Told = std::optional<Telling>;

string_view phase_of(const Facts& facts) { return facts.migration().text({"status", "phase"}); }
bool is_waiting(const Facts& facts) { return phase_of(facts).empty() || phase_of(facts) == "Pending"; }
string_view vmi_of(Object migration) { return migration.text({"spec", "vmiName"}); }

// MIG-Q02: what counts as running.
bool counts_as_running(Object migration) {
  static constexpr string_view phases[] = {"Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running"};
  return std::ranges::find(phases, migration.text({"status", "phase"})) != std::end(phases);
}

std::int64_t running(const Facts& facts) {
  return std::ranges::count_if(facts.all("migrations"),
                               [](const json::Value& entry) { return counts_as_running(Object(&entry)); });
}

std::int64_t running_from(const Facts& facts, string_view node) {
  return std::ranges::count_if(facts.all("migrations"), [&](const json::Value& entry) {
    return counts_as_running(Object(&entry)) && Object(&entry).text({"status", "migrationState", "sourceNode"}) == node;
  });
}

Told vmi_gone(const Facts& facts) {
  if (facts.vmi() || is_over(facts.migration())) return std::nullopt;
  return Telling{fmt::format("there is no VMI {} to move", vmi_of(facts.migration())),
                 "start the VM, or delete the migration"};
}

Told cancelled(const Facts& facts) {
  const string_view abort = facts.migration().text({"status", "migrationState", "abortStatus"});
  if (abort != "Succeeded" && !(facts.migration().is_deleted() && !is_over(facts.migration()))) return std::nullopt;
  return Telling{"the migration was cancelled; the guest stays where it is",
                 "create another one when it is to move after all"};
}

Told failed(const Facts& facts) {
  if (phase_of(facts) != "Failed") return std::nullopt;
  const string_view reason = facts.migration().text({"status", "migrationState", "failureReason"});
  return Telling{
      fmt::format("the migration failed{}{}; the guest stays where it was", reason.empty() ? "" : ": ", reason),
      fmt::format(
          "kubectl get events --field-selector involvedObject.name={} tells more; virtctl migrate {} tries again",
          facts.migration().name(), vmi_of(facts.migration()))};
}

Told succeeded(const Facts& facts) {
  if (phase_of(facts) != "Succeeded") return std::nullopt;
  const Object state = facts.migration().at({"status", "migrationState"});
  return Telling{
      fmt::format("the guest moved from node {} to {}", state.text({"sourceNode"}), state.text({"targetNode"})),
      "nothing is to be done"};
}

Told not_migratable(const Facts& facts) {
  const Object condition = facts.vmi().condition("LiveMigratable");
  if (!is_waiting(facts) || !facts.vmi().condition_is("LiveMigratable", "False")) return std::nullopt;
  return Telling{fmt::format("VMI {} cannot be moved while it runs ({}): {}", vmi_of(facts.migration()),
                             condition.text({"reason"}), condition.text({"message"})),
                 "make it movable as the message says, or stop the VM and start it elsewhere"};
}

Told over_quota(const Facts& facts) {
  if (!facts.migration().condition_is("migrationRejectedByResourceQuota", "True")) return std::nullopt;
  return Telling{
      "a ResourceQuota of the namespace leaves no room for the target, which a migration needs beside the source",
      "free something in the namespace or have the quota raised; the migration goes on by itself"};
}

Told utility_volumes(const Facts& facts) {
  if (!facts.migration().condition_is("migrationBlockedByUtilityVolumes", "True")) return std::nullopt;
  return Telling{"a memory dump or another utility volume is plugged into the VMI",
                 "the migration goes on when it is gone"};
}

Told other_one_runs(const Facts& facts) {
  if (!is_waiting(facts)) return std::nullopt;
  for (const json::Value& entry : facts.all("migrations")) {
    const Object other(&entry);
    if (other.name() == facts.migration().name() || vmi_of(other) != vmi_of(facts.migration()) ||
        !counts_as_running(other))
      continue;
    if (other.text({"metadata", "namespace"}) != facts.migration().text({"metadata", "namespace"})) continue;
    return Telling{fmt::format("migration {} of the same VMI is {}", other.name(), other.text({"status", "phase"})),
                   "this one is looked at when that one has ended"};
  }
  return std::nullopt;
}

Told cluster_limit(const Facts& facts) {
  const std::int64_t limit = migration_setting(facts, "parallelMigrationsPerCluster", 5), now = running(facts);
  if (!is_waiting(facts) || now < limit) return std::nullopt;
  return Telling{fmt::format("{} of {} parallel migrations run", now, limit),
                 "it starts when one ends, or raise parallelMigrationsPerCluster in the KubeVirt object"};
}

Told node_limit(const Facts& facts) {
  const string_view node = facts.vmi().text({"status", "nodeName"});
  const std::int64_t limit = migration_setting(facts, "parallelOutboundMigrationsPerNode", 2),
                     now = running_from(facts, node);
  if (!is_waiting(facts) || node.empty() || now < limit) return std::nullopt;
  return Telling{fmt::format("{} of {} migrations away from node {} run", now, limit, node),
                 "it starts when one ends, or raise parallelOutboundMigrationsPerNode in the KubeVirt object"};
}

Told backs_off(const Facts& facts) {
  if (!is_waiting(facts)) return std::nullopt;
  for (const json::Value& entry : facts.all("events"))
    if (Object(&entry).text({"reason"}) == "MigrationBackoff")
      return Telling{"earlier migrations of the VMI failed, so this one waits for a while",
                     "it starts by itself; the earlier ones have events with the reason"};
  return std::nullopt;
}

Told single_node(const Facts& facts) {
  if (is_over(facts.migration()) || !facts.knows("nodes") || facts.all("nodes").size() > 1) return std::nullopt;
  return Telling{"there is no second node that the guest could move to", "add a node; standalone with serve --nodes 2"};
}

Told target_unschedulable(const Facts& facts) {
  if (phase_of(facts) != "Scheduling" && phase_of(facts) != "Pending") return std::nullopt;
  for (const json::Value& entry : facts.all("events"))
    if (Object(&entry).text({"reason"}) == "migrationTargetPodUnschedulable")
      return Telling{fmt::format("no node takes the guest: {}", Object(&entry).text({"message"})),
                     "free room on another node; it is given up after five minutes"};
  return std::nullopt;
}

Told vmi_not_running(const Facts& facts) {
  if (!is_waiting(facts) || !facts.vmi() || facts.vmi().text({"status", "phase"}) == "Running") return std::nullopt;
  return Telling{fmt::format("VMI {} is {} and does not run yet", vmi_of(facts.migration()),
                             facts.vmi().text({"status", "phase"})),
                 "the migration begins when it does"};
}

Told moving(const Facts& facts) {
  if (phase_of(facts) != "Running") return std::nullopt;
  const Object state = facts.vmi().at({"status", "migrationState"});
  return Telling{
      fmt::format("memory and disks are being copied from node {} to {} (for {})", state.text({"sourceNode"}),
                  state.text({"targetNode"}), facts.since(state.text({"startTimestamp"}))),
      "it ends by itself; a guest that changes memory faster than it is copied is given up after its deadline"};
}

Told preparing(const Facts& facts) {
  const string_view phase = phase_of(facts);
  if (phase != "Scheduling" && phase != "Scheduled" && phase != "PreparingTarget" && phase != "TargetReady")
    return std::nullopt;
  return Telling{fmt::format("the target is being prepared ({})", phase), "copying begins when it is ready"};
}

Told waits(const Facts& facts) {
  return Telling{fmt::format("the migration is {}", phase_of(facts).empty() ? "not looked at yet" : phase_of(facts)),
                 "it goes on by itself; if nothing changes for a minute, no controller runs"};
}

constexpr Row table[] = {
    {"mig-cancelled", cancelled},
    {"mig-failed", failed},
    {"mig-succeeded", succeeded},
    {"mig-vmi-gone", vmi_gone},
    {"mig-not-migratable", not_migratable},
    {"mig-over-quota", over_quota},
    {"mig-utility-volumes", utility_volumes},
    {"mig-single-node", single_node},
    {"mig-other-one-runs", other_one_runs},
    {"mig-vmi-not-running", vmi_not_running},
    {"mig-cluster-limit", cluster_limit},
    {"mig-node-limit", node_limit},
    {"mig-backs-off", backs_off},
    {"mig-target-unschedulable", target_unschedulable},
    {"mig-moving", moving},
    {"mig-preparing", preparing},
    {"mig-waits", waits},
};

}  // namespace

std::span<const Row> migration_rows() { return table; }

}  // namespace vg::story
