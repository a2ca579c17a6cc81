// Labels and annotations that not everybody may set, or not always (spec vmi-compute 2.4).
#include <fmt/format.h>

#include "admission/rules/machine/families.h"
#include "admission/rules/restricted_labels.h"
#include "admission/rules/words.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using config::Gate;
using std::string_view;

const json::Value* in_metadata(const Machine& machine, string_view member) {
  return machine.metadata ? json::find(*machine.metadata, member) : nullptr;
}

void labels_are_free(const Machine& machine, Causes& causes) {
  const api::Map<string_view> labels(in_metadata(machine, "labels"));
  if (labels.empty() || is_trusted_account(machine.judged.context, machine.judged.review.user.username)) return;
  for (const string_view reserved : restricted_labels)
    if (labels.contains(reserved))
      return causes.not_supported(
          machine.metadata_place.field("labels"),
          fmt::format("label {} is reserved for KubeVirt; remove it, or use a label of another domain", reserved));
}

void check_gated(const Machine& machine, string_view annotation, Gate gate, Causes& causes) {
  const api::Map<string_view> annotations(in_metadata(machine, "annotations"));
  if (annotations[annotation].empty() || machine.enabled(gate)) return;
  causes.invalid(machine.metadata_place.field("annotations"),
                 needs_gate(fmt::format("annotation {} requires", annotation), gate));
}

void ignition_is_on(const Machine& machine, Causes& causes) {
  check_gated(machine, "kubevirt.io/ignitiondata", Gate::experimental_ignition_support, causes);
}

void sidecars_are_on(const Machine& machine, Causes& causes) {
  check_gated(machine, "hooks.kubevirt.io/hookSidecars", Gate::sidecar, causes);
}

constexpr MachineRule metadata_rows[] = {
    {"META-01", "reserved labels must be set by KubeVirt only", "metadata.labels", labels_are_free},
    MachineRule{"META-02", "ignition data require their feature gate", "metadata.annotations", ignition_is_on}.of_gate(
        Gate::experimental_ignition_support),
    MachineRule{"META-03", "hook sidecars require their feature gate", "metadata.annotations", sidecars_are_on}.of_gate(
        Gate::sidecar),
};

}  // namespace

const MachineFamily metadata_family = family_of<metadata_rows>;

}  // namespace vg::admission
