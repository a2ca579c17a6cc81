// Migrations: creating one (spec work-objects 3.1) and changing one (3.2).
#include "api/views/migration.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/rules/tables.h"
#include "admission/semantic_equal.h"
#include "api/views/k8s_meta.h"
#include "api/views/vmi.h"
#include "api/views/vmi_status.h"
#include "base/names.h"

namespace vg::admission {
namespace {

using api::kubevirt::VirtualMachineInstance;
using api::kubevirt::VirtualMachineInstanceMigration;
using std::string_view;

constexpr string_view vmis = "kubevirt.io/virtualmachineinstances";
constexpr string_view migrations = "kubevirt.io/virtualmachineinstancemigrations";
constexpr string_view vmi_name_label = "kubevirt.io/vmi-name";

VirtualMachineInstanceMigration wanted(const Case& about) { return VirtualMachineInstanceMigration(about.object); }

string_view namespace_of(const Case& about) { return wanted(about).metadata().namespace_(); }

bool is_final(string_view phase) { return phase == "Succeeded" || phase == "Failed"; }

void names_a_machine(const Case& about, Causes& causes) {
  if (wanted(about).spec().vmi_name().empty())
    causes.required("spec.vmiName", "a migration moves one machine; name it in spec.vmiName");
}

void priority_from_the_controller(const Case& about, Causes& causes) {
  if (!wanted(about).spec().priority()) return;
  if (own_account(about.context, about.review.user.username) == "kubevirt-controller") return;
  causes.forbidden("spec.migrationPriority",
                   "the priority of a migration is set by KubeVirt itself; leave spec.priority out");
}

// A migration to or from another cluster may leave the disks behind.
bool disks_may_stay(const Case& about, const api::kubevirt::VirtualMachineInstanceCondition& condition) {
  const auto spec = wanted(about).spec();
  return condition.reason() == "DisksNotLiveMigratable" &&
         static_cast<bool>(spec.send_to()) != static_cast<bool>(spec.receive());
}

void machine_can_move(const Case& about, Causes& causes) {
  const string_view name = wanted(about).spec().vmi_name();
  const auto found = about.context.lookups.get(vmis, namespace_of(about), name, about.context.storage);
  if (!found) return causes.error(found.error().message);
  if (!*found)
    return causes.error(fmt::format("there is no running machine \"{}\" in namespace \"{}\" to migrate; start it first",
                                    name, namespace_of(about)));
  const VirtualMachineInstance vmi(*found);
  if (is_final(vmi.status().phase()))
    return causes.error(
        fmt::format("machine \"{}\" has ended (phase {}), so there is nothing to migrate", name, vmi.status().phase()));
  for (const auto condition : vmi.status().conditions()) {
    if (condition.type() != "LiveMigratable" || condition.status() != "False" || disks_may_stay(about, condition))
      continue;
    return causes.error(fmt::format("machine \"{}\" cannot be migrated while it runs: {} ({})", name,
                                    condition.message(), condition.reason()));
  }
}

void no_other_migration_runs(const Case& about, Causes& causes) {
  const string_view name = wanted(about).spec().vmi_name();
  if (const auto defects = label_value_defects(name); !defects.empty())
    return causes.error(fmt::format("spec.vmiName \"{}\" cannot be looked for: {}", name, defects.front()));
  const auto found =
      about.context.lookups.list_labelled(migrations, namespace_of(about), vmi_name_label, name, about.context.storage);
  if (!found) return causes.error(found.error().message);
  for (const json::Value* value : *found) {
    const VirtualMachineInstanceMigration other(value);
    if (is_final(other.status().phase())) continue;
    return causes.error(
        fmt::format("machine \"{}\" is being migrated already (migration {}, uid {}); wait for its end, or delete it",
                    name, other.metadata().name(), other.metadata().uid()));
  }
}

void decentralized_is_on(const Case& about, Causes& causes) {
  const auto spec = wanted(about).spec();
  if ((spec.send_to() || spec.receive()) && !about.enabled(config::Gate::decentralized_live_migration))
    causes.not_supported("", "sendTo and receive need the feature gate DecentralizedLiveMigration, which is off");
}

void one_migration_id(const Case& about, Causes& causes) {
  const auto spec = wanted(about).spec();
  if (spec.send_to() && spec.receive() && spec.send_to().migration_id() != spec.receive().migration_id())
    causes.invalid("", "sendTo and receive are two ends of one migration; give both the same migrationID");
}

void spec_stays(const Case& about, Causes& causes) {
  if (!unchanged(about, {"spec"}))
    causes.not_supported("", "the spec of a migration cannot change; delete this one and create another");
}

void label_stays(const Case& about, Causes& causes) {
  if (!about.old_object || is_final(wanted(about).status().phase())) return;
  const auto before = VirtualMachineInstanceMigration(about.old_object).metadata().labels();
  if (!before.contains(vmi_name_label)) return;
  const auto after = wanted(about).metadata().labels();
  if (after.contains(vmi_name_label) && after[vmi_name_label] == before[vmi_name_label]) return;
  causes.not_supported("", fmt::format("label {} says which machine is migrated; keep it at \"{}\" until the migration "
                                       "has ended",
                                       vmi_name_label, before[vmi_name_label]));
}

constexpr Rule create_rules[] = {
    Rule{"MC04", "a migration names its machine", "spec.vmiName", names_a_machine}.stops(),
    Rule{"MC05", "only the controller sets a priority", "spec.migrationPriority", priority_from_the_controller}.stops(),
    {"MC06", "the machine runs and can be migrated live", "", machine_can_move},
    {"MC10", "no other migration of the machine is under way", "", no_other_migration_runs},
    Rule{"MC12", "migration to another cluster is switched on", "", decentralized_is_on}
        .about(config::Gate::decentralized_live_migration)
        .stops(),
    Rule{"MC13", "both ends carry one migrationID", "", one_migration_id}.stops(),
};

constexpr Rule update_rules[] = {
    Rule{"MU03", "the spec does not change", "", spec_stays}.stops(),
    Rule{"MU04", "the label with the machine's name stays until the end", "", label_stays}.stops(),
};

}  // namespace

std::span<const Rule> migration_create_rules() { return create_rules; }
std::span<const Rule> migration_update_rules() { return update_rules; }

}  // namespace vg::admission
