#include "admission/webhook.h"

#include <algorithm>
#include <array>

namespace vg::admission {
namespace {

using std::string_view;

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

constexpr bool validating = false, mutating = true;

constexpr std::array table = std::to_array<Webhook>({
    {"/pod-eviction-validate", "virt-launcher-eviction-interceptor.kubevirt.io", validating, core_group, v1, evictions},
    {"/virtualmachineinstances-validate-create", "virtualmachineinstances-create-validator.kubevirt.io", validating,
     kubevirt, v1alpha3_v1, instances},
    {"/virtualmachineinstances-validate-update", "virtualmachineinstances-update-validator.kubevirt.io", validating,
     kubevirt, v1alpha3_v1, instances},
    {"/virtualmachines-validate", "virtualmachine-validator.kubevirt.io", validating, kubevirt, v1alpha3_v1, machines},
    {"/virtualmachinereplicaset-validate", "virtualmachinereplicaset-validator.kubevirt.io", validating, kubevirt,
     v1alpha3_v1, replica_sets},
    {"/virtualmachinepool-validate", "virtualmachinepool-validator.kubevirt.io", validating, "pool.kubevirt.io",
     v1beta1, pools},
    {"/vmipreset-validate", "virtualmachinepreset-validator.kubevirt.io", validating, kubevirt, v1alpha3_v1, presets},
    {"/migration-validate-create", "migration-create-validator.kubevirt.io", validating, kubevirt, v1alpha3_v1,
     migrations},
    {"/migration-validate-update", "migration-update-validator.kubevirt.io", validating, kubevirt, v1alpha3_v1,
     migrations},
    {"/virtualmachinesnapshots-validate", "virtualmachinesnapshot-validator.snapshot.kubevirt.io", validating, snapshot,
     v1beta1, snapshots},
    {"/virtualmachinerestores-validate", "virtualmachinerestore-validator.snapshot.kubevirt.io", validating, snapshot,
     v1beta1, restores},
    {"/virtualmachinebackups-validate", "virtualmachinebackup-validator.backup.kubevirt.io", validating, backup,
     v1alpha1, backups},
    {"/virtualmachinebackuptrackers-validate", "virtualmachinebackuptracker-validator.backup.kubevirt.io", validating,
     backup, v1alpha1, backup_trackers},
    {"/virtualmachineexports-validate", "virtualmachineexport-validator.export.kubevirt.io", validating,
     "export.kubevirt.io", v1, exports},
    {"/virtualmachineinstancetypes-validate", "virtualmachineinstancetype-validator.instancetype.kubevirt.io",
     validating, instancetype, v1beta1, instancetypes},
    {"/virtualmachineclusterinstancetypes-validate",
     "virtualmachineclusterinstancetype-validator.instancetype.kubevirt.io", validating, instancetype, v1beta1,
     cluster_instancetypes},
    {"/virtualmachinepreferences-validate", "virtualmachinepreference-validator.instancetype.kubevirt.io", validating,
     instancetype, v1beta1, preferences},
    {"/virtualmachineclusterpreferences-validate", "virtualmachineclusterpreference-validator.instancetype.kubevirt.io",
     validating, instancetype, v1beta1, cluster_preferences},
    {"/status-validate", "kubevirt-crd-status-validator.kubevirt.io", validating, kubevirt, v1alpha3_v1, statuses},
    {"/migration-policy-validate-create", "migration-policy-validator.kubevirt.io", validating,
     "migrations.kubevirt.io", v1alpha1, migration_policies},
    {"/vm-clone-validate-create", "vm-clone-validator.kubevirt.io", validating, clone_group, v1beta1, clones},
    {"/plugin-validate", "plugin-validator.plugin.kubevirt.io", validating, "plugin.kubevirt.io", v1alpha1, plugins},
    {"/virtualmachines-mutate", "virtualmachines-mutator.kubevirt.io", mutating, kubevirt, v1alpha3_v1, machines},
    {"/virtualmachineinstances-mutate", "virtualmachineinstances-mutator.kubevirt.io", mutating, kubevirt, v1alpha3_v1,
     instances},
    {"/migration-mutate-create", "migrations-mutator.kubevirt.io", mutating, kubevirt, v1alpha3_v1, migrations},
    {"/vm-clone-mutate-create", "virtualmachineclones-mutator.kubevirt.io", mutating, clone_group, v1beta1, clones},
    {"/virt-launcher-pod-mutate", "virt-launcher-pod-mutator.kubevirt.io", mutating, core_group, v1, pods},
});

}  // namespace

std::span<const Webhook> webhooks() { return table; }

const Webhook* find_webhook(string_view path) {
  const auto* found = std::ranges::find(table, path, &Webhook::path);
  return found == table.end() ? nullptr : found;
}

const Subject* find_subject(const Webhook& webhook, string_view resource) {
  if (webhook.subjects.size() == 1) return webhook.subjects.data();
  auto found = std::ranges::find(webhook.subjects, resource, &Subject::resource);
  return found == webhook.subjects.end() ? nullptr : &*found;
}

}  // namespace vg::admission
