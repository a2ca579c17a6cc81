// What the node's handler does to a running guest, or tells about it (spec subresources 2.5, 2.10, 2.11).
#include "actions/node_calls.h"

#include <fmt/format.h>

#include <utility>

#include "actions/decisions.h"
#include "api/views/k8s_meta.h"
#include "api/views/subresources.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "base/phrases.h"

namespace vg::actions {
namespace {

std::optional<Status> pause_obstacle(const ActionCase& about) {
  if (about.phase() != "Running") return not_running(about, "cannot pause");
  const auto probe = about.vmi().spec().liveness_probe();
  if (probe && !probe.guest_agent_ping())
    return forbidden(instance_kind, about.name,
                     "a pause would make the liveness probe fail and the VMI be killed; use a "
                     "guestAgentPing probe, or remove spec.livenessProbe");
  if (has_condition(about.vmi(), "Paused"))
    return instance_conflict(
        about, fmt::format("{}; use `virtctl unpause vmi {}` to resume it", phrases::vmi_paused, about.name));
  return std::nullopt;
}

std::optional<Status> soft_reboot_obstacle(const ActionCase& about) {
  if (about.phase() != "Running") return not_running(about, "cannot reboot");
  if (is_true(about.vmi(), "Paused"))
    return instance_conflict(about,
                             fmt::format("{}, so it cannot reboot; resume it first with `virtctl unpause vmi {}`",
                                         phrases::vmi_paused, about.name));
  const auto features = about.vmi().spec().domain().features();
  const bool no_acpi = features && features.acpi().enabled() == false;
  if (no_acpi && !has_condition(about.vmi(), "AgentConnected"))
    return instance_conflict(about, fmt::format("a soft reboot requires the guest agent, which is not "
                                                "connected, or ACPI, which is disabled; use `virtctl restart {}`",
                                                about.name));
  return std::nullopt;
}

CallNode put(std::string suffix) { return {.suffix = std::move(suffix), .forward_body = true}; }

CallNode get_document(std::string_view suffix) {
  return {.method = "GET", .suffix = std::string(suffix), .answer = CallNode::Answer::document};
}

Decision while_running(const ActionCase& about, std::string_view refused, std::string suffix) {
  if (about.phase() != "Running") return fail(not_running(about, refused));
  return call_node(about, put(std::move(suffix)));
}

}  // namespace

std::string node_target(const ActionCase& about, std::string_view suffix) {
  const auto metadata = about.vmi().metadata();
  return fmt::format("/v1/namespaces/{}/virtualmachineinstances/{}/{}", metadata.namespace_(), metadata.name(), suffix);
}

std::optional<Status> find_unreachable(const ActionCase& about) {
  if (about.phase() == "Running" || about.phase() == "Scheduled") return std::nullopt;
  return Status::bad_request(
      fmt::format("VMI \"{}\" is not on a node (phase {}); wait for phase Running, or start the VM with "
                  "`virtctl start {}`",
                  about.name, printed_phase(about.phase()), about.name));
}

Decision call_node(const ActionCase& about, CallNode call) {
  if (auto unreachable = find_unreachable(about)) {
    unreachable->message.insert(0, call.explain);
    return fail(std::move(*unreachable));
  }
  return effects(std::move(call));
}

Decision decide_pause(const ActionCase& about) {
  if (auto obstacle = pause_obstacle(about)) return fail(std::move(*obstacle));
  return call_node(about, {.suffix = "pause", .dry_run = begins_with_dry_run(about)});
}

std::optional<Status> check_no_snapshot(const ActionCase& about) {
  const auto snapshot = about.vm().status().snapshot_in_progress();
  if (!snapshot) return std::nullopt;
  return machine_conflict(about, fmt::format("snapshot \"{}\" is in progress, and the guest cannot be changed until it "
                                             "completes; wait, or delete the snapshot",
                                             *snapshot));
}

Decision decide_unpause(const ActionCase& about) {
  if (about.phase() != "Running") return fail(not_running(about, "cannot unpause"));
  if (!has_condition(about.vmi(), "Paused"))
    return fail(instance_conflict(about, fmt::format("{}; there is nothing to do", phrases::vmi_not_paused)));
  return call_node(about, {.suffix = "unpause", .dry_run = begins_with_dry_run(about)});
}

Decision decide_freeze(const ActionCase& about) { return while_running(about, "cannot freeze", "freeze"); }
Decision decide_unfreeze(const ActionCase& about) { return while_running(about, "cannot unfreeze", "unfreeze"); }
Decision decide_backup(const ActionCase& about) { return while_running(about, "cannot back up", "backup"); }

Decision decide_reset(const ActionCase& about) {
  CallNode call = put("reset");
  if (about.phase() != "Running")
    call.explain = fmt::format("VMI \"{}\" is in phase {}, not Running: ", about.name, printed_phase(about.phase()));
  return call_node(about, std::move(call));
}

Decision decide_soft_reboot(const ActionCase& about) {
  if (auto obstacle = soft_reboot_obstacle(about)) return fail(std::move(*obstacle));
  return call_node(about, put("softreboot"));
}

Decision decide_redefine_checkpoint(const ActionCase& about) {
  const std::string_view state = about.vmi().status().changed_block_tracking().state();
  if (state != "Enabled")
    return fail(instance_conflict(
        about,
        fmt::format("changed block tracking is not enabled (state {}), so there are no checkpoints; label the VM "
                    "as changedBlockTrackingLabelSelectors selects, and restart it",
                    printed_phase(state))));
  return call_node(about, put("redefine-checkpoint"));
}

Decision decide_guest_info(const ActionCase& about) {
  if (about.phase() != "Running") return fail(not_running(about, "no guest information"));
  if (!has_condition(about.vmi(), "AgentConnected"))
    return fail(instance_conflict(about,
                                  "the guest agent is not connected; install qemu-guest-agent in the guest, and wait "
                                  "for condition AgentConnected"));
  return call_node(about, get_document(about.action.name));
}

Decision decide_screenshot(const ActionCase& about) {
  if (auto missing = find_no_display(about)) return fail(std::move(*missing));
  if (about.phase() != "Running") return fail(not_running(about, "no screenshot"));
  return call_node(about, {.method = "GET", .suffix = "vnc/screenshot", .answer = CallNode::Answer::bytes});
}

std::optional<Status> find_no_display(const ActionCase& about) {
  const auto devices = about.vmi().spec().domain().devices();
  if (devices.autoattach_graphics_device() != false) return std::nullopt;
  return Status::bad_request(
      fmt::format("VMI \"{}\" has no display: spec.domain.devices.autoattachGraphicsDevice is false", about.name));
}

}  // namespace vg::actions
