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

std::optional<Status> pause_obstacle(const ActionCase& asked) {
  if (asked.phase() != "Running") return not_running(asked, "cannot pause");
  const auto probe = asked.vmi().spec().liveness_probe();
  if (probe && !probe.guest_agent_ping())
    return forbidden(instance_kind, asked.name,
                     "a pause would make the liveness probe fail and the VMI be killed; use a "
                     "guestAgentPing probe, or remove spec.livenessProbe");
  if (has_condition(asked.vmi(), "Paused"))
    return instance_conflict(
        asked, fmt::format("{}; use `virtctl unpause vmi {}` to resume it", phrases::vmi_paused, asked.name));
  return std::nullopt;
}

std::optional<Status> soft_reboot_obstacle(const ActionCase& asked) {
  if (asked.phase() != "Running") return not_running(asked, "cannot reboot");
  if (is_true(asked.vmi(), "Paused"))
    return instance_conflict(asked,
                             fmt::format("{}, so it cannot reboot; resume it first with `virtctl unpause vmi {}`",
                                         phrases::vmi_paused, asked.name));
  const auto features = asked.vmi().spec().domain().features();
  const bool no_acpi = features && features.acpi().enabled() == false;
  if (no_acpi && !has_condition(asked.vmi(), "AgentConnected"))
    return instance_conflict(asked, fmt::format("a soft reboot requires the guest agent, which is not "
                                                "connected, or ACPI, which is disabled; use `virtctl restart {}`",
                                                asked.name));
  return std::nullopt;
}

CallNode put(std::string suffix) { return {.suffix = std::move(suffix), .forward_body = true}; }

CallNode get_document(std::string_view suffix) {
  return {.method = "GET", .suffix = std::string(suffix), .answer = CallNode::Answer::document};
}

Decision while_running(const ActionCase& asked, std::string_view refused, std::string suffix) {
  if (asked.phase() != "Running") return fail(not_running(asked, refused));
  return call_node(asked, put(std::move(suffix)));
}

}  // namespace

std::string node_target(const ActionCase& asked, std::string_view suffix) {
  const auto metadata = asked.vmi().metadata();
  return fmt::format("/v1/namespaces/{}/virtualmachineinstances/{}/{}", metadata.namespace_(), metadata.name(), suffix);
}

std::optional<Status> find_unreachable(const ActionCase& asked) {
  if (asked.phase() == "Running" || asked.phase() == "Scheduled") return std::nullopt;
  return Status::bad_request(
      fmt::format("VMI \"{}\" is not on a node (phase {}); wait for phase Running, or start the VM with "
                  "`virtctl start {}`",
                  asked.name, printed_phase(asked.phase()), asked.name));
}

Decision call_node(const ActionCase& asked, CallNode call) {
  if (auto unreachable = find_unreachable(asked)) {
    unreachable->message.insert(0, call.explain);
    return fail(std::move(*unreachable));
  }
  return effects(std::move(call));
}

Decision decide_pause(const ActionCase& asked) {
  if (auto obstacle = pause_obstacle(asked)) return fail(std::move(*obstacle));
  return call_node(asked, {.suffix = "pause", .dry_run = begins_with_dry_run(asked)});
}

std::optional<Status> check_no_snapshot(const ActionCase& asked) {
  const auto snapshot = asked.vm().status().snapshot_in_progress();
  if (!snapshot) return std::nullopt;
  return machine_conflict(asked, fmt::format("snapshot \"{}\" is in progress, and the guest cannot be changed until it "
                                             "completes; wait, or delete the snapshot",
                                             *snapshot));
}

Decision decide_unpause(const ActionCase& asked) {
  if (asked.phase() != "Running") return fail(not_running(asked, "cannot unpause"));
  if (!has_condition(asked.vmi(), "Paused"))
    return fail(instance_conflict(asked, fmt::format("{}; there is nothing to do", phrases::vmi_not_paused)));
  return call_node(asked, {.suffix = "unpause", .dry_run = begins_with_dry_run(asked)});
}

Decision decide_freeze(const ActionCase& asked) { return while_running(asked, "cannot freeze", "freeze"); }
Decision decide_unfreeze(const ActionCase& asked) { return while_running(asked, "cannot unfreeze", "unfreeze"); }
Decision decide_backup(const ActionCase& asked) { return while_running(asked, "cannot back up", "backup"); }

Decision decide_reset(const ActionCase& asked) {
  CallNode call = put("reset");
  if (asked.phase() != "Running")
    call.explain = fmt::format("VMI \"{}\" is in phase {}, not Running: ", asked.name, printed_phase(asked.phase()));
  return call_node(asked, std::move(call));
}

Decision decide_soft_reboot(const ActionCase& asked) {
  if (auto obstacle = soft_reboot_obstacle(asked)) return fail(std::move(*obstacle));
  return call_node(asked, put("softreboot"));
}

Decision decide_redefine_checkpoint(const ActionCase& asked) {
  const std::string_view state = asked.vmi().status().changed_block_tracking().state();
  if (state != "Enabled")
    return fail(instance_conflict(
        asked,
        fmt::format("changed block tracking is not enabled (state {}), so there are no checkpoints; label the VM "
                    "as changedBlockTrackingLabelSelectors selects, and restart it",
                    printed_phase(state))));
  return call_node(asked, put("redefine-checkpoint"));
}

Decision decide_guest_info(const ActionCase& asked) {
  if (asked.phase() != "Running") return fail(not_running(asked, "no guest information"));
  if (!has_condition(asked.vmi(), "AgentConnected"))
    return fail(instance_conflict(asked,
                                  "the guest agent is not connected; install qemu-guest-agent in the guest, and wait "
                                  "for condition AgentConnected"));
  return call_node(asked, get_document(asked.action.name));
}

Decision decide_screenshot(const ActionCase& asked) {
  if (auto missing = find_no_display(asked)) return fail(std::move(*missing));
  if (asked.phase() != "Running") return fail(not_running(asked, "no screenshot"));
  return call_node(asked, {.method = "GET", .suffix = "vnc/screenshot", .answer = CallNode::Answer::bytes});
}

std::optional<Status> find_no_display(const ActionCase& asked) {
  const auto devices = asked.vmi().spec().domain().devices();
  if (devices.autoattach_graphics_device() != false) return std::nullopt;
  return Status::bad_request(
      fmt::format("VMI \"{}\" has no display: spec.domain.devices.autoattachGraphicsDevice is false", asked.name));
}

}  // namespace vg::actions
