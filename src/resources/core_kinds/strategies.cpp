#include <algorithm>
#include <array>

#include "resources/core_kinds/kinds.h"

namespace vg::resources {

const Strategy* find_strategy(std::string_view group, std::string_view kind) {
  // Few rows, and the first comparison of most is one of lengths: nothing is won by sorting them.
  static constexpr std::array<const Strategy*, 19> table = {
      &core_kinds::pod_strategy,
      &core_kinds::event_strategy,
      &core_kinds::lease_strategy,
      &core_kinds::secret_strategy,
      &core_kinds::config_map_strategy,
      &core_kinds::claim_strategy,
      &core_kinds::node_strategy,
      &core_kinds::namespace_strategy,
      &core_kinds::service_strategy,
      &core_kinds::service_account_strategy,
      &core_kinds::resource_quota_strategy,
      &core_kinds::controller_revision_strategy,
      &core_kinds::priority_class_strategy,
      &core_kinds::storage_class_strategy,
      &core_kinds::role_strategy,
      &core_kinds::cluster_role_strategy,
      &core_kinds::role_binding_strategy,
      &core_kinds::cluster_role_binding_strategy,
      &core_kinds::crd_strategy,
  };
  const auto* const row = std::ranges::find_if(
      table, [&](const Strategy* strategy) { return strategy->kind == kind && strategy->group == group; });
  return row == table.end() ? nullptr : *row;
}

}  // namespace vg::resources
