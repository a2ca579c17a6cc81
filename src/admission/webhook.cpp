#include "admission/webhook.h"

#include <algorithm>
#include <array>

#include "admission/defaults/completion.h"
#include "admission/rule.h"

namespace vg::admission {

// The rules of each subject, in a file of that name under rules/. Declared where the table below names them, and only
// there: a webhook with rules of its own is a row here and a file of rules.
std::span<const Rule> vmi_create_rules();
std::span<const Rule> vmi_update_rules();
std::span<const Rule> vm_rules();
std::span<const Rule> vm_matcher_rules();  // before a VM is completed
std::span<const Rule> migration_create_rules();
std::span<const Rule> migration_update_rules();
std::span<const Rule> migration_policy_rules();
std::span<const Rule> plugin_rules();
std::span<const Rule> clone_rules();
std::span<const Rule> preset_rules();
std::span<const Rule> replica_set_rules();
std::span<const Rule> snapshot_rules();
std::span<const Rule> restore_rules();
std::span<const Rule> pool_rules();
std::span<const Rule> backup_rules();
std::span<const Rule> export_rules();
std::span<const Rule> instancetype_rules();
std::span<const Rule> preference_rules();
std::span<const Rule> status_rules();
std::span<const Rule> eviction_rules();

namespace {

using config::Gate;
using std::string_view;
using enum Step;

constexpr string_view core_group = "";
constexpr string_view kubevirt = "kubevirt.io";
constexpr string_view snapshot = "snapshot.kubevirt.io";
constexpr string_view backup = "backup.kubevirt.io";
constexpr string_view instancetype = "instancetype.kubevirt.io";
constexpr string_view clone_group = "clone.kubevirt.io";

constexpr string_view v1[] = {"v1"};
constexpr string_view v1beta1[] = {"v1beta1"};
constexpr string_view v1alpha1[] = {"v1alpha1"};
constexpr string_view v1alpha3_v1[] = {"v1alpha3", "v1"};

constexpr Subject pods[] = {{"pods", "", "Pod", core_group}};
constexpr Subject evictions[] = {{"pods", "eviction", "Eviction", "policy"}};
constexpr Subject instances[] = {{"virtualmachineinstances", "", "VirtualMachineInstance", kubevirt}};
constexpr Subject machines[] = {{"virtualmachines", "", "VirtualMachine", kubevirt}};
constexpr Subject replica_sets[] = {
    {"virtualmachineinstancereplicasets", "", "VirtualMachineInstanceReplicaSet", kubevirt}};
constexpr Subject pools[] = {{"virtualmachinepools", "", "VirtualMachinePool", "pool.kubevirt.io"}};
constexpr Subject presets[] = {{"virtualmachineinstancepresets", "", "VirtualMachineInstancePreset", kubevirt}};
constexpr Subject migrations[] = {
    {"virtualmachineinstancemigrations", "", "VirtualMachineInstanceMigration", kubevirt}};
constexpr Subject snapshots[] = {{"virtualmachinesnapshots", "", "VirtualMachineSnapshot", snapshot}};
constexpr Subject restores[] = {{"virtualmachinerestores", "", "VirtualMachineRestore", snapshot}};
constexpr Subject backups[] = {{"virtualmachinebackups", "", "VirtualMachineBackup", backup}};
constexpr Subject backup_trackers[] = {{"virtualmachinebackuptrackers", "", "VirtualMachineBackupTracker", backup}};
constexpr Subject exports[] = {{"virtualmachineexports", "", "VirtualMachineExport", "export.kubevirt.io"}};
constexpr Subject instancetypes[] = {{"virtualmachineinstancetypes", "", "VirtualMachineInstancetype", instancetype}};
constexpr Subject cluster_instancetypes[] = {
    {"virtualmachineclusterinstancetypes", "", "VirtualMachineClusterInstancetype", instancetype}};
constexpr Subject preferences[] = {{"virtualmachinepreferences", "", "VirtualMachinePreference", instancetype}};
constexpr Subject cluster_preferences[] = {
    {"virtualmachineclusterpreferences", "", "VirtualMachineClusterPreference", instancetype}};
constexpr Subject statuses[] = {
    {"virtualmachines", "status", "VirtualMachine", kubevirt},
    {"virtualmachineinstancereplicasets", "status", "VirtualMachineInstanceReplicaSet", kubevirt},
    {"virtualmachineinstancemigrations", "status", "VirtualMachineInstanceMigration", kubevirt}};
constexpr Subject migration_policies[] = {{"migrationpolicies", "", "MigrationPolicy", "migrations.kubevirt.io"}};
constexpr Subject clones[] = {{"virtualmachineclones", "", "VirtualMachineClone", clone_group}};
constexpr Subject plugins[] = {{"plugins", "", "Plugin", "plugin.kubevirt.io"}};

// --- the steps, named by what they begin with or by who takes them

constexpr Step evict_steps[] = {rules};
constexpr Step instance_steps[] = {schema, exact_resource, decode, decode_old, rules};
constexpr Step machine_steps[] = {exact_resource, schema, decode, living, try_old, expand, rules};
constexpr Step checked_first_steps[] = {exact_resource, schema, decode, rules};
constexpr Step decoded_first_steps[] = {exact_resource, decode, schema, rules};
constexpr Step migration_update_steps[] = {exact_resource, decode, decode_old, schema, rules};
constexpr Step pool_steps[] = {exact_resource, schema, decode, try_old, rules};
constexpr Step gated_steps[] = {resource, gate, decode, known_operation, decode_old, rules};
constexpr Step ungated_steps[] = {resource, decode, known_operation, decode_old, rules};
constexpr Step backup_steps[] = {resource, gate, creates_only, decode, rules};
constexpr Step tracker_steps[] = {resource, gate};
constexpr Step sizing_steps[] = {writes_only, schema, decode, decode_old, rules};
constexpr Step status_steps[] = {status_schema, machines_only, decode, decode_old, rules};
constexpr Step policy_steps[] = {resource, decode, any_old, rules};
constexpr Step gated_decoded_steps[] = {resource, gate, decode, rules};

constexpr Step default_machine_steps[] = {exact_resource, schema, decode, decode_old, living, rules, defaults};
constexpr Step default_instance_steps[] = {exact_resource, schema, decode, decode_old, defaults};
constexpr Step default_migration_steps[] = {exact_resource, schema, decode, defaults};
// Never refuses, so it reads the pod itself.
constexpr Step default_pod_steps[] = {defaults};
constexpr Step default_clone_steps[] = {resource, schema, decode, defaults};

constexpr string_view migration_kind = "VirtualMachineInstanceMigration";

// --- the table

constexpr std::array webhook_table = std::to_array<Webhook>({
    {.path = "/pod-eviction-validate",
     .name = "virt-launcher-eviction-interceptor.kubevirt.io",
     .group = core_group,
     .versions = v1,
     .subjects = evictions,
     .steps = evict_steps,
     .rules = eviction_rules},
    {.path = "/virtualmachineinstances-validate-create",
     .name = "virtualmachineinstances-create-validator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = instances,
     .operations = Operations::create,
     .steps = instance_steps,
     .schema = "VirtualMachineInstance",
     .rules = vmi_create_rules},
    {.path = "/virtualmachineinstances-validate-update",
     .name = "virtualmachineinstances-update-validator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = instances,
     .operations = Operations::update,
     .steps = instance_steps,
     .schema = "VirtualMachineInstance",
     .rules = vmi_update_rules},
    {.path = "/virtualmachines-validate",
     .name = "virtualmachine-validator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = machines,
     .steps = machine_steps,
     .schema = "VirtualMachine",
     .rules = vm_rules},
    {.path = "/virtualmachinereplicaset-validate",
     .name = "virtualmachinereplicaset-validator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = replica_sets,
     .steps = checked_first_steps,
     .schema = "VirtualMachineInstanceReplicaSet",
     .rules = replica_set_rules},
    {.path = "/virtualmachinepool-validate",
     .name = "virtualmachinepool-validator.kubevirt.io",
     .group = "pool.kubevirt.io",
     .versions = v1beta1,
     .subjects = pools,
     .steps = pool_steps,
     .schema = "VirtualMachinePool",
     .rules = pool_rules},
    {.path = "/vmipreset-validate",
     .name = "virtualmachinepreset-validator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = presets,
     .steps = checked_first_steps,
     .schema = "VirtualMachineInstancePreset",
     .rules = preset_rules},
    {.path = "/migration-validate-create",
     .name = "migration-create-validator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = migrations,
     .operations = Operations::create,
     .steps = decoded_first_steps,
     .schema = migration_kind,
     .rules = migration_create_rules},
    {.path = "/migration-validate-update",
     .name = "migration-update-validator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = migrations,
     .operations = Operations::update,
     .steps = migration_update_steps,
     .schema = migration_kind,
     .rules = migration_update_rules},
    {.path = "/virtualmachinesnapshots-validate",
     .name = "virtualmachinesnapshot-validator.snapshot.kubevirt.io",
     .group = snapshot,
     .versions = v1beta1,
     .subjects = snapshots,
     .steps = gated_steps,
     .gate = Gate::snapshot,
     .rules = snapshot_rules},
    {.path = "/virtualmachinerestores-validate",
     .name = "virtualmachinerestore-validator.snapshot.kubevirt.io",
     .group = snapshot,
     .versions = v1beta1,
     .subjects = restores,
     .steps = gated_steps,
     .gate = Gate::snapshot,
     .rules = restore_rules},
    {.path = "/virtualmachinebackups-validate",
     .name = "virtualmachinebackup-validator.backup.kubevirt.io",
     .group = backup,
     .versions = v1alpha1,
     .subjects = backups,
     .steps = backup_steps,
     .gate = Gate::incremental_backup,
     .rules = backup_rules},
    {.path = "/virtualmachinebackuptrackers-validate",
     .name = "virtualmachinebackuptracker-validator.backup.kubevirt.io",
     .group = backup,
     .versions = v1alpha1,
     .subjects = backup_trackers,
     .steps = tracker_steps,
     .gate = Gate::incremental_backup},
    {.path = "/virtualmachineexports-validate",
     .name = "virtualmachineexport-validator.export.kubevirt.io",
     .group = "export.kubevirt.io",
     .versions = v1,
     .subjects = exports,
     .steps = ungated_steps,
     .rules = export_rules},
    {.path = "/virtualmachineinstancetypes-validate",
     .name = "virtualmachineinstancetype-validator.instancetype.kubevirt.io",
     .group = instancetype,
     .versions = v1beta1,
     .subjects = instancetypes,
     .steps = sizing_steps,
     .schema = "virtualmachineinstancetypes",
     .rules = instancetype_rules},
    {.path = "/virtualmachineclusterinstancetypes-validate",
     .name = "virtualmachineclusterinstancetype-validator.instancetype.kubevirt.io",
     .group = instancetype,
     .versions = v1beta1,
     .subjects = cluster_instancetypes,
     .steps = sizing_steps,
     .schema = "virtualmachineclusterinstancetypes",
     .rules = instancetype_rules},
    {.path = "/virtualmachinepreferences-validate",
     .name = "virtualmachinepreference-validator.instancetype.kubevirt.io",
     .group = instancetype,
     .versions = v1beta1,
     .subjects = preferences,
     .steps = sizing_steps,
     .schema = "virtualmachinepreferences",
     .rules = preference_rules},
    {.path = "/virtualmachineclusterpreferences-validate",
     .name = "virtualmachineclusterpreference-validator.instancetype.kubevirt.io",
     .group = instancetype,
     .versions = v1beta1,
     .subjects = cluster_preferences,
     .steps = sizing_steps,
     .schema = "virtualmachineclusterpreferences",
     .rules = preference_rules},
    {.path = "/status-validate",
     .name = "kubevirt-crd-status-validator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = statuses,
     .steps = status_steps,
     .rules = status_rules},
    {.path = "/migration-policy-validate-create",
     .name = "migration-policy-validator.kubevirt.io",
     .group = "migrations.kubevirt.io",
     .versions = v1alpha1,
     .subjects = migration_policies,
     .steps = policy_steps,
     .rules = migration_policy_rules},
    {.path = "/vm-clone-validate-create",
     .name = "vm-clone-validator.kubevirt.io",
     .group = clone_group,
     .versions = v1beta1,
     .subjects = clones,
     .steps = gated_decoded_steps,
     .gate = Gate::snapshot,
     .rules = clone_rules},
    {.path = "/plugin-validate",
     .name = "plugin-validator.plugin.kubevirt.io",
     .group = "plugin.kubevirt.io",
     .versions = v1alpha1,
     .subjects = plugins,
     .steps = gated_decoded_steps,
     .gate = Gate::plugins,
     .rules = plugin_rules},
    {.path = "/virtualmachines-mutate",
     .name = "virtualmachines-mutator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = machines,
     .steps = default_machine_steps,
     .schema = "VirtualMachine",
     .rules = vm_matcher_rules,
     .complete = complete_vm},
    {.path = "/virtualmachineinstances-mutate",
     .name = "virtualmachineinstances-mutator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = instances,
     .steps = default_instance_steps,
     .schema = "VirtualMachineInstance",
     .complete = complete_vmi},
    {.path = "/migration-mutate-create",
     .name = "migrations-mutator.kubevirt.io",
     .group = kubevirt,
     .versions = v1alpha3_v1,
     .subjects = migrations,
     .operations = Operations::create,
     .steps = default_migration_steps,
     .schema = migration_kind,
     .complete = complete_migration},
    {.path = "/vm-clone-mutate-create",
     .name = "virtualmachineclones-mutator.kubevirt.io",
     .group = clone_group,
     .versions = v1beta1,
     .subjects = clones,
     .operations = Operations::create,
     .steps = default_clone_steps,
     .schema = "VirtualMachineClone",
     .complete = complete_clone},
    {.path = "/virt-launcher-pod-mutate",
     .name = "virt-launcher-pod-mutator.kubevirt.io",
     .group = core_group,
     .versions = v1,
     .subjects = pods,
     .operations = Operations::create,
     .steps = default_pod_steps,
     .complete = complete_launcher_pod,
     .selects = is_launcher_pod},
});

}  // namespace

std::span<const Webhook> webhooks() { return webhook_table; }

const Webhook* find_webhook(string_view path) {
  const auto* found = std::ranges::find(webhook_table, path, &Webhook::path);
  return found == webhook_table.end() ? nullptr : found;
}

const Subject* find_subject(const Webhook& webhook, string_view resource) {
  if (webhook.subjects.size() == 1) return webhook.subjects.data();
  auto found = std::ranges::find(webhook.subjects, resource, &Subject::resource);
  return found == webhook.subjects.end() ? nullptr : &*found;
}

}  // namespace vg::admission
