// start, stop, restart, migrate (spec subresources 2.0 to 2.4).
#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "actions/action_case.h"
#include "actions/decisions.h"
#include "api/views/k8s_meta.h"
#include "api/views/subresources.h"
#include "base/phrases.h"
#include "json/access.h"
#include "json/patch.h"

namespace vg::actions {
namespace {

using api::kubevirt::MigrateOptions;
using api::kubevirt::RestartOptions;
using api::kubevirt::StartOptions;
using api::kubevirt::StopOptions;

constexpr std::string_view grace_path = "/spec/terminationGracePeriodSeconds";

// --- what is patched
// ---------------------------------------------------------------------------------------------------

PatchObject patch(ResourceName resource, std::string_view part, json::PatchBuilder& builder, bool dry_run,
                  Refused refused) {
  return {.resource = resource, .part = part, .operations = builder.take(), .dry_run = dry_run, .refused = refused};
}

// Switches the machine on or off for good, in the member in which it says so.
PatchObject run_patch(const ActionCase& asked, bool on, bool dry_run) {
  json::PatchBuilder builder(asked.storage);
  const auto spec = asked.vm().spec();
  if (const auto strategy = spec.run_strategy()) {
    builder.test("/spec/runStrategy", text_of(*strategy, asked));
    builder.replace("/spec/runStrategy", text_of(on ? "Always" : "Halted", asked));
  } else {
    builder.test("/spec/running", copy_of(spec.get("running"), asked));
    builder.replace("/spec/running", json::Value(on, asked.storage));
  }
  return patch(machines, "", builder, dry_run, Refused::internal_or_raced);
}

// A change that the controller carries out: one entry of status.stateChangeRequests.
json::Value start_change(const ActionCase& asked, bool paused) {
  json::Object change(asked.storage);
  change["action"] = "Start";
  if (paused) change["data"].emplace_object()["paused"] = "true";
  return json::Value(std::move(change));
}

// Names the instance that is meant, so that it never hits a later one.
json::Value stop_change(const ActionCase& asked) {
  json::Object change(asked.storage);
  change["action"] = "Stop";
  change["uid"] = text_of(asked.vmi().metadata().uid(), asked);
  return json::Value(std::move(change));
}

json::Array change_list(const ActionCase& asked, std::initializer_list<json::Value> changes) {
  json::Array list(asked.storage);
  for (const json::Value& change : changes) list.emplace_back(change);
  return list;
}

bool is_lone_stop(const json::Array& changes) {
  return changes.size() == 1 && json::get_string_or(changes.front(), "action") == "Stop";
}

Status still_pending(const ActionCase& asked) {
  const auto pending = asked.vm().status().state_change_requests();
  return Status::internal_error(
      fmt::format("VM \"{}\": a {} request is still pending ({} in status.stateChangeRequests); wait until it "
                  "completes, or cancel it with `virtctl stop {}`",
                  asked.name, pending[0].action(), pending.size(), asked.name));
}

// A lone stop takes the place of whatever waits; nothing else does.
Result<PatchObject> request_changes(const ActionCase& asked, json::Array changes, bool dry_run) {
  constexpr std::string_view path = "/status/stateChangeRequests";
  json::PatchBuilder builder(asked.storage);
  const auto status = asked.vm().status();
  if (status.empty()) {
    json::Object whole(asked.storage);
    whole.emplace("stateChangeRequests", std::move(changes));
    builder.add("/status", json::Value(std::move(whole)));
    return patch(machines, "status", builder, dry_run, Refused::internal_or_raced);
  }
  builder.test(path, copy_of(status.get("stateChangeRequests"), asked));
  if (status.state_change_requests().empty())
    builder.add(path, json::Value(std::move(changes)));
  else if (is_lone_stop(changes))
    builder.replace(path, json::Value(std::move(changes)));
  else
    return fail(still_pending(asked));
  if (status.start_failure()) builder.remove("/status/startFailure");
  return patch(machines, "status", builder, dry_run, Refused::internal_or_raced);
}

Decision one(Result<PatchObject> patch) {
  if (!patch) return fail(std::move(patch.error()));
  return effects(std::move(*patch));
}

PatchObject grace_patch(const ActionCase& asked, std::int64_t seconds, bool dry_run) {
  json::PatchBuilder builder(asked.storage);
  builder.test(grace_path, copy_of(asked.vmi().spec().get("terminationGracePeriodSeconds"), asked));
  builder.replace(grace_path, json::Value(seconds, asked.storage));
  return patch(instances, "", builder, dry_run, Refused::internal_or_raced);
}

// --- start
// -------------------------------------------------------------------------------------------------------------

// Phase Unknown and no phase yet do not say that it runs.
bool seems_to_run(const ActionCase& asked) {
  const std::string_view phase = asked.phase();
  return asked.instance && !is_final(phase) && phase != "Unknown" && !phase.empty();
}

std::optional<Status> start_obstacle(const ActionCase& asked) {
  if (seems_to_run(asked))
    return machine_conflict(asked, fmt::format("{} (phase {}); use `virtctl restart {}` to restart it",
                                               phrases::vm_running, asked.phase(), asked.name));
  if (is_true(asked.vm(), "ManualRecoveryRequired"))
    return machine_conflict(asked,
                            fmt::format("{}: a volume migration failed (condition ManualRecoveryRequired); revert the "
                                        "volumes in the spec, or complete the copy, and start it then",
                                        phrases::vm_recovery_required));
  return std::nullopt;
}

Status manual_start_refused(const ActionCase& asked, std::string_view strategy) {
  return machine_conflict(
      asked, fmt::format("a VM with run strategy {} starts by itself and cannot be started manually; use `virtctl "
                         "restart {}`, or set spec.runStrategy to Halted first",
                         strategy, asked.name));
}

Status failed_start_refused(const ActionCase& asked) {
  return machine_conflict(asked,
                          fmt::format("the VMI failed, and run strategy RerunOnFailure restarts it by itself; wait, or "
                                      "delete the VMI with `kubectl delete vmi {}`",
                                      asked.name));
}

Decision start_with_request(const ActionCase& asked, bool paused, bool dry_run) {
  // What is over must be put away before something new starts.
  json::Array changes = asked.instance && is_final(asked.phase())
                            ? change_list(asked, {stop_change(asked), start_change(asked, paused)})
                            : change_list(asked, {start_change(asked, paused)});
  return one(request_changes(asked, std::move(changes), dry_run));
}

// --- stop
// --------------------------------------------------------------------------------------------------------------

std::optional<Status> stop_obstacle(const ActionCase& asked, std::string_view strategy,
                                    std::optional<std::int64_t> grace) {
  if (strategy == "Always" || strategy == "Once") return std::nullopt;
  if (!asked.instance || is_final(asked.phase()))
    return machine_conflict(
        asked, fmt::format("{} ({}); there is nothing to stop", phrases::vm_not_running,
                           asked.instance ? fmt::format("phase {}", asked.phase()) : std::string("it has no VMI")));
  if (strategy != "Halted") return std::nullopt;
  const auto before = asked.vmi().spec().termination_grace_period_seconds();
  if (grace && !(before && *grace >= *before)) return std::nullopt;
  return machine_conflict(
      asked,
      fmt::format("the VM is already being stopped; only a shorter grace period than the current one ({}) can be "
                  "requested, for example `virtctl stop {} --grace-period=0 --force`",
                  before ? fmt::format("{} s", *before) : std::string("none"), asked.name));
}

bool takes_stop(std::string_view strategy) {
  static constexpr std::array<std::string_view, 5> known{"Halted", "Manual", "RerunOnFailure", "Always", "Once"};
  return std::ranges::find(known, strategy) != known.end();
}

// --- restart
// -----------------------------------------------------------------------------------------------------------

std::optional<Status> restart_obstacle(const ActionCase& asked, std::string_view strategy) {
  if (strategy == "Halted" || strategy == "Once")
    return machine_conflict(
        asked, fmt::format("a VM with run strategy {} cannot be restarted manually; {}", strategy,
                           strategy == "Halted" ? fmt::format("use `virtctl start {}`", asked.name)
                                                : std::string("set spec.runStrategy to Always or Manual first")));
  if (!asked.instance)
    return machine_conflict(
        asked, fmt::format("{}: it has no VMI; use `virtctl start {}`", phrases::vm_not_running, asked.name));
  return std::nullopt;
}

// Takes back the grace period of 1 s, if it is still that.
json::Array grace_undo(const ActionCase& asked) {
  json::PatchBuilder builder(asked.storage);
  builder.test(grace_path, json::Value(1, asked.storage));
  if (const auto before = asked.vmi().spec().termination_grace_period_seconds())
    builder.replace(grace_path, json::Value(*before, asked.storage));
  else
    builder.remove(grace_path);
  return builder.take();
}

Decision start(const ActionCase& asked) {
  if (auto obstacle = start_obstacle(asked)) return fail(std::move(*obstacle));
  if (asked.body_problem) return fail(*asked.body_problem);
  const bool paused = asked.options<StartOptions>().paused(), dry_run = says_dry_run(asked);
  const auto strategy = run_strategy(asked);
  if (!strategy) return fail(strategy.error());
  if (*strategy == "Always" || *strategy == "Once") return fail(manual_start_refused(asked, *strategy));
  if (*strategy == "Halted") {
    if (!paused) return effects(run_patch(asked, true, dry_run));
    return one(request_changes(asked, change_list(asked, {start_change(asked, true)}), dry_run));
  }
  if (*strategy == "RerunOnFailure" && asked.instance && asked.phase() == "Failed")
    return fail(failed_start_refused(asked));
  if (*strategy == "Manual" || *strategy == "RerunOnFailure") return start_with_request(asked, paused, dry_run);
  return Effects();  // WaitAsReceiver and whatever comes later: taken, and left to the controller (spec subresources
                     // Q12)
}

Decision stop(const ActionCase& asked) {
  const auto strategy = run_strategy(asked);
  if (!strategy) return fail(strategy.error());
  const bool dry_run = says_dry_run(asked);
  const auto grace = asked.options<StopOptions>().grace_period();
  Effects all;
  // Shortening the grace period counts even where the stop itself is refused: the recordings have it so (spec
  // subresources Q10).
  if (asked.instance && !is_final(asked.phase()) && grace) all.push_back(grace_patch(asked, *grace, dry_run));
  if (!takes_stop(*strategy)) return all;  // as a start (spec subresources Q12)
  if (auto obstacle = stop_obstacle(asked, *strategy, grace)) {
    all.push_back(Refuse{std::move(*obstacle)});
  } else if (*strategy == "Always" || *strategy == "Once") {
    all.push_back(run_patch(asked, false, dry_run));
  } else {
    auto request = request_changes(asked, change_list(asked, {stop_change(asked)}), dry_run);
    if (!request) return fail(std::move(request.error()));
    all.push_back(std::move(*request));
  }
  return all;
}

Decision restart(const ActionCase& asked) {
  if (is_true(asked.vm(), "VolumesChange"))
    return fail(machine_conflict(asked,
                                 "the volumes are being migrated (condition VolumesChange), and a restart would "
                                 "lose the copy; wait until it completes, or revert the volumes in the spec"));
  const auto strategy = run_strategy(asked);
  if (!strategy) return fail(strategy.error());
  if (auto obstacle = restart_obstacle(asked, *strategy)) return fail(std::move(*obstacle));
  const bool dry_run = says_dry_run(asked);
  Effects all;
  if (asked.options<RestartOptions>().grace_period_seconds() == 0)
    all.push_back(grace_patch(asked, 1, dry_run));  // 0 would not be sent on; 1 is the shortest that is
  auto request = request_changes(asked, change_list(asked, {stop_change(asked), start_change(asked, false)}), dry_run);
  if (!request) {
    all.push_back(
        Refuse{std::move(request.error())});  // the shorter grace period stays, as recorded (spec subresources Q11)
    return all;
  }
  if (!all.empty()) std::get<PatchObject>(all.front()).undo = grace_undo(asked);
  all.push_back(std::move(*request));
  return all;
}

}  // namespace

Decision decide_start(const ActionCase& asked) { return pass_dry_run_on(asked, start(asked)); }
Decision decide_stop(const ActionCase& asked) { return pass_dry_run_on(asked, stop(asked)); }
Decision decide_restart(const ActionCase& asked) { return pass_dry_run_on(asked, restart(asked)); }

std::optional<Status> check_restart_grace(const ActionCase& asked) {
  const auto grace = asked.options<RestartOptions>().grace_period_seconds();
  if (!grace || *grace == 0) return std::nullopt;
  return Status::bad_request(
      fmt::format("{}: gracePeriodSeconds of a restart must be 0, which powers the guest off immediately, or "
                  "absent, which shuts it down",
                  *grace));
}

Decision decide_migrate(const ActionCase& asked) {
  if (asked.phase() != "Running")
    return fail(machine_conflict(
        asked, fmt::format("only a running VMI can be migrated, and this one is in phase {}; wait for phase "
                           "Running, or start the VM with `virtctl start {}`",
                           printed_phase(asked.phase()), asked.name)));
  json::Object migration(asked.storage);
  migration["apiVersion"] = "kubevirt.io/v1";
  migration["kind"] = "VirtualMachineInstanceMigration";
  migration["metadata"].emplace_object()["generateName"] = "kubevirt-migrate-vm-";
  json::Object& spec = migration["spec"].emplace_object();
  spec["vmiName"] = text_of(asked.name, asked);
  const auto options = asked.options<MigrateOptions>();
  if (!options.added_node_selector().empty())
    spec["addedNodeSelector"] = copy_of(options.get("addedNodeSelector"), asked);
  return pass_dry_run_on(asked, effects(CreateObject{.resource = migrations,
                                                     .object = json::Value(std::move(migration)),
                                                     .dry_run = says_dry_run(asked),
                                                     .one_at_a_time = "kubevirt.io/vmi-name"}));
}

}  // namespace vg::actions
