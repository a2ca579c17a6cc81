#include <algorithm>
#include <array>

#include "objects/core_kinds/kinds.h"

namespace vg::resources {

const Strategy* find_strategy(std::string_view group, std::string_view kind) {
  // Few rows, and the first comparison of most is one of lengths: nothing is won by sorting them.
  static constexpr std::array<const Strategy*, 53> table = {
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
      &core_kinds::deployment_strategy,
      &core_kinds::replica_set_strategy,
      &core_kinds::stateful_set_strategy,
      &core_kinds::daemon_set_strategy,
      &core_kinds::replication_controller_strategy,
      &core_kinds::pod_template_strategy,
      &core_kinds::job_strategy,
      &core_kinds::cron_job_strategy,
      &core_kinds::disruption_budget_strategy,
      &core_kinds::ingress_strategy,
      &core_kinds::ingress_class_strategy,
      &core_kinds::network_policy_strategy,
      &core_kinds::ip_address_strategy,
      &core_kinds::service_cidr_strategy,
      &core_kinds::endpoints_strategy,
      &core_kinds::endpoint_slice_strategy,
      &core_kinds::volume_strategy,
      &core_kinds::csi_driver_strategy,
      &core_kinds::csi_node_strategy,
      &core_kinds::volume_attachment_strategy,
      &core_kinds::storage_capacity_strategy,
      &core_kinds::attributes_class_strategy,
      &core_kinds::autoscaler_strategy,
      &core_kinds::limit_range_strategy,
      &core_kinds::certificate_request_strategy,
      &core_kinds::runtime_class_strategy,
      &core_kinds::device_claim_strategy,
      &core_kinds::device_claim_template_strategy,
      &core_kinds::device_class_strategy,
      &core_kinds::resource_slice_strategy,
      &core_kinds::admission_policy_strategy,
      &core_kinds::admission_policy_binding_strategy,
      &core_kinds::flow_schema_strategy,
      &core_kinds::priority_level_strategy,
  };
  const auto* const row = std::ranges::find_if(
      table, [&](const Strategy* strategy) { return strategy->kind == kind && strategy->group == group; });
  return row == table.end() ? nullptr : *row;
}

}  // namespace vg::resources
