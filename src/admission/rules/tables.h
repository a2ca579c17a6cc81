// The tables of rules, one for each subject.
#pragma once

#include <span>

#include "admission/rule.h"

namespace vg::admission {

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

}  // namespace vg::admission
