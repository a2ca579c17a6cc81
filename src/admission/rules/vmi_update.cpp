// A change of a VMI (spec vmi-storage-network 4). KubeVirt's own accounts change the spec of a machine that runs; users
// do it through the VM that it belongs to, and virt-handler only touches what runs on its own node. The first refusal
// counts.
#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "admission/rule.h"
#include "admission/rules/hotplug.h"
#include "admission/rules/machine/machine.h"
#include "admission/rules/machine/name_index.h"
#include "admission/rules/machine/volume_sources.h"
#include "admission/rules/restricted_labels.h"
#include "admission/rules/words.h"
#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_status.h"
#include "api/views/vmi_volumes.h"
#include "base/quantity.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::kubevirt::UtilityVolume;
using api::kubevirt::VirtualMachineInstance;
using config::Gate;
using std::string_view;

constexpr string_view node_name_key = "authentication.kubernetes.io/node-name";

bool is_ours(const Case& judged) { return is_trusted_account(judged.context, judged.review.user.username); }
VirtualMachineInstance before(const Case& judged) { return VirtualMachineInstance(judged.old_object); }
VirtualMachineInstance after(const Case& judged) { return VirtualMachineInstance(judged.object); }

void there_is_a_machine_to_change(const Case& judged, Causes& causes) {
  if (!judged.old_object)
    causes.error(
        fmt::format("{} validates updates, but the review is about \"{}\"; the old VMI is required in "
                    "request.oldObject",
                    judged.webhook.path, judged.review.operation_name));
}

// --- virt-handler ----------------------------------------------------------------------------------------------------

bool is_bound_to_node(const Case& judged) {
  return judged.enabled(Gate::node_restriction) && is_handler_account(judged.context, judged.review.user.username);
}

// The node whose virt-handler asks, as the API server knows it from the token.
std::optional<string_view> node_of(const UserInfo& user) {
  const json::Array* names = user.extra ? json::as_array(json::find(*user.extra, node_name_key)) : nullptr;
  if (!names || names->empty()) return std::nullopt;
  return json::as_string(&names->front()).value_or(string_view());
}

string_view target_node(const VirtualMachineInstance& vmi) { return vmi.status().migration_state().target_node(); }

void handler_is_on_a_node(const Case& judged, Causes& causes) {
  if (is_bound_to_node(judged) && !node_of(judged.review.user))
    causes.invalid("", fmt::format("the token of virt-handler does not name its node (extra {}); the cluster "
                                   "must issue tokens with node information, or the feature gate {} must be disabled",
                                   node_name_key, config::gate_name(Gate::node_restriction)));
}

void handler_keeps_to_its_node(const Case& judged, Causes& causes) {
  if (!is_bound_to_node(judged)) return;
  const string_view node = node_of(judged.review.user).value_or(string_view());
  const string_view source = before(judged).status().node_name(), target = target_node(before(judged));
  if (node != source && (target.empty() || node != target))
    causes.invalid(
        "", fmt::format("virt-handler of node {} must not change a VMI on node {}", in_words(node), in_words(source)));
}

void handler_starts_no_migration(const Case& judged, Causes& causes) {
  if (is_bound_to_node(judged) && target_node(before(judged)).empty() && !target_node(after(judged)).empty())
    causes.invalid("", "virt-handler must not choose the target node of a migration; virt-controller does");
}

// --- the spec --------------------------------------------------------------------------------------------------------

void users_leave_the_spec(const MachineChange&, Causes& causes) {
  causes.not_supported("",
                       "the spec of a VMI is immutable; change the VM that it "
                       "belongs to, or create another VMI");
}

// Upstream crashes where a machine has no CPU; here it has no limit.
void socket_limit_stays(const MachineChange& change, Causes& causes) {
  const auto was = change.before.spec().domain().cpu().max_sockets();
  const auto is = change.after.spec().domain().cpu().max_sockets();
  if (was != is)
    causes.invalid(
        "", fmt::format("domain.cpu.maxSockets is immutable while the VMI runs: it is {} and cannot be changed to "
                        "{}",
                        was, is));
}

std::optional<Quantity> amount(const api::QuantityView& text) {
  const auto parsed = text ? Quantity::parse(text.text()) : not_parsed("");
  return parsed ? std::optional(*parsed) : std::nullopt;
}

void memory_limit_stays(const MachineChange& change, Causes& causes) {
  const auto was = change.before.spec().domain().memory().max_guest();
  const auto is = change.after.spec().domain().memory().max_guest();
  if (was && is && amount(was) != amount(is))
    causes.invalid("", fmt::format("domain.memory.maxGuest is immutable while the VMI runs: it is {} and cannot be "
                                   "changed to {}",
                                   was.text(), is.text()));
}

void utility_volumes_are_switched_on(const MachineChange& change, Causes& causes) {
  if (!change.after.spec().utility_volumes().empty() && !change.judged.enabled(Gate::utility_volumes))
    causes.invalid("spec.utilityVolumes", needs_gate("utility volumes require", Gate::utility_volumes));
}

constexpr RuleOn<MachineChange> user_rows[] = {
    {"UPD-06", "the spec of a VMI must be changed by KubeVirt only", "", users_leave_the_spec},
};
constexpr RuleOn<MachineChange> own_rows[] = {
    {"UPD-07", "maxSockets is immutable", "", socket_limit_stays},
    {"UPD-08", "maxGuest is immutable", "", memory_limit_stays},
    RuleOn<MachineChange>{"UTIL-02", "utility volumes require their feature gate", "spec.utilityVolumes",
                          utility_volumes_are_switched_on}
        .of_gate(Gate::utility_volumes),
};

// --- utility volumes -------------------------------------------------------------------------------------------------

struct UtilityAt {
  UtilityVolume volume;
  std::size_t index;
  const NameIndex& utilities;
  const NameIndex& volumes;
  const Place& place;
};

void utility_has_a_name(const UtilityAt& at, Causes& causes) {
  if (at.volume.name().empty()) causes.required(at.place.field("name"), "the name of the utility volume");
}
void utility_name_is_its_own(const UtilityAt& at, Causes& causes) {
  if (*at.utilities.first(at.volume.name()) < at.index)
    causes.duplicate(at.place.field("name"),
                     fmt::format("{}: names of utility volumes must be unique", in_words(at.volume.name())));
}
void utility_name_is_no_volume(const UtilityAt& at, Causes& causes) {
  if (at.volumes.contains(at.volume.name()))
    causes.duplicate(at.place.field("name"), fmt::format("{}: a volume already has this name; choose another name",
                                                         in_words(at.volume.name())));
}
void utility_has_a_claim(const UtilityAt& at, Causes& causes) {
  if (at.volume.claim_name().empty())
    causes.required(at.place.field("claimName"), "the claimName of the PVC that holds the utility volume");
}

constexpr RuleOn<UtilityAt> utility_rows[] = {
    {"UTIL-03", "a utility volume must have a name", "spec.utilityVolumes[].name", utility_has_a_name},
    {"UTIL-04", "names of utility volumes must be unique", "spec.utilityVolumes[].name", utility_name_is_its_own},
    {"UTIL-05", "a utility volume must not have the name of a volume", "spec.utilityVolumes[].name",
     utility_name_is_no_volume},
    {"UTIL-06", "a utility volume must name a PVC", "spec.utilityVolumes[].claimName", utility_has_a_claim},
};

void check_each_utility(const MachineChange& change, Causes& causes) {
  const auto all = change.after.spec().utility_volumes();
  if (all.empty()) return;
  const NameIndex utilities(all), volumes(change.after.spec().volumes());
  const Place root, spec = root.field("spec"), list = spec.field("utilityVolumes");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Place place = list.item(i);
    ask_all<utility_rows>(
        UtilityAt{.volume = all[i], .index = i, .utilities = utilities, .volumes = volumes, .place = place}, causes);
  }
}

void utilities_are_plugged_in(const MachineChange& change, Causes& causes) {
  const auto all = change.after.spec().utility_volumes();
  if (all.empty()) return;
  const NameIndex permanent = permanent_volumes(change.before);
  for (const UtilityVolume volume : all)
    if (permanent.contains(volume.name()))
      return causes.invalid("", fmt::format("utility volume {} has the name of a volume that the VMI started with; "
                                            "choose another name",
                                            in_words(volume.name())));
}

void utilities_are_as_they_were(const MachineChange& change, Causes& causes) {
  const api::Type* type = type_of(change.judged);
  const api::Field* field = type ? member_at(*type, {"spec", "utilityVolumes"}) : nullptr;
  const api::List<const json::Value*> is(change.after.spec().get("utilityVolumes")),
      was(change.before.spec().get("utilityVolumes"));
  const NameIndex names(change.before.spec().utility_volumes());
  for (const json::Value* volume : is) {
    const string_view name = UtilityVolume(volume).name();
    const auto found = names.last(name);
    if (field && found && !semantically_equal(volume, was[*found], *field->element))
      return causes.invalid(
          "", fmt::format("utility volume {} is attached and immutable; remove it first", in_words(name)));
  }
}

constexpr RuleOn<MachineChange> utility_change_rows[] = {
    {"UTIL-07", "a utility volume must not be one of those that the VMI started with", "", utilities_are_plugged_in},
    {"UTIL-08", "attached utility volumes are immutable", "", utilities_are_as_they_were},
};

// --- volumes ---------------------------------------------------------------------------------------------------------

// Upstream asks this of new VMIs alone (VOL-01, VOL-03): a hotplugged volume that is a PVC and a serviceAccount at once
// passes HP-09 for the one, and the guest gets the other.
void volumes_have_one_source(const MachineChange& change, Causes& causes) {
  const auto all = change.after.spec().volumes();
  const NameIndex names(all);
  const Place root, spec = root.field("spec"), list = spec.field("volumes");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Place place = list.item(i);
    if (const auto count = count_sources(all[i]); count != 1)
      return causes.invalid(
          place, fmt::format("volume {} has {} sources and must have exactly one", in_words(all[i].name()), count));
    if (names.count_before(all[i].name(), i) > 0)
      return causes.invalid(place.field("name"),
                            fmt::format("{}: volume names must be unique", in_words(all[i].name())));
  }
}

// --- the whole -------------------------------------------------------------------------------------------------------

constexpr void (*own_stages[])(const MachineChange&, Causes&) = {
    [](const MachineChange& change, Causes& causes) { ask_until_broken<own_rows>(change, causes); },
    check_each_utility,
    [](const MachineChange& change, Causes& causes) { ask_until_broken<utility_change_rows>(change, causes); },
    check_hotplug,
    volumes_have_one_source,
};

void spec_changes_as_it_may(const Case& judged, Causes& causes) {
  if (unchanged(judged, {"spec"})) return;
  const MachineChange change{.judged = judged, .before = before(judged), .after = after(judged)};
  if (!is_ours(judged)) return ask_all<user_rows>(change, causes);
  for (const auto& stage : own_stages) {
    stage(change, causes);
    if (!causes.empty()) return;
  }
}

void list_spec_change_rules(std::vector<RuleInfo>& out) {
  list_rows<user_rows, own_rows, utility_rows, utility_change_rows>(out);
  list_hotplug_rules(out);
}

void users_leave_restricted_labels(const Case& judged, Causes& causes) {
  if (is_ours(judged)) return;
  const auto label = [](const json::Value& vmi, string_view key) {
    return json::as_string(json::find_path(vmi, {"metadata", "labels", key}));
  };
  for (const string_view key : restricted_labels)
    if (label(*judged.object, key) != label(*judged.old_object, key))
      return causes.not_supported("", fmt::format("label {} is reserved for KubeVirt: it must not be added, changed or "
                                                  "removed",
                                                  key));
}

constexpr Rule vmi_update_rule_table[] = {
    Rule{"UPD-02", "the old VMI is required", "", there_is_a_machine_to_change}.stops(),
    Rule{"UPD-03", "the token of virt-handler must name its node", "", handler_is_on_a_node}
        .of_gate(Gate::node_restriction)
        .stops(),
    Rule{"UPD-04", "virt-handler must change only VMIs of its own node", "", handler_keeps_to_its_node}
        .of_gate(Gate::node_restriction)
        .stops(),
    Rule{"UPD-05", "virt-handler must not start a migration", "", handler_starts_no_migration}
        .of_gate(Gate::node_restriction)
        .stops(),
    Rule{"", "", "spec", spec_changes_as_it_may}.stops().stands_for(list_spec_change_rules),
    Rule{"UPD-09", "users must not change reserved labels", "", users_leave_restricted_labels}.stops(),
};

}  // namespace

std::span<const Rule> vmi_update_rules() { return vmi_update_rule_table; }

}  // namespace vg::admission
