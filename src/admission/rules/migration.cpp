// Migrations: creating one (spec work-objects 3.1) and changing one (3.2).
#include "api/views/migration.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/rule.h"
#include "admission/semantic_equal.h"
#include "api/views/k8s_meta.h"
#include "api/views/vmi.h"
#include "api/views/vmi_status.h"
#include "base/names.h"
#include "base/phrases.h"

namespace vg::admission {
namespace {

using api::kubevirt::VirtualMachineInstance;
using api::kubevirt::VirtualMachineInstanceMigration;
using std::string_view;

constexpr string_view vmis = "kubevirt.io/virtualmachineinstances";
constexpr string_view migrations = "kubevirt.io/virtualmachineinstancemigrations";
constexpr string_view vmi_name_label = "kubevirt.io/vmi-name";

VirtualMachineInstanceMigration wanted(const Case& judged) { return VirtualMachineInstanceMigration(judged.object); }

string_view namespace_of(const Case& judged) { return wanted(judged).metadata().namespace_(); }

bool is_final(string_view phase) { return phase == "Succeeded" || phase == "Failed"; }

void names_a_machine(const Case& judged, Causes& causes) {
  if (wanted(judged).spec().vmi_name().empty()) causes.required("spec.vmiName", "the name of the VMI to migrate");
}

void priority_from_the_controller(const Case& judged, Causes& causes) {
  if (!wanted(judged).spec().priority()) return;
  if (component_account(judged.context, judged.review.user.username) == "kubevirt-controller") return;
  causes.forbidden("spec.migrationPriority", "spec.priority is set by KubeVirt only; remove it");
}

// A migration to or from another cluster may leave the disks behind.
bool disks_may_stay(const Case& judged, const api::kubevirt::VirtualMachineInstanceCondition& condition) {
  const auto spec = wanted(judged).spec();
  return condition.reason() == "DisksNotLiveMigratable" &&
         static_cast<bool>(spec.send_to()) != static_cast<bool>(spec.receive());
}

void machine_can_move(const Case& judged, Causes& causes) {
  const string_view name = wanted(judged).spec().vmi_name();
  const auto found = judged.context.lookups.get(vmis, namespace_of(judged), name, judged.context.storage);
  if (!found) return causes.error(found.error().message);
  if (!*found)
    return causes.error(fmt::format(
        "virtualmachineinstances.kubevirt.io \"{}\" not found; check the namespace ({}), and that the VM runs", name,
        namespace_of(judged)));
  const VirtualMachineInstance vmi(*found);
  if (is_final(vmi.status().phase()))
    return causes.error(
        fmt::format("VMI \"{}\" cannot be migrated: it has completed (phase {})", name, vmi.status().phase()));
  for (const auto condition : vmi.status().conditions()) {
    if (condition.type() != "LiveMigratable" || condition.status() != "False" || disks_may_stay(judged, condition))
      continue;
    return causes.error(
        fmt::format("VMI \"{}\" cannot be live-migrated: {} ({})", name, condition.message(), condition.reason()));
  }
}

void no_other_migration_runs(const Case& judged, Causes& causes) {
  const string_view name = wanted(judged).spec().vmi_name();
  if (const auto defects = label_value_defects(name); !defects.empty())
    return causes.error(fmt::format("spec.vmiName: Invalid value: \"{}\": {}", name, defects.front()));
  const auto found = judged.context.lookups.list_labelled(migrations, namespace_of(judged), vmi_name_label, name,
                                                          judged.context.storage);
  if (!found) return causes.error(found.error().message);
  for (const json::Value* value : *found) {
    const VirtualMachineInstanceMigration other(value);
    if (is_final(other.status().phase())) continue;
    return causes.error(fmt::format(
        "VMI \"{}\" is already being migrated (migration {}, uid {}); wait until it completes, or delete it", name,
        other.metadata().name(), other.metadata().uid()));
  }
}

void decentralized_is_on(const Case& judged, Causes& causes) {
  const auto spec = wanted(judged).spec();
  if ((spec.send_to() || spec.receive()) && !judged.enabled(config::Gate::decentralized_live_migration))
    causes.not_supported("",
                         "sendTo and receive require the feature gate DecentralizedLiveMigration, which is disabled");
}

void one_migration_id(const Case& judged, Causes& causes) {
  const auto spec = wanted(judged).spec();
  if (spec.send_to() && spec.receive() && spec.send_to().migration_id() != spec.receive().migration_id())
    causes.invalid("", "sendTo and receive must have the same migrationID");
}

void spec_stays(const Case& judged, Causes& causes) {
  if (!unchanged(judged, {"spec"}))
    causes.not_supported("", phrases::not_permitted("spec is immutable; delete the migration and create another one"));
}

void label_stays(const Case& judged, Causes& causes) {
  if (!judged.old_object || is_final(wanted(judged).status().phase())) return;
  const auto before = VirtualMachineInstanceMigration(judged.old_object).metadata().labels();
  if (!before.contains(vmi_name_label)) return;
  const auto after = wanted(judged).metadata().labels();
  if (after.contains(vmi_name_label) && after[vmi_name_label] == before[vmi_name_label]) return;
  causes.not_supported("", phrases::not_permitted(fmt::format("label {} must stay \"{}\" until the migration "
                                                              "completes",
                                                              vmi_name_label, before[vmi_name_label])));
}

constexpr Rule create_rules[] = {
    Rule{"MC04", "spec.vmiName is required", "spec.vmiName", names_a_machine}.stops(),
    Rule{"MC05", "spec.priority must be set by KubeVirt only", "spec.migrationPriority", priority_from_the_controller}
        .stops(),
    {"MC06", "the VMI must run and support live migration", "", machine_can_move},
    {"MC10", "a VMI must have at most one migration in progress", "", no_other_migration_runs},
    Rule{"MC12", "migration to another cluster requires its feature gate", "", decentralized_is_on}
        .of_gate(config::Gate::decentralized_live_migration)
        .stops(),
    Rule{"MC13", "sendTo and receive must have the same migrationID", "", one_migration_id}.stops(),
};

constexpr Rule update_rules[] = {
    Rule{"MU03", "spec is immutable", "", spec_stays}.stops(),
    Rule{"MU04", "the label with the name of the VMI must stay until the migration completes", "", label_stays}.stops(),
};

}  // namespace

std::span<const Rule> migration_create_rules() { return create_rules; }
std::span<const Rule> migration_update_rules() { return update_rules; }

}  // namespace vg::admission
