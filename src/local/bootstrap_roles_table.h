// The tables. Names are facts of Kubernetes and KubeVirt; those of facts/rbac.json are generated
// (local/kubevirt_roles.h).
#pragma once

#include <string_view>

#include "local/bootstrap_roles_components.h"
#include "local/bootstrap_roles_rows.h"

namespace vg::local::tables {

inline constexpr std::string_view read = "get list watch";
inline constexpr std::string_view write = "create delete deletecollection patch update";
inline constexpr std::string_view read_write = "create delete deletecollection get list patch update watch";

inline constexpr RuleRow rules_cluster_admin[] = {
    {.verbs = "*", .groups = "*", .resources = "*"},
    {.verbs = "*", .urls = "*"},
};
inline constexpr RuleRow rules_system_aggregate_to_admin[] = {
    {.verbs = "create", .groups = "authorization.k8s.io", .resources = "localsubjectaccessreviews"},
    {.verbs = read_write, .groups = "rbac.authorization.k8s.io", .resources = "rolebindings roles"},
};
inline constexpr RuleRow rules_system_aggregate_to_edit[] = {
    {.verbs = read,
     .groups = "core",
     .resources = "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"},
    {.verbs = "impersonate", .groups = "core", .resources = "serviceaccounts"},
    {.verbs = write, .groups = "core", .resources = "pods pods/attach pods/exec pods/portforward pods/proxy"},
    {.verbs = "create", .groups = "core", .resources = "pods/eviction"},
    {.verbs = write,
     .groups = "core",
     .resources = "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale "
                  "secrets serviceaccounts services services/proxy"},
    {.verbs = "create", .groups = "core", .resources = "serviceaccounts/token"},
    {.verbs = write, .groups = "core events.k8s.io", .resources = "events"},
    {.verbs = write,
     .groups = "apps",
     .resources = "daemonsets deployments deployments/rollback deployments/scale replicasets "
                  "replicasets/scale statefulsets statefulsets/scale"},
    {.verbs = write, .groups = "autoscaling", .resources = "horizontalpodautoscalers"},
    {.verbs = write, .groups = "batch", .resources = "cronjobs jobs"},
    {.verbs = write,
     .groups = "extensions",
     .resources = "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies "
                  "replicasets replicasets/scale replicationcontrollers/scale"},
    {.verbs = write, .groups = "policy", .resources = "poddisruptionbudgets"},
    {.verbs = write, .groups = "networking.k8s.io", .resources = "ingresses networkpolicies"},
    {.verbs = read_write, .groups = "coordination.k8s.io", .resources = "leases"},
    {.verbs = write, .groups = "resource.k8s.io", .resources = "resourceclaims resourceclaimtemplates"},
};
inline constexpr RuleRow rules_system_aggregate_to_view[] = {
    {.verbs = read,
     .groups = "core",
     .resources = "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
                  "replicationcontrollers replicationcontrollers/scale serviceaccounts services "
                  "services/status"},
    {.verbs = read,
     .groups = "core",
     .resources = "bindings limitranges namespaces/status pods/log pods/status "
                  "replicationcontrollers/status resourcequotas resourcequotas/status"},
    {.verbs = read, .groups = "core", .resources = "namespaces"},
    {.verbs = read, .groups = "core events.k8s.io", .resources = "events"},
    {.verbs = read, .groups = "discovery.k8s.io", .resources = "endpointslices"},
    {.verbs = read,
     .groups = "apps",
     .resources = "controllerrevisions daemonsets daemonsets/status deployments deployments/scale "
                  "deployments/status replicasets replicasets/scale replicasets/status statefulsets "
                  "statefulsets/scale statefulsets/status"},
    {.verbs = read, .groups = "autoscaling", .resources = "horizontalpodautoscalers horizontalpodautoscalers/status"},
    {.verbs = read, .groups = "batch", .resources = "cronjobs cronjobs/status jobs jobs/status"},
    {.verbs = read,
     .groups = "extensions",
     .resources = "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
                  "ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
                  "replicationcontrollers/scale"},
    {.verbs = read, .groups = "policy", .resources = "poddisruptionbudgets poddisruptionbudgets/status"},
    {.verbs = read, .groups = "networking.k8s.io", .resources = "ingresses ingresses/status networkpolicies"},
    {.verbs = read,
     .groups = "resource.k8s.io",
     .resources = "resourceclaims resourceclaims/status resourceclaimtemplates"},
};
inline constexpr RuleRow rules_system_auth_delegator[] = {
    {.verbs = "create", .groups = "authentication.k8s.io", .resources = "tokenreviews"},
    {.verbs = "create", .groups = "authorization.k8s.io", .resources = "subjectaccessreviews"},
};
inline constexpr RuleRow rules_system_basic_user[] = {
    {.verbs = "create",
     .groups = "authorization.k8s.io",
     .resources = "selfsubjectaccessreviews selfsubjectrulesreviews"},
    {.verbs = "create", .groups = "authentication.k8s.io", .resources = "selfsubjectreviews"},
};
inline constexpr RuleRow rules_system_discovery[] = {
    {.verbs = "get",
     .urls = "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"},
};
inline constexpr RuleRow rules_system_monitoring[] = {
    {.verbs = "get",
     .urls = "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* "
             "/statusz"},
    {.verbs = "get", .groups = "core", .resources = "nodes/metrics"},
};
inline constexpr RuleRow rules_system_public_info_viewer[] = {
    {.verbs = "get", .urls = "/healthz /livez /readyz /version /version/"},
};
inline constexpr RuleRow rules_system_service_account_issuer_discovery[] = {
    {.verbs = "get",
     .urls = "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks "
             "/openid/v1/jwks/"},
};
// Which of them somebody sees follows from what they are about (src/journal/service.h).
inline constexpr RuleRow rules_virtgate_requests[] = {
    {.verbs = read, .groups = "trace.virtgate.io", .resources = "requests"},
};
inline constexpr RoleRow roles[] = {
    {.name = "virtgate:requests", .rules = rules_virtgate_requests},
    {.name = "admin", .gathers = "admin"},
    {.name = "cluster-admin", .rules = rules_cluster_admin},
    {.name = "edit", .aggregate_to = "admin", .gathers = "edit"},
    {.name = "system:aggregate-to-admin", .aggregate_to = "admin", .rules = rules_system_aggregate_to_admin},
    {.name = "system:aggregate-to-edit", .aggregate_to = "edit", .rules = rules_system_aggregate_to_edit},
    {.name = "system:aggregate-to-view", .aggregate_to = "view", .rules = rules_system_aggregate_to_view},
    {.name = "system:auth-delegator", .rules = rules_system_auth_delegator},
    {.name = "system:basic-user", .rules = rules_system_basic_user},
    {.name = "system:discovery", .rules = rules_system_discovery},
    {.name = "system:monitoring", .rules = rules_system_monitoring},
    {.name = "system:public-info-viewer", .rules = rules_system_public_info_viewer},
    {.name = "system:service-account-issuer-discovery", .rules = rules_system_service_account_issuer_discovery},
    {.name = "view", .aggregate_to = "edit", .gathers = "view"},
    {.name = "kubevirt-controller", .kubevirt = true, .rules = rules_kubevirt_controller},
    {.name = "kubevirt-controller", .ns = "kubevirt", .kubevirt = true, .rules = rules_kubevirt_controller_role},
    {.name = "kubevirt-handler", .kubevirt = true, .rules = rules_kubevirt_handler},
    {.name = "kubevirt-handler", .ns = "kubevirt", .kubevirt = true, .rules = rules_kubevirt_handler_role},
    {.name = "kubevirt-exportproxy", .kubevirt = true, .rules = rules_kubevirt_exportproxy},
    {.name = "kubevirt-exportproxy", .ns = "kubevirt", .kubevirt = true, .rules = rules_kubevirt_exportproxy_role},
    {.name = "kubevirt-synchronization-controller",
     .kubevirt = true,
     .rules = rules_kubevirt_synchronization_controller},
    {.name = "kubevirt-synchronization-controller",
     .ns = "kubevirt",
     .kubevirt = true,
     .rules = rules_kubevirt_synchronization_controller_role},
};
inline constexpr BindingRow bindings[] = {
    {.name = "virtgate:requests", .role = "virtgate:requests", .subjects = "group:system:authenticated"},
    {.name = "cluster-admin", .role = "cluster-admin", .subjects = "group:system:masters"},
    {.name = "system:basic-user", .role = "system:basic-user", .subjects = "group:system:authenticated"},
    {.name = "system:discovery", .role = "system:discovery", .subjects = "group:system:authenticated"},
    {.name = "system:monitoring", .role = "system:monitoring", .subjects = "group:system:monitoring"},
    {.name = "system:public-info-viewer",
     .role = "system:public-info-viewer",
     .subjects = "group:system:authenticated group:system:unauthenticated"},
    {.name = "system:service-account-issuer-discovery",
     .role = "system:service-account-issuer-discovery",
     .subjects = "group:system:serviceaccounts"},
    {.name = "kubevirt-controller",
     .kubevirt = true,
     .role = "kubevirt-controller",
     .subjects = "account:kubevirt-controller"},
    {.name = "kubevirt-controller",
     .ns = "kubevirt",
     .kubevirt = true,
     .role_kind = "Role",
     .role = "kubevirt-controller",
     .subjects = "account:kubevirt-controller"},
    {.name = "kubevirt-handler", .kubevirt = true, .role = "kubevirt-handler", .subjects = "account:kubevirt-handler"},
    {.name = "kubevirt-handler",
     .ns = "kubevirt",
     .kubevirt = true,
     .role_kind = "Role",
     .role = "kubevirt-handler",
     .subjects = "account:kubevirt-handler"},
    {.name = "kubevirt-exportproxy",
     .kubevirt = true,
     .role = "kubevirt-exportproxy",
     .subjects = "account:kubevirt-exportproxy"},
    {.name = "kubevirt-exportproxy",
     .ns = "kubevirt",
     .kubevirt = true,
     .role_kind = "Role",
     .role = "kubevirt-exportproxy",
     .subjects = "account:kubevirt-exportproxy"},
    {.name = "kubevirt-synchronization-controller",
     .kubevirt = true,
     .role = "kubevirt-synchronization-controller",
     .subjects = "account:kubevirt-synchronization-controller"},
    {.name = "kubevirt-synchronization-controller",
     .ns = "kubevirt",
     .kubevirt = true,
     .role_kind = "Role",
     .role = "kubevirt-synchronization-controller",
     .subjects = "account:kubevirt-synchronization-controller"},
};

// Of KubeVirt's other components, in its namespace. The operator's has no roles: this server keeps what an operator
// would.
inline constexpr std::string_view service_accounts[] = {
    "kubevirt-controller",
    "kubevirt-exportproxy",
    "kubevirt-handler",
    "kubevirt-operator",
    "kubevirt-synchronization-controller",
};

}  // namespace vg::local::tables
