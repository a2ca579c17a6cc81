// A change of a VMI (spec vmi-storage-network 4). KubeVirt's own accounts change the spec of a machine that runs; users
// do it through the VM that it belongs to, and virt-handler only touches what runs on its own node. The first refusal
// counts.
#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "admission/rules/hotplug.h"
#include "admission/rules/machine/machine.h"
#include "admission/rules/machine/name_index.h"
#include "admission/rules/restricted_labels.h"
#include "admission/rules/tables.h"
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

bool is_ours(const Case& about) { return is_trusted_account(about.context, about.review.user.username); }
VirtualMachineInstance before(const Case& about) { return VirtualMachineInstance(about.old_object); }
VirtualMachineInstance after(const Case& about) { return VirtualMachineInstance(about.object); }

void there_is_a_machine_to_change(const Case& about, Causes& causes) {
  if (!about.old_object)
    causes.error(
        fmt::format("{} judges updates, and needs the machine as it was in request.oldObject; the review is "
                    "about \"{}\"",
                    about.webhook.path, about.review.operation_name));
}

// --- virt-handler ----------------------------------------------------------------------------------------------------

bool is_bound_to_node(const Case& about) {
  return about.enabled(Gate::node_restriction) && is_handler_account(about.context, about.review.user.username);
}

// The node whose virt-handler asks, as the API server knows it from the token.
std::optional<string_view> node_of(const UserInfo& user) {
  const json::Array* names = user.extra ? json::as_array(json::find(*user.extra, node_name_key)) : nullptr;
  if (!names || names->empty()) return std::nullopt;
  return json::as_string(&names->front()).value_or(string_view());
}

string_view target_node(const VirtualMachineInstance& vmi) { return vmi.status().migration_state().target_node(); }

void handler_is_on_a_node(const Case& about, Causes& causes) {
  if (is_bound_to_node(about) && !node_of(about.review.user))
    causes.invalid("", fmt::format("virt-handler's token does not say on which node it runs (extra {}); the cluster "
                                   "must issue tokens with node information, or the feature gate {} be switched off",
                                   node_name_key, config::gate_name(Gate::node_restriction)));
}

void handler_keeps_to_its_node(const Case& about, Causes& causes) {
  if (!is_bound_to_node(about)) return;
  const string_view node = node_of(about.review.user).value_or(string_view());
  const string_view source = before(about).status().node_name(), target = target_node(before(about));
  if (node != source && (target.empty() || node != target))
    causes.invalid("", fmt::format("virt-handler of node {} cannot change a machine that is on {}", in_words(node),
                                   in_words(source)));
}

void handler_starts_no_migration(const Case& about, Causes& causes) {
  if (is_bound_to_node(about) && target_node(before(about)).empty() && !target_node(after(about)).empty())
    causes.invalid("", "virt-handler cannot choose the node that a machine migrates to; virt-controller does");
}

// --- the spec --------------------------------------------------------------------------------------------------------

void users_leave_the_spec(const MachineChange&, Causes& causes) {
  causes.not_supported("",
                       "the spec of a VirtualMachineInstance cannot be changed; change the VirtualMachine that it "
                       "belongs to, or make a new one");
}

// Upstream crashes where a machine has no CPU; here it has no limit.
void socket_limit_stays(const MachineChange& change, Causes& causes) {
  const auto was = change.before.spec().domain().cpu().max_sockets();
  const auto is = change.after.spec().domain().cpu().max_sockets();
  if (was != is)
    causes.invalid("", fmt::format("domain.cpu.maxSockets is fixed while the machine runs: it is {}, and cannot become "
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
    causes.invalid("", fmt::format("domain.memory.maxGuest is fixed while the machine runs: it is {}, and cannot "
                                   "become {}",
                                   was.text(), is.text()));
}

void utility_volumes_are_switched_on(const MachineChange& change, Causes& causes) {
  if (!change.after.spec().utility_volumes().empty() && !change.about.enabled(Gate::utility_volumes))
    causes.invalid("spec.utilityVolumes", needs_gate("utility volumes need", Gate::utility_volumes));
}

constexpr RuleOn<MachineChange> user_rows[] = {
    {"UPD-06", "only KubeVirt changes the spec", "", users_leave_the_spec},
};
constexpr RuleOn<MachineChange> own_rows[] = {
    {"UPD-07", "the limit of sockets stays", "", socket_limit_stays},
    {"UPD-08", "the limit of memory stays", "", memory_limit_stays},
    RuleOn<MachineChange>{"UTIL-02", "utility volumes are switched on", "spec.utilityVolumes",
                          utility_volumes_are_switched_on}
        .about(Gate::utility_volumes),
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
  if (at.volume.name().empty()) causes.required(at.place.field("name"), "a utility volume needs a name");
}
void utility_name_is_its_own(const UtilityAt& at, Causes& causes) {
  if (*at.utilities.first(at.volume.name()) < at.index)
    causes.duplicate(at.place.field("name"),
                     fmt::format("there is another utility volume {}; names must differ", in_words(at.volume.name())));
}
void utility_name_is_no_volume(const UtilityAt& at, Causes& causes) {
  if (at.volumes.contains(at.volume.name()))
    causes.duplicate(at.place.field("name"),
                     fmt::format("there is an ordinary volume {}; choose another name", in_words(at.volume.name())));
}
void utility_has_a_claim(const UtilityAt& at, Causes& causes) {
  if (at.volume.claim_name().empty())
    causes.required(at.place.field("claimName"), "a utility volume is on a PersistentVolumeClaim; name it");
}

constexpr RuleOn<UtilityAt> utility_rows[] = {
    {"UTIL-03", "a utility volume has a name", "spec.utilityVolumes[].name", utility_has_a_name},
    {"UTIL-04", "utility volumes have different names", "spec.utilityVolumes[].name", utility_name_is_its_own},
    {"UTIL-05", "no utility volume has the name of a volume", "spec.utilityVolumes[].name", utility_name_is_no_volume},
    {"UTIL-06", "a utility volume names a claim", "spec.utilityVolumes[].claimName", utility_has_a_claim},
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
      return causes.invalid("", fmt::format("utility volume {} has the name of a volume that the machine started with; "
                                            "choose another one",
                                            in_words(volume.name())));
}

void utilities_are_as_they_were(const MachineChange& change, Causes& causes) {
  const api::Type* type = type_of(change.about);
  const api::Field* field = type ? member_at(*type, {"spec", "utilityVolumes"}) : nullptr;
  const api::List<const json::Value*> is(change.after.spec().get("utilityVolumes")),
      was(change.before.spec().get("utilityVolumes"));
  const NameIndex names(change.before.spec().utility_volumes());
  for (const json::Value* volume : is) {
    const string_view name = UtilityVolume(volume).name();
    const auto found = names.last(name);
    if (field && found && !semantically_equal(volume, was[*found], *field->element))
      return causes.invalid(
          "", fmt::format("utility volume {} is attached and cannot change; remove it first", in_words(name)));
  }
}

constexpr RuleOn<MachineChange> utility_change_rows[] = {
    {"UTIL-07", "a utility volume is none of those that the machine started with", "", utilities_are_plugged_in},
    {"UTIL-08", "a utility volume does not change", "", utilities_are_as_they_were},
};

// --- the whole -------------------------------------------------------------------------------------------------------

constexpr void (*own_stages[])(const MachineChange&, Causes&) = {
    [](const MachineChange& change, Causes& causes) { ask_until_broken<own_rows>(change, causes); },
    check_each_utility,
    [](const MachineChange& change, Causes& causes) { ask_until_broken<utility_change_rows>(change, causes); },
    check_hotplug,
};

void spec_changes_as_it_may(const Case& about, Causes& causes) {
  if (unchanged(about, {"spec"})) return;
  const MachineChange change{.about = about, .before = before(about), .after = after(about)};
  if (!is_ours(about)) return ask_all<user_rows>(change, causes);
  for (const auto& stage : own_stages) {
    stage(change, causes);
    if (!causes.empty()) return;
  }
}

void list_spec_change_rules(std::vector<RuleInfo>& out) {
  list_rows<user_rows, own_rows, utility_rows, utility_change_rows>(out);
  list_hotplug_rules(out);
}

void users_leave_restricted_labels(const Case& about, Causes& causes) {
  if (is_ours(about)) return;
  const auto label = [](const json::Value& vmi, string_view key) {
    return json::as_string(json::find_path(vmi, {"metadata", "labels", key}));
  };
  for (const string_view key : restricted_labels)
    if (label(*about.object, key) != label(*about.old_object, key))
      return causes.not_supported("", fmt::format("label {} is KubeVirt's own: it can be neither added nor changed nor "
                                                  "removed",
                                                  key));
}

constexpr Rule rules[] = {
    Rule{"UPD-02", "the machine as it was is there", "", there_is_a_machine_to_change}.stops(),
    Rule{"UPD-03", "virt-handler says on which node it is", "", handler_is_on_a_node}
        .about(Gate::node_restriction)
        .stops(),
    Rule{"UPD-04", "virt-handler changes machines of its own node", "", handler_keeps_to_its_node}
        .about(Gate::node_restriction)
        .stops(),
    Rule{"UPD-05", "virt-handler starts no migration", "", handler_starts_no_migration}
        .about(Gate::node_restriction)
        .stops(),
    Rule{"", "", "spec", spec_changes_as_it_may}.stops().stands_for(list_spec_change_rules),
    Rule{"UPD-09", "users leave restricted labels alone", "", users_leave_restricted_labels}.stops(),
};

}  // namespace

std::span<const Rule> vmi_update_rules() { return rules; }

}  // namespace vg::admission
