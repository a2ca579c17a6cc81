// Verdicts about a VM: what its controller waits for (spec vm-controller).
#include <fmt/format.h>

#include "json/access.h"
#include "story/tables.h"

namespace vg::story {
namespace {

using std::string_view;
using Told = std::optional<Telling>;

string_view name_of(const Facts& facts) { return facts.vm().name(); }

bool has_final_vmi(const Facts& facts) {
  const string_view phase = facts.vmi().text({"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool is_without_vmi(const Facts& facts) { return !facts.vmi() || has_final_vmi(facts); }

Object first_request(const Facts& facts) {
  const json::Array& requests = facts.vm().list({"status", "stateChangeRequests"});
  return requests.empty() ? Object() : Object(&requests.front());
}

string_view failure_message(const Facts& facts) {
  return facts.vm().condition_is("Failure", "True") ? facts.vm().condition("Failure").text({"message"}) : string_view();
}

string_view claim_of(Object volume) {
  const string_view data_volume = volume.text({"dataVolume", "name"});
  return data_volume.empty() ? volume.text({"persistentVolumeClaim", "claimName"}) : data_volume;
}

const json::Array& volumes_of(const Facts& facts) { return facts.vm().list({"spec", "template", "spec", "volumes"}); }

// --- the end of a VM -------------------------------------------------------------------------------------------------

Told being_deleted(const Facts& facts) {
  const Object vm = facts.vm();
  if (!vm.is_deleted()) return std::nullopt;
  const std::string age = facts.since(vm.text({"metadata", "deletionTimestamp"}));
  if (facts.vmi())
    return Telling{fmt::format("the VM is being deleted (for {}); its VMI is {} and goes first", age,
                               facts.vmi().text({"status", "phase"})),
                   fmt::format("it is gone when the guest has stopped; virtctl stop {} --force --grace-period=0 does "
                               "not wait for the guest",
                               name_of(facts))};
  std::string finalizers;
  for (const json::Value& finalizer : vm.list({"metadata", "finalizers"}))
    finalizers += fmt::format("{}{}", finalizers.empty() ? "" : ", ", json::as_string(&finalizer).value_or(""));
  return Telling{fmt::format("the VM is being deleted (for {}) and waits for the finalizers {}", age, finalizers),
                 "whoever set a finalizer removes it when its work is done; find out why that does not happen before "
                 "you remove it"};
}

// --- copies in progress ----------------------------------------------------------------------------------------------

Told in_snapshot(const Facts& facts) {
  const string_view snapshot = facts.vm().text({"status", "snapshotInProgress"});
  if (snapshot.empty()) return std::nullopt;
  return Telling{
      fmt::format("snapshot {} of the VM is in progress; until it ends, changes of volumes and run state are refused",
                  snapshot),
      fmt::format("it ends by itself; kubectl describe vmsnapshot {} shows how far it is", snapshot)};
}

Told in_restore(const Facts& facts) {
  const string_view restore = facts.vm().text({"status", "restoreInProgress"});
  if (restore.empty()) return std::nullopt;
  return Telling{fmt::format("restore {} is putting the VM's disks back; the VM cannot start until it ends", restore),
                 fmt::format("kubectl describe vmrestore {} shows what it waits for", restore)};
}

// --- requests that wait ----------------------------------------------------------------------------------------------

Told start_waits(const Facts& facts) {
  if (first_request(facts).text({"action"}) != "Start" || facts.vmi()) return std::nullopt;
  return Telling{"a start was accepted and no VMI has been created for it yet",
                 "the VM's controller creates it; if this lasts for more than a few seconds, no controller runs "
                 "(virt-controller in a cluster, serve --node standalone)"};
}

Told stop_waits(const Facts& facts) {
  const Object request = first_request(facts);
  if (request.text({"action"}) != "Stop" || !facts.vmi() || facts.vmi().is_deleted()) return std::nullopt;
  if (request.text({"uid"}) != facts.vmi().uid())
    return Telling{"a stop is noted that was meant for an earlier run of the VM, so it does not end this one",
                   fmt::format("stop it again: virtctl stop {}", name_of(facts))};
  return Telling{"a stop was accepted and the VMI has not been told yet",
                 "the VM's controller deletes the VMI; if this lasts for more than a few seconds, no controller runs"};
}

Told volume_waits(const Facts& facts) {
  const json::Array& requests = facts.vm().list({"status", "volumeRequests"});
  if (requests.empty()) return std::nullopt;
  const Object added = Object(&requests.front()).at({"addVolumeOptions"}),
               removed = Object(&requests.front()).at({"removeVolumeOptions"});
  return Telling{fmt::format("{} volume {} was accepted and is not in the VM's template yet",
                             added ? "adding" : "removing", (added ? added : removed).text({"name"})),
                 "the VM's controller writes it into the template, then the VMI follows"};
}

Told dump_waits(const Facts& facts) {
  const Object dump = facts.vm().at({"status", "memoryDumpRequest"});
  const string_view phase = dump.text({"phase"});
  if (phase.empty() || phase == "Completed") return std::nullopt;
  if (phase == "Failed")
    return Telling{
        fmt::format("the memory dump to claim {} failed: {}", dump.text({"claimName"}), dump.text({"message"})),
        fmt::format("make room or choose a larger claim, then virtctl memory-dump get {} again", name_of(facts))};
  return Telling{fmt::format("a memory dump to claim {} is {}", dump.text({"claimName"}), phase),
                 "it ends by itself; the claim is unplugged afterwards"};
}

// --- not started -----------------------------------------------------------------------------------------------------

Told crash_loop(const Facts& facts) {
  const Object failure = facts.vm().at({"status", "startFailure"});
  const std::int64_t count = failure.number({"consecutiveFailCount"});
  if (count <= 0 || !is_without_vmi(facts)) return std::nullopt;
  const auto left = facts.seconds_until(failure.text({"retryAfterTimestamp"}));
  return Telling{
      fmt::format("the guest ended {} times in a row soon after its start", count),
      left && *left > 0
          ? fmt::format("it is tried again in {}; virtctl console {} during the next try shows what the guest says",
                        span_text(*left), name_of(facts))
          : fmt::format("it is tried again now; virtctl console {} shows what the guest says", name_of(facts))};
}

Told foreign_vmi(const Facts& facts) {
  const Object vmi = facts.vmi();
  if (!vmi || !facts.vm().condition_is("Failure", "True")) return std::nullopt;
  for (const json::Value& owner : vmi.list({"metadata", "ownerReferences"}))
    if (json::get_string_or(owner, "uid") == facts.vm().uid()) return std::nullopt;
  return Telling{fmt::format("there is a VMI {} that does not belong to this VM, so the VM cannot have one of its own",
                             name_of(facts)),
                 fmt::format("delete the other one (kubectl delete vmi {}) or rename the VM", name_of(facts))};
}

Told over_quota(const Facts& facts) {
  const string_view message = failure_message(facts);
  if (!message.contains("exceeded quota")) return std::nullopt;
  return Telling{fmt::format("the VMI was refused by a ResourceQuota of the namespace: {}", message),
                 "free something in the namespace or have the quota raised; it is tried again by itself"};
}

// As Go's and our own TLS say it.
bool speaks_of_certificates(string_view message) {
  return message.contains("x509:") || message.contains("certificate verify failed") ||
         message.contains("certificate has expired");
}

Told stale_certificate(const Facts& facts) {
  const string_view message = failure_message(facts);
  if (!speaks_of_certificates(message)) return std::nullopt;
  return Telling{fmt::format("a server that has to be asked shows a certificate that is not valid: {}", message),
                 "have that certificate or the CA bundle that names its authority renewed (KubeVirt's own: delete the "
                 "Secret, its operator makes another); it is tried again by itself"};
}

Told client_limits(const Facts& facts) {
  const string_view message = failure_message(facts);
  if (!message.contains("too many requests") && !message.contains("client rate limiter")) return std::nullopt;
  return Telling{fmt::format("the VM's controller makes more requests than it may: {}", message),
                 "it goes on by itself; if it lasts, raise restClient.rateLimiter of controllerConfiguration in the "
                 "KubeVirt object, or find out who floods the API server"};
}

Told other_webhook(const Facts& facts) {
  const string_view message = failure_message(facts);
  if (!message.contains("admission webhook")) return std::nullopt;
  return Telling{fmt::format("the VMI was refused by an admission webhook: {}", message),
                 "change the VM's template so that the webhook takes it; the message names the webhook and its reason"};
}

Told instance_type_missing(const Facts& facts) {
  const Object failure = facts.vm().condition("Failure");
  const string_view reason = failure.text({"reason"});
  if (!facts.vm().condition_is("Failure", "True") || !reason.contains("nstancetype")) return std::nullopt;
  return Telling{fmt::format("instance type {} or preference {} cannot be used: {}",
                             facts.vm().text({"spec", "instancetype", "name"}),
                             facts.vm().text({"spec", "preference", "name"}), failure.text({"message"})),
                 "kubectl get virtualmachineclusterinstancetypes,virtualmachineinstancetypes lists those that exist"};
}

Told failing(const Facts& facts) {
  const Object failure = facts.vm().condition("Failure");
  if (!facts.vm().condition_is("Failure", "True")) return std::nullopt;
  return Telling{fmt::format("the last attempt of the VM's controller failed ({}): {}", failure.text({"reason"}),
                             failure.text({"message"})),
                 "it tries again by itself, less and less often; mend what the message names"};
}

Told data_volume_fails(const Facts& facts) {
  for (const json::Value& entry : volumes_of(facts)) {
    const Object found = facts.find("dataVolumes", Object(&entry).text({"dataVolume", "name"}));
    const Object running = found.condition("Running");
    const string_view reason = running.text({"reason"});
    if (found.text({"status", "phase"}) != "Failed" && reason != "Error" && reason != "ImagePullFailed") continue;
    return Telling{fmt::format("the disk of DataVolume {} cannot be made: {}", found.name(), running.text({"message"})),
                   fmt::format("mend its source; kubectl describe dv {} shows the attempts", found.name())};
  }
  return std::nullopt;
}

Told data_volume_pending(const Facts& facts) {
  for (const json::Value& entry : volumes_of(facts)) {
    const Object found = facts.find("dataVolumes", Object(&entry).text({"dataVolume", "name"}));
    const string_view phase = found.text({"status", "phase"}), progress = found.text({"status", "progress"});
    if (!found || phase == "Succeeded" || phase == "WaitForFirstConsumer" || phase == "PendingPopulation") continue;
    return Telling{
        fmt::format("the disk of DataVolume {} is being made: {}{}", found.name(), phase.empty() ? "not begun" : phase,
                    progress.empty() || progress == "N/A" ? std::string() : fmt::format(", {}", progress)),
        "the VM starts when it is done"};
  }
  return std::nullopt;
}

Told claim_missing(const Facts& facts) {
  if (!facts.knows("claims")) return std::nullopt;
  for (const json::Value& entry : volumes_of(facts)) {
    const string_view claim = claim_of(Object(&entry));
    if (claim.empty() || facts.find("claims", claim) || facts.find("dataVolumes", claim)) continue;
    return Telling{
        fmt::format("volume {} names claim {}, which does not exist", json::get_string_or(entry, "name"), claim),
        "create the PersistentVolumeClaim or DataVolume of that name, or change the volume"};
  }
  return std::nullopt;
}

Told claim_lost(const Facts& facts) {
  for (const json::Value& entry : volumes_of(facts)) {
    const Object claim = facts.find("claims", claim_of(Object(&entry)));
    if (claim.text({"status", "phase"}) != "Lost") continue;
    return Telling{
        fmt::format("the data of claim {} is missing, and the VM is not started on an empty disk", claim.name()),
        fmt::format("mount or restore the folder of its disk (kubectl describe pvc {} names it); the VM starts by "
                    "itself then",
                    claim.name())};
  }
  return std::nullopt;
}

Told claim_unbound(const Facts& facts) {
  for (const json::Value& entry : volumes_of(facts)) {
    const Object claim = facts.find("claims", claim_of(Object(&entry)));
    const string_view phase = claim.text({"status", "phase"});
    if (!claim || phase == "Bound" || run_strategy(facts.vm()) == "Halted") continue;
    return Telling{
        fmt::format("claim {} is {} and not bound to a volume", claim.name(), phase.empty() ? "Pending" : phase),
        fmt::format("kubectl describe pvc {} says what its storage class waits for", claim.name())};
  }
  return std::nullopt;
}

Told done_once(const Facts& facts) {
  if (run_strategy(facts.vm()) != "Once" || !has_final_vmi(facts)) return std::nullopt;
  return Telling{fmt::format("the VM has run once and ended ({}); run strategy Once does not start it again",
                             facts.vmi().text({"status", "phase"})),
                 fmt::format("delete its VMI to run it once more: kubectl delete vmi {}", name_of(facts))};
}

Told ended_well(const Facts& facts) {
  if (run_strategy(facts.vm()) != "RerunOnFailure" || facts.vmi().text({"status", "phase"}) != "Succeeded")
    return std::nullopt;
  return Telling{"the guest shut itself down, and run strategy RerunOnFailure starts it again only after a failure",
                 fmt::format("virtctl start {}", name_of(facts))};
}

Told halted(const Facts& facts) {
  if (facts.vmi() || run_strategy(facts.vm()) != "Halted" || first_request(facts)) return std::nullopt;
  return Telling{"the VM is stopped because its run strategy is Halted",
                 fmt::format("virtctl start {}", name_of(facts))};
}

Told manual(const Facts& facts) {
  if (!is_without_vmi(facts) || run_strategy(facts.vm()) != "Manual" || first_request(facts)) return std::nullopt;
  return Telling{"the VM is stopped and its run strategy is Manual: it starts only when somebody starts it",
                 fmt::format("virtctl start {}", name_of(facts))};
}

Told waits_as_receiver(const Facts& facts) {
  if (run_strategy(facts.vm()) != "WaitAsReceiver" ||
      (facts.vmi() && facts.vmi().text({"status", "phase"}) != "WaitingForSync"))
    return std::nullopt;
  return Telling{"the VM waits for a migration from elsewhere (run strategy WaitAsReceiver)",
                 "create the migrations of both sides, or set another run strategy to start it here"};
}

Told nobody_looked(const Facts& facts) {
  const std::int64_t generation = facts.vm().number({"metadata", "generation"});
  if (facts.vm().number({"status", "desiredGeneration"}, generation) >= generation &&
      !facts.vm().text({"status", "printableStatus"}).empty())
    return std::nullopt;
  return Telling{"no controller has looked at the VM in its present form",
                 "in a cluster look at virt-controller's pods; standalone start the server with --node"};
}

// --- running ---------------------------------------------------------------------------------------------------------

Told restart_required(const Facts& facts) {
  if (!facts.vm().condition_is("RestartRequired", "True") || !facts.vmi()) return std::nullopt;
  const string_view message = facts.vm().condition("RestartRequired").text({"message"});
  return Telling{fmt::format("the VM was changed in a way that a running guest cannot take{}{}",
                             message.empty() ? "" : ": ", message),
                 fmt::format("the change takes effect with virtctl restart {}", name_of(facts))};
}

// The run itself is told by the verdicts of the VMI.
Told of_its_vmi(const Facts& facts) {
  if (!facts.vmi()) return std::nullopt;
  auto verdicts = judge(Subject::vmi, facts);
  return std::move(verdicts.front().telling);
}

Told as_it_says(const Facts& facts) {
  const string_view status = facts.vm().text({"status", "printableStatus"});
  return Telling{fmt::format("the VM is {}", status.empty() ? "Stopped" : status), "nothing is to be done"};
}

constexpr Row table[] = {
    {"vm-being-deleted", being_deleted},
    {"vm-in-restore", in_restore},
    {"vm-in-snapshot", in_snapshot},
    {"vm-crash-loop", crash_loop},
    {"vm-foreign-vmi", foreign_vmi},
    {"vm-over-quota", over_quota},
    {"vm-stale-certificate", stale_certificate},
    {"vm-client-limits", client_limits},
    {"vm-refused-by-webhook", other_webhook},
    {"vm-instance-type", instance_type_missing},
    {"vm-data-volume-failed", data_volume_fails},
    {"vm-claim-missing", claim_missing},
    {"vm-claim-lost", claim_lost},
    {"vm-failing", failing},
    {"vm-data-volume-pending", data_volume_pending},
    {"vm-claim-unbound", claim_unbound},
    {"vm-start-waits", start_waits},
    {"vm-stop-waits", stop_waits},
    {"vm-volume-waits", volume_waits},
    {"vm-memory-dump", dump_waits},
    {"vm-done-once", done_once},
    {"vm-ended-well", ended_well},
    {"vm-waits-as-receiver", waits_as_receiver},
    {"vm-nobody-looked", nobody_looked},
    {"vm-halted", halted},
    {"vm-manual", manual},
    {"vm-restart-required", restart_required},
    {"vm-run", of_its_vmi},
    {"vm-as-it-says", as_it_says},
};

}  // namespace

std::span<const Row> vm_rows() { return table; }

}  // namespace vg::story
