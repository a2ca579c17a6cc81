// How a machine starts, what happens to it when its node is drained, and when its guest reboots.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rules/machine/families.h"
#include "api/canonical_words.h"
#include "api/views/vmi_domain.h"
#include "base/joined.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::in_words;
using config::Gate;
using std::string_view;

constexpr string_view paused = "Paused";

void start_strategy_is_known(const Machine& machine, Causes& causes) {
  if (const auto strategy = machine.spec.start_strategy(); strategy && *strategy != paused)
    causes.invalid(machine.place.field("startStrategy"),
                   fmt::format("{}: supported values: Paused; remove it to start as usual", in_words(*strategy)));
}

void paused_start_has_no_liveness_probe(const Machine& machine, Causes& causes) {
  if (machine.spec.start_strategy() == paused && machine.spec.liveness_probe())
    causes.invalid(machine.place.field("startStrategy"),
                   "startStrategy Paused is mutually exclusive with livenessProbe, which would fail; remove one of "
                   "them");
}

void eviction_strategy_is_known(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 4> strategies = {"None", "LiveMigrate", "LiveMigrateIfPossible", "External"};
  const auto own = machine.spec.eviction_strategy();
  const auto strategy = own ? own : json::as_string(json::find(machine.config().configuration(), "evictionStrategy"));
  if (!strategy || std::ranges::find(strategies, *strategy) != strategies.end()) return;
  causes.invalid(machine.place.field("evictionStrategy"),
                 fmt::format("{1}: supported values: {0}{2}", joined(strategies, ", "), in_words(*strategy),
                             own ? "" : "; the value is set in the configuration of the KubeVirt object"));
}

void reboot_policy_is_enabled(const Machine& machine, Causes& causes) {
  if (machine.spec.domain().reboot_policy() && !machine.enabled(Gate::reboot_policy))
    causes.invalid(machine.place.field("domain").field("rebootPolicy"),
                   "rebootPolicy requires the feature gate RebootPolicy, which is disabled");
}

constexpr MachineRule start_rows[] = {
    {"STR-01", "startStrategy must be Paused", "startStrategy", start_strategy_is_known},
    {"STR-02", "startStrategy Paused and livenessProbe are mutually exclusive", "startStrategy",
     paused_start_has_no_liveness_probe},
};

constexpr MachineRule eviction_rows[] = {
    {"EVI-01", "the eviction strategy of the VMI or of the cluster must be supported", "evictionStrategy",
     eviction_strategy_is_known},
};

constexpr MachineRule reboot_rows[] = {
    MachineRule{"RBT-01", "rebootPolicy requires its feature gate", "domain.rebootPolicy", reboot_policy_is_enabled}
        .of_gate(Gate::reboot_policy),
};

}  // namespace

const MachineFamily start_strategy_family = family_of<start_rows>;
const MachineFamily eviction_strategy_family = family_of<eviction_rows>;
const MachineFamily reboot_policy_family = family_of<reboot_rows>;

}  // namespace vg::admission
