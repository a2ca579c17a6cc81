// What is particular to each of Kubernetes' own kinds, one row a kind; find_strategy() puts them into its table.
//
// The facts (defaults, fields and reasons of causes, what an update may change) are those of kube-apiserver 1.35; where
// a place of a cause looks odd, it is odd there too, and clients compare it. The words of the messages are ours.
//
// Every function reads objects in canonical form: members have their types, required texts are there, and what is
// absent is empty. Nothing here looks anything up, so what Kubernetes allocates (cluster addresses, node ports) or
// takes from other objects (the default storage class, the value of a priority class) stays as it was sent.
#pragma once

#include "objects/strategy.h"

namespace vg::resources::core_kinds {

extern const Strategy namespace_strategy;
extern const Strategy node_strategy;
extern const Strategy pod_strategy;
extern const Strategy secret_strategy;
extern const Strategy config_map_strategy;
extern const Strategy service_strategy;
extern const Strategy service_account_strategy;
extern const Strategy claim_strategy;
extern const Strategy event_strategy;
extern const Strategy resource_quota_strategy;
extern const Strategy controller_revision_strategy;
extern const Strategy priority_class_strategy;
extern const Strategy storage_class_strategy;
extern const Strategy role_strategy;
extern const Strategy cluster_role_strategy;
extern const Strategy role_binding_strategy;
extern const Strategy cluster_role_binding_strategy;
extern const Strategy crd_strategy;
extern const Strategy lease_strategy;
extern const Strategy deployment_strategy;
extern const Strategy replica_set_strategy;
extern const Strategy stateful_set_strategy;
extern const Strategy daemon_set_strategy;
extern const Strategy replication_controller_strategy;
extern const Strategy pod_template_strategy;
extern const Strategy job_strategy;
extern const Strategy cron_job_strategy;
extern const Strategy disruption_budget_strategy;
extern const Strategy ingress_strategy;
extern const Strategy ingress_class_strategy;
extern const Strategy network_policy_strategy;
extern const Strategy ip_address_strategy;
extern const Strategy service_cidr_strategy;
extern const Strategy endpoints_strategy;
extern const Strategy endpoint_slice_strategy;
extern const Strategy volume_strategy;
extern const Strategy csi_driver_strategy;
extern const Strategy csi_node_strategy;
extern const Strategy volume_attachment_strategy;
extern const Strategy storage_capacity_strategy;
extern const Strategy attributes_class_strategy;
extern const Strategy autoscaler_strategy;
extern const Strategy limit_range_strategy;
extern const Strategy certificate_request_strategy;
extern const Strategy runtime_class_strategy;
extern const Strategy device_claim_strategy;
extern const Strategy device_claim_template_strategy;
extern const Strategy device_class_strategy;
extern const Strategy resource_slice_strategy;
extern const Strategy flow_schema_strategy;
extern const Strategy priority_level_strategy;
extern const Strategy admission_policy_strategy;
extern const Strategy admission_policy_binding_strategy;

}  // namespace vg::resources::core_kinds
