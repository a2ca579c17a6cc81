// Verdicts about a VMI: where its start, its run or its end stands (spec vmi-lifecycle).
#include <fmt/format.h>

#include "base/offline_limits.h"
#include "json/access.h"
#include "story/tables.h"

namespace vg::story {
namespace {

using std::string_view;
using Told = std::optional<Telling>;

string_view name_of(const Facts& facts) { return facts.vmi().name(); }
string_view phase_of(const Facts& facts) { return facts.vmi().text({"status", "phase"}); }
bool is_running(const Facts& facts) { return phase_of(facts) == "Running"; }
bool is_placing(const Facts& facts) {
  const string_view phase = phase_of(facts);
  return phase.empty() || phase == "Pending" || phase == "Scheduling";
}

string_view message_of(Object condition) { return condition.text({"message"}); }

// --- the end ---------------------------------------------------------------------------------------------------------

Told node_lost(const Facts& facts) {
  if (facts.vmi().text({"status", "reason"}) != "NodeUnresponsive") return std::nullopt;
  return Telling{
      fmt::format("node {} stopped answering, so the VMI counts as failed", facts.vmi().text({"status", "nodeName"})),
      "a VM that is to run gets a new VMI on another node; look after the node"};
}

Told stopping(const Facts& facts) {
  const Object vmi = facts.vmi();
  if (!vmi.is_deleted() || phase_of(facts) == "Succeeded" || phase_of(facts) == "Failed") return std::nullopt;
  const string_view begun = vmi.text({"metadata", "deletionTimestamp"});
  const auto ends = facts.seconds_until(begun);
  const std::int64_t left = ends ? *ends + vmi.number({"spec", "terminationGracePeriodSeconds"}, 30) : 0;
  if (left > 0)
    return Telling{"the guest was asked to shut down and has not done so yet",
                   fmt::format("it is ended by force in {}", span_text(left))};
  return Telling{
      "the guest did not shut down within its grace period",
      fmt::format("its node ends it by force; if it stays, node {} does not answer", vmi.text({"status", "nodeName"}))};
}

Told failed(const Facts& facts) {
  if (phase_of(facts) != "Failed") return std::nullopt;
  return Telling{"the guest crashed, was ended by force, or could not be started",
                 fmt::format("kubectl get events --field-selector involvedObject.name={} tells what happened last",
                             name_of(facts))};
}

Told succeeded(const Facts& facts) {
  if (phase_of(facts) != "Succeeded") return std::nullopt;
  return Telling{"the guest shut down in an orderly way", "nothing is to be done"};
}

// --- before it runs --------------------------------------------------------------------------------------------------

Told image_missing(const Facts& facts) {
  const Object condition = facts.vmi().condition("Synchronized");
  const string_view reason = condition.text({"reason"});
  if (reason != "ErrImagePull" && reason != "ImagePullBackOff") return std::nullopt;
  return Telling{fmt::format("the image of a container disk cannot be pulled: {}", message_of(condition)),
                 "check the image's name, the registry and the pull secret; it is tried again by itself"};
}

Told image_pulling(const Facts& facts) {
  const Object condition = facts.vmi().condition("Synchronized");
  const string_view reason = condition.text({"reason"});
  if (reason != "ImagePulling" && reason != "ImagePullQueued") return std::nullopt;
  return Telling{fmt::format("the VMI waits for its images: {}", message_of(condition)),
                 "it goes on by itself; a pull that is too slow is ended and tried again"};
}

Told claim_missing(const Facts& facts) {
  const Object condition = facts.vmi().condition("Synchronized");
  if (condition.text({"reason"}) != "FailedPvcNotFound") return std::nullopt;
  return Telling{fmt::format("a claim is missing: {}", message_of(condition)), "create it; the VMI goes on by itself"};
}

Told claim_lost(const Facts& facts) {
  const Object condition = facts.vmi().condition("Synchronized");
  if (condition.text({"reason"}) != "PersistentVolumeClaimLost") return std::nullopt;
  return Telling{std::string(message_of(condition)), "the VMI goes on by itself once the data is there"};
}

Told unschedulable(const Facts& facts) {
  const Object condition = facts.vmi().condition("PodScheduled");
  if (!facts.vmi().condition_is("PodScheduled", "False") || is_running(facts)) return std::nullopt;
  return Telling{fmt::format("no node takes the VMI: {}", message_of(condition)),
                 "free room on a node, add one, or ask for less (memory, CPUs, devices, node selector)"};
}

Told no_nodes(const Facts& facts) {
  if (!is_placing(facts) || !facts.knows("nodes") || !facts.all("nodes").empty()) return std::nullopt;
  return Telling{"there is no node that could run the VMI",
                 "standalone, start the server with --node; in a cluster look at kubectl get nodes"};
}

Told provisioning(const Facts& facts) {
  if (!facts.vmi().condition_is("Provisioning", "True")) return std::nullopt;
  return Telling{"the VMI waits for a disk that is made only now that somebody needs it",
                 "it goes on when the DataVolume is done"};
}

Told sync_fails(const Facts& facts) {
  const Object condition = facts.vmi().condition("Synchronized");
  if (!facts.vmi().condition_is("Synchronized", "False")) return std::nullopt;
  return Telling{fmt::format("the last attempt to bring the VMI on failed: {}", message_of(condition)),
                 "it is tried again by itself; mend what the message names"};
}

Told node_silent(const Facts& facts) {
  const Object node = facts.node();
  const auto beat = facts.seconds_until(node.annotation("kubevirt.io/heartbeat"));
  if (!node || !beat || -*beat < limits::story_heartbeat_seconds_max) return std::nullopt;
  return Telling{fmt::format("node {} has given no sign of life for {}", node.name(), span_text(-*beat)),
                 "look after the node; what is told of the VMI is what was last heard"};
}

Told placing(const Facts& facts) {
  if (!is_placing(facts)) return std::nullopt;
  const std::string age = facts.since(facts.vmi().text({"metadata", "creationTimestamp"}));
  return Telling{fmt::format("the VMI looks for a node ({})", age), "it goes on by itself"};
}

Told starting(const Facts& facts) {
  if (phase_of(facts) != "Scheduled") return std::nullopt;
  return Telling{fmt::format("node {} prepares disks and starts the guest", facts.vmi().text({"status", "nodeName"})),
                 "it goes on by itself; after three minutes without success it counts as failed"};
}

Told waits_for_sync(const Facts& facts) {
  if (phase_of(facts) != "WaitingForSync") return std::nullopt;
  return Telling{"the VMI waits for its state from the other end of a migration", "create the migration there"};
}

// --- while it runs ---------------------------------------------------------------------------------------------------

Told migrating(const Facts& facts) {
  const Object state = facts.vmi().at({"status", "migrationState"});
  if (state.text({"startTimestamp"}).empty() || !state.text({"endTimestamp"}).empty()) return std::nullopt;
  return Telling{fmt::format("the VMI is moving from node {} to {} (for {})", state.text({"sourceNode"}),
                             state.text({"targetNode"}), facts.since(state.text({"startTimestamp"}))),
                 fmt::format("virtctl migrate-cancel {} stops it; the guest stays where it is", name_of(facts))};
}

Told paused_by_io(const Facts& facts) {
  if (facts.vmi().condition("Paused").text({"reason"}) != "PausedIOError") return std::nullopt;
  return Telling{"the guest is paused because a disk failed to read or write",
                 "make room for the disk or mend its storage; the node tries again by itself"};
}

Told paused_by_migration(const Facts& facts) {
  if (facts.vmi().condition("Paused").text({"reason"}) != "PausedByMigrationMonitor") return std::nullopt;
  return Telling{"the guest is paused so that its migration can end", "it goes on at the target by itself"};
}

Told paused(const Facts& facts) {
  if (!facts.vmi().condition_is("Paused", "True")) return std::nullopt;
  if (facts.vmi().text({"spec", "startStrategy"}) == "Paused" && is_running(facts))
    return Telling{"the guest was started paused (startStrategy Paused) or paused by a user",
                   fmt::format("virtctl unpause vmi {}", name_of(facts))};
  return Telling{"the guest was paused by a user", fmt::format("virtctl unpause vmi {}", name_of(facts))};
}

Told frozen(const Facts& facts) {
  if (facts.vmi().text({"status", "fsFreezeStatus"}) != "frozen") return std::nullopt;
  return Telling{"the guest's file systems are frozen, so whoever writes there waits",
                 "a snapshot thaws them when it ends; the unfreeze subresource does it at once"};
}

Told evacuating(const Facts& facts) {
  const string_view node = facts.vmi().text({"status", "evacuationNodeName"});
  if (node.empty() || !is_running(facts)) return std::nullopt;
  if (facts.vmi().condition_is("LiveMigratable", "False"))
    return Telling{fmt::format("node {} is being drained and the VMI cannot be moved: {}", node,
                               message_of(facts.vmi().condition("LiveMigratable"))),
                   "stop the VM, or make it movable as the message says"};
  return Telling{fmt::format("node {} is being drained; the VMI is to move away", node),
                 "its migration starts as soon as the limits allow"};
}

Told volume_waits(const Facts& facts) {
  for (const json::Value& entry : facts.vmi().list({"status", "volumeStatus"})) {
    const Object volume(&entry);
    const string_view phase = volume.text({"phase"});
    if (!volume.at({"hotplugVolume"}) || phase.empty() || phase == "Ready" || phase.starts_with("MemoryDump")) continue;
    return Telling{
        fmt::format("hot-plugged volume {} is {}: {}", volume.text({"name"}), phase, volume.text({"message"})),
        "it becomes Ready, or goes, by itself; if it stays, its message and the events name the reason"};
  }
  return std::nullopt;
}

Told agent_too_old(const Facts& facts) {
  const Object condition = facts.vmi().condition("AgentVersionNotSupported");
  if (!facts.vmi().condition_is("AgentVersionNotSupported", "True")) return std::nullopt;
  return Telling{fmt::format("the guest agent lacks commands: {}", condition.text({"reason"})),
                 "update qemu-guest-agent in the guest"};
}

Told credentials_fail(const Facts& facts) {
  if (!facts.vmi().condition_is("AccessCredentialsSynchronized", "False")) return std::nullopt;
  return Telling{fmt::format("keys or passwords could not be put into the guest: {}",
                             message_of(facts.vmi().condition("AccessCredentialsSynchronized"))),
                 "the guest agent must run in the guest; it is tried again by itself"};
}

Told outdated(const Facts& facts) {
  if (facts.vmi().text({"metadata", "labels", "kubevirt.io/outdatedLauncherImage"}).empty() || !is_running(facts))
    return std::nullopt;
  return Telling{"the VMI still runs under an older release of KubeVirt",
                 "migrate or restart it, or set workloadUpdateStrategy in the KubeVirt object"};
}

Told not_ready(const Facts& facts) {
  const Object ready = facts.vmi().condition("Ready");
  if (!is_running(facts) || !facts.vmi().condition_is("Ready", "False")) return std::nullopt;
  return Telling{fmt::format("the guest runs and is not ready ({}): {}", ready.text({"reason"}), message_of(ready)),
                 "its readiness probe decides; look at what the probe asks"};
}

Told not_migratable(const Facts& facts) {
  if (!is_running(facts) || !facts.vmi().condition_is("LiveMigratable", "False")) return std::nullopt;
  const Object condition = facts.vmi().condition("LiveMigratable");
  return Telling{fmt::format("the guest runs, and cannot be moved while it does ({}): {}", condition.text({"reason"}),
                             message_of(condition)),
                 "nothing is to be done unless you want to migrate it"};
}

Told without_agent(const Facts& facts) {
  if (!is_running(facts) || facts.vmi().condition_is("AgentConnected", "True")) return std::nullopt;
  return Telling{
      "the guest runs; no guest agent is connected, so what happens inside it is not known",
      "install qemu-guest-agent in the guest for its addresses, users, file systems and consistent snapshots"};
}

Told runs(const Facts& facts) {
  return Telling{is_running(facts) ? std::string("the guest runs") : fmt::format("the VMI is {}", phase_of(facts)),
                 "nothing is to be done"};
}

constexpr Row table[] = {
    {"vmi-node-lost", node_lost},
    {"vmi-stopping", stopping},
    {"vmi-failed", failed},
    {"vmi-succeeded", succeeded},
    {"vmi-node-silent", node_silent},
    {"vmi-image-missing", image_missing},
    {"vmi-image-pulling", image_pulling},
    {"vmi-claim-missing", claim_missing},
    {"vmi-claim-lost", claim_lost},
    {"vmi-unschedulable", unschedulable},
    {"vmi-no-nodes", no_nodes},
    {"vmi-provisioning", provisioning},
    {"vmi-sync-fails", sync_fails},
    {"vmi-placing", placing},
    {"vmi-starting", starting},
    {"vmi-waits-for-sync", waits_for_sync},
    {"vmi-migrating", migrating},
    {"vmi-paused-by-io-error", paused_by_io},
    {"vmi-paused-by-migration", paused_by_migration},
    {"vmi-paused", paused},
    {"vmi-frozen", frozen},
    {"vmi-evacuating", evacuating},
    {"vmi-volume-waits", volume_waits},
    {"vmi-agent-too-old", agent_too_old},
    {"vmi-credentials-fail", credentials_fail},
    {"vmi-not-ready", not_ready},
    {"vmi-outdated", outdated},
    {"vmi-not-migratable", not_migratable},
    {"vmi-without-agent", without_agent},
    {"vmi-runs", runs},
};

}  // namespace

std::span<const Row> vmi_rows() { return table; }

}  // namespace vg::story
