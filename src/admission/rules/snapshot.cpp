// Snapshots and restores (spec work-objects 3.8 and 3.9).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rule.h"
#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "base/joined.h"
#include "base/phrases.h"
#include "base/trimmed.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::in_words;
using std::string_view;

constexpr string_view machine_group = "kubevirt.io";
constexpr string_view machine_kind = "VirtualMachine";
constexpr string_view snapshots = "snapshot.kubevirt.io/virtualmachinesnapshots";
constexpr string_view contents = "snapshot.kubevirt.io/virtualmachinesnapshotcontents";
constexpr string_view restores = "snapshot.kubevirt.io/virtualmachinerestores";
constexpr string_view machines = "kubevirt.io/virtualmachines";

string_view text_at(const json::Value& object, std::initializer_list<string_view> path) {
  return json::as_string(json::find_path(object, path)).value_or("");
}

// The machine that spec.source or spec.target names; both must be one of ours.
void refers_to_a_machine(const Case& judged, Causes& causes, string_view member) {
  const auto group = json::as_string(json::find_path(*judged.object, {"spec", member, "apiGroup"}));
  const string_view kind = text_at(*judged.object, {"spec", member, "kind"});
  const std::string field = fmt::format("spec.{}", member);
  if (!group) {
    causes.not_found(field + ".apiGroup", phrases::missing(fmt::format("{}.apiGroup must be kubevirt.io", field)));
  } else if (*group != machine_group) {
    causes.invalid(field + ".apiGroup", fmt::format("{1}: {0}.apiGroup must be kubevirt.io", field, in_words(*group)));
  } else if (kind != machine_kind) {
    causes.invalid(field + ".kind", fmt::format("{1}: {0}.kind must be VirtualMachine", field, in_words(kind)));
  }
}

void source_is_a_machine(const Case& judged, Causes& causes) { refers_to_a_machine(judged, causes, "source"); }

void spec_stays(const Case& judged, Causes& causes) {
  if (!unchanged(judged, {"spec"}))
    causes.invalid("spec", phrases::immutable("delete the object and create another one"));
}

constexpr Rule snapshot_table[] = {
    Rule{"SN04", "the source must be a VM", "spec.source", source_is_a_machine}.on(When::create).stops(),
    Rule{"SN08", "spec is immutable", "spec", spec_stays}.on(When::update).stops(),
};

// --- restores --------------------------------------------------------------------------------------------------------

bool targets_a_machine(const Case& judged) {
  return text_at(*judged.object, {"spec", "target", "apiGroup"}) == machine_group &&
         text_at(*judged.object, {"spec", "target", "kind"}) == machine_kind;
}

string_view namespace_of(const Case& judged) { return text_at(*judged.object, {"metadata", "namespace"}); }

void target_is_a_machine(const Case& judged, Causes& causes) { refers_to_a_machine(judged, causes, "target"); }

string_view without_braces(string_view text) {
  const auto first = text.find_first_not_of("{}");
  return first == text.npos ? string_view() : text.substr(first, text.find_last_not_of("{}") - first + 1);
}

bool may_be_patched(string_view quoted_path) {
  return std::ranges::any_of(std::array<string_view, 3>{"\"/metadata/labels/", "\"/metadata/annotations/", "\"/spec/"},
                             [&](string_view begin) { return quoted_path.starts_with(begin); });
}

// Upstream reads patches as text, and refuses what its simple reading does not understand; so do we, or objects would
// be taken here that it refuses.
void check_patch_member(string_view member, Causes& causes) {
  const auto colon = member.find(':');
  if (colon == member.npos || member.find(':', colon + 1) != member.npos) {
    causes.invalid("spec.patches", fmt::format("{}: a patch must be a flat object with \"op\", \"path\" and \"value\", "
                                               "without \":\" and \",\" inside of values",
                                               in_words(member)));
  } else if (trimmed(member.substr(0, colon), all_blanks) == "\"path\"" &&
             !may_be_patched(trimmed(member.substr(colon + 1), all_blanks))) {
    causes.invalid("spec.patches", fmt::format("{}: a patch may change only /spec/, /metadata/labels/ and "
                                               "/metadata/annotations/",
                                               in_words(trimmed(member.substr(colon + 1), all_blanks))));
  }
}

// An empty patch has one member, an empty one.
void check_patch(string_view patch, Causes& causes) {
  string_view rest = without_braces(patch);
  for (auto comma = rest.find(','); comma != rest.npos; comma = rest.find(',')) {
    check_patch_member(rest.substr(0, comma), causes);
    rest.remove_prefix(comma + 1);
  }
  check_patch_member(rest, causes);
}

bool keeps_state(const json::Value* machine) {
  if (!machine) return false;
  const json::Value* domain = json::find_path(*machine, {"spec", "template", "spec", "domain"});
  if (!domain) return false;
  if (const api::View tpm(json::find_path(*domain, {"devices", "tpm"})); tpm)
    if (json::get_bool_or(*tpm.object(), "enabled", true) && json::get_bool_or(*tpm.object(), "persistent", false))
      return true;
  return json::as_bool(json::find_path(*domain, {"firmware", "bootloader", "efi", "persistent"})).value_or(false);
}

void needs_original(const Case& judged, const json::Value& snapshot, Causes& causes) {
  const auto& lookups = judged.context.lookups;
  const string_view name = text_at(*judged.object, {"spec", "target", "name"});
  const auto target = lookups.get(machines, namespace_of(judged), name, judged.context.storage);
  if (!target) return causes.error(target.error().message);
  const string_view source_uid = text_at(snapshot, {"status", "sourceUID"});
  const bool another = !*target || (!source_uid.empty() && source_uid != text_at(**target, {"metadata", "uid"}));
  if (!another) return;
  const auto content_name = json::as_string(json::find_path(snapshot, {"status", "virtualMachineSnapshotContentName"}));
  if (!content_name)
    return causes.error(
        "the snapshot is not ready: it has no content yet, so the target VM cannot be checked; "
        "try again when its status.readyToUse is true");
  const auto content = lookups.get(contents, namespace_of(judged), *content_name, judged.context.storage);
  if (!content) return causes.error(content.error().message);
  const json::Value* machine = *content ? json::find_path(**content, {"spec", "source", "virtualMachine"}) : nullptr;
  if (!machine) return causes.error(fmt::format("the snapshot content \"{}\" has no VM", *content_name));
  if (keeps_state(machine))
    causes.invalid("spec",
                   "a VM with a persistent TPM or persistent EFI variables can be restored only to itself, "
                   "and the target is another VM");
}

// Both rules are about one look-up: without a snapshot neither is asked.
void snapshot_fits(const Case& judged, Causes& causes) {
  if (!targets_a_machine(judged)) return;
  const string_view name = text_at(*judged.object, {"spec", "virtualMachineSnapshotName"});
  const auto snapshot = judged.context.lookups.get(snapshots, namespace_of(judged), name, judged.context.storage);
  if (!snapshot) return causes.error(snapshot.error().message);
  if (!*snapshot) return;
  for (const string_view patch : api::List<string_view>(json::find_path(*judged.object, {"spec", "patches"})))
    check_patch(patch, causes);
  needs_original(judged, **snapshot, causes);
}

void overrides_say_something(const Case& judged, Causes& causes) {
  if (!targets_a_machine(judged)) return;
  std::size_t index = 0;
  for (const api::View one :
       api::List<api::View>(json::find_path(*judged.object, {"spec", "volumeRestoreOverrides"}))) {
    const std::string field = fmt::format("spec.volumeRestoreOverrides[{}]", index++);
    if (api::Read<string_view>::or_zero(one.get("volumeName")).empty())
      causes.required(field + ".volumeName", "the name of the volume that is overridden");
    if (api::Read<string_view>::or_zero(one.get("restoreName")).empty() && !one.has("labels") &&
        !one.has("annotations"))
      causes.required(field, "restoreName, labels or annotations; without one of them the override changes nothing");
  }
}

void check_choice(const Case& judged, Causes& causes, string_view member, std::span<const string_view> choices) {
  if (!targets_a_machine(judged)) return;
  const auto chosen = json::as_string(json::find_path(*judged.object, {"spec", member}));
  if (!chosen || std::ranges::find(choices, *chosen) != choices.end()) return;
  causes.invalid(fmt::format("spec.{}", member),
                 fmt::format("{2}: {0} must be one of {1}", member, joined(choices, ", "), in_words(*chosen)));
}

void restore_policy_is_known(const Case& judged, Causes& causes) {
  constexpr string_view choices[] = {"InPlace", "RandomizeNames", "PrefixTargetName"};
  check_choice(judged, causes, "volumeRestorePolicy", choices);
}

void ownership_policy_is_known(const Case& judged, Causes& causes) {
  constexpr string_view choices[] = {"Vm", "None"};
  check_choice(judged, causes, "volumeOwnershipPolicy", choices);
}

void no_other_restore_runs(const Case& judged, Causes& causes) {
  if (judged.review.name_space.empty()) return;  // to look-ups that means every namespace
  const auto found = judged.context.lookups.list(restores, judged.review.name_space, judged.context.storage);
  if (!found) return causes.error(found.error().message);
  const api::Type* type = type_of(judged);
  const api::Field* target = type ? member_at(*type, {"spec", "target"}) : nullptr;
  if (!target) return;
  const json::Value* wanted = json::find_path(*judged.object, {"spec", "target"});
  for (const json::Value* other : *found) {
    if (json::as_bool(json::find_path(*other, {"status", "complete"})).value_or(false)) continue;
    if (!semantically_equal(wanted, json::find_path(*other, {"spec", "target"}), *target)) continue;
    causes.invalid("spec.target",
                   fmt::format("restore \"{}\" to the same target is still in progress; wait until it completes",
                               text_at(*other, {"metadata", "name"})));
  }
}

constexpr Rule restore_table[] = {
    Rule{"RE04", "the target must be a VM", "spec.target", target_is_a_machine}.on(When::create),
    Rule{"RE07", "patches must be flat, and the snapshot must fit the target", "spec.patches", snapshot_fits}.on(
        When::create),
    Rule{"RE12", "an override must name its volume and what changes", "spec.volumeRestoreOverrides",
         overrides_say_something}
        .on(When::create),
    Rule{"RE14", "the volume restore policy must be supported", "spec.volumeRestorePolicy", restore_policy_is_known}.on(
        When::create),
    Rule{"RE15", "the volume ownership policy must be supported", "spec.volumeOwnershipPolicy",
         ownership_policy_is_known}
        .on(When::create),
    Rule{"RE16", "a target must have at most one restore in progress", "spec.target", no_other_restore_runs}.on(
        When::create),
    Rule{"RE19", "spec is immutable", "spec", spec_stays}.on(When::update),
};

}  // namespace

std::span<const Rule> snapshot_rules() { return snapshot_table; }
std::span<const Rule> restore_rules() { return restore_table; }

}  // namespace vg::admission
