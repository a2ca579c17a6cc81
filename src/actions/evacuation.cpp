// Calling off that an instance leaves its node (spec subresources 2.14).
#include <fmt/format.h>

#include <utility>

#include "actions/action_case.h"
#include "actions/decisions.h"
#include "api/views/k8s_core.h"
#include "api/views/subresources.h"
#include "json/patch.h"

namespace vg::actions {
namespace {

using api::kubevirt::EvacuateCancelOptions;

// A node that is being drained for good would only send the instance away again. One that is gone is not drained.
std::optional<Status> find_drained(const ActionCase& asked) {
  if (left_node(asked.vmi()).empty())
    return Status::internal_error(
        fmt::format("the evacuation cannot be canceled: VMI \"{}\" is not on a node yet", asked.name));
  const std::string_view key = asked.config.node_drain_taint_key();
  if (key.empty()) return std::nullopt;
  for (const auto taint : api::k8s::Node(asked.node).spec().taints())
    if (taint.key() == key && taint.effect() == "NoSchedule")
      return Status::bad_request(
          fmt::format("node \"{0}\" is being drained (taint {1}), so the VMI must be evacuated; remove the taint with "
                      "`kubectl taint node {0} {1}-` first",
                      left_node(asked.vmi()), key));
  return std::nullopt;
}

}  // namespace

std::string_view left_node(const VirtualMachineInstance& vmi) {
  const std::string_view left = vmi.status().evacuation_node_name();
  return left.empty() ? vmi.status().node_name() : left;
}

Decision decide_evacuate_cancel(const ActionCase& asked) {
  if (auto drained = find_drained(asked)) return fail(std::move(*drained));
  // Nothing to call off: whatever the body says does not matter.
  if (asked.vmi().status().evacuation_node_name().empty()) return effects(Reply{.code = 200});
  if (asked.body_problem) return fail(*asked.body_problem);
  json::PatchBuilder builder(asked.storage);
  constexpr std::string_view path = "/status/evacuationNodeName";
  builder.test(path, text_of(asked.options<EvacuateCancelOptions>().evacuation_node_name(), asked)).remove(path);
  return pass_dry_run_on(
      asked, effects(PatchObject{
                 .resource = instances, .part = "", .operations = builder.take(), .dry_run = says_dry_run(asked)}));
}

}  // namespace vg::actions
