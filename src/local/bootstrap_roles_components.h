// Rules of KubeVirt's components, as its operator gives them to their accounts. Names are facts of KubeVirt.
#pragma once

#include "local/bootstrap_roles_rows.h"

namespace vg::local::tables {

inline constexpr RuleRow rules_kubevirt_controller[] = {
    {.verbs = "get list watch patch", .groups = "core", .resources = "namespaces"},
    {.verbs = "get list watch delete create patch", .groups = "policy", .resources = "poddisruptionbudgets"},
    {.verbs = "get list watch delete update create patch",
     .groups = "core",
     .resources = "pods configmaps endpoints services"},
    {.verbs = "update create patch", .groups = "core", .resources = "events"},
    {.verbs = "create", .groups = "core", .resources = "secrets"},
    {.verbs = "update", .groups = "core", .resources = "pods/finalizers"},
    {.verbs = "create", .groups = "core", .resources = "pods/eviction"},
    {.verbs = "patch", .groups = "core", .resources = "pods/status"},
    {.verbs = "get list watch update patch", .groups = "core", .resources = "nodes"},
    {.verbs = "list", .groups = "apps", .resources = "daemonsets"},
    {.verbs = "watch list create delete get update", .groups = "apps", .resources = "controllerrevisions"},
    {.verbs = "get list watch create update delete patch", .groups = "core", .resources = "persistentvolumeclaims"},
    {.verbs = "get list watch create update delete patch",
     .groups = "snapshot.kubevirt.io",
     .resources = "virtualmachinesnapshots virtualmachinesnapshots/status virtualmachinesnapshots/finalizers "
                  "virtualmachinesnapshotcontents virtualmachinesnapshotcontents/status "
                  "virtualmachinesnapshotcontents/finalizers virtualmachinerestores virtualmachinerestores/status"},
    {.verbs = "get list watch create update delete patch",
     .groups = "export.kubevirt.io",
     .resources = "virtualmachineexports virtualmachineexports/status virtualmachineexports/finalizers"},
    {.verbs = "get list watch create update delete patch",
     .groups = "backup.kubevirt.io",
     .resources = "virtualmachinebackups virtualmachinebackups/status virtualmachinebackups/finalizers"},
    {.verbs = "get list watch create update delete patch",
     .groups = "backup.kubevirt.io",
     .resources = "virtualmachinebackuptrackers virtualmachinebackuptrackers/status"},
    {.verbs = "get list watch", .groups = "template.kubevirt.io", .resources = "virtualmachinetemplates"},
    {.verbs = "watch list create delete update patch get",
     .groups = "pool.kubevirt.io",
     .resources =
         "virtualmachinepools virtualmachinepools/finalizers virtualmachinepools/status virtualmachinepools/scale"},
    {.verbs = "*", .groups = "kubevirt.io", .resources = "*"},
    {.verbs = "update",
     .groups = "kubevirt.io",
     .resources = "virtualmachines/finalizers virtualmachineinstances/finalizers"},
    {.verbs = "update",
     .groups = "subresources.kubevirt.io",
     .resources =
         "virtualmachines/stop virtualmachineinstances/addvolume virtualmachineinstances/removevolume "
         "virtualmachineinstances/backup virtualmachineinstances/redefine-checkpoint virtualmachineinstances/freeze "
         "virtualmachineinstances/unfreeze virtualmachineinstances/reset virtualmachineinstances/softreboot "
         "virtualmachineinstances/sev/setupsession virtualmachineinstances/sev/injectlaunchsecret"},
    {.verbs = "*", .groups = "cdi.kubevirt.io", .resources = "*"},
    {.verbs = "get list watch", .groups = "apiextensions.k8s.io", .resources = "customresourcedefinitions"},
    {.verbs = "create", .groups = "authorization.k8s.io", .resources = "subjectaccessreviews"},
    {.verbs = "get list watch", .groups = "snapshot.storage.k8s.io", .resources = "volumesnapshotclasses"},
    {.verbs = "get list watch create update delete",
     .groups = "snapshot.storage.k8s.io",
     .resources = "volumesnapshots"},
    {.verbs = "get list watch", .groups = "storage.k8s.io", .resources = "storageclasses"},
    {.verbs = "get list watch",
     .groups = "instancetype.kubevirt.io",
     .resources = "virtualmachineinstancetypes virtualmachineclusterinstancetypes virtualmachinepreferences "
                  "virtualmachineclusterpreferences"},
    {.verbs = "get list watch", .groups = "migrations.kubevirt.io", .resources = "migrationpolicies"},
    {.verbs = "get list watch update patch delete",
     .groups = "clone.kubevirt.io",
     .resources = "virtualmachineclones virtualmachineclones/status virtualmachineclones/finalizers"},
    {.verbs = "get", .groups = "core", .resources = "namespaces"},
    {.verbs = "list watch", .groups = "core", .resources = "resourcequotas"},
    {.verbs = "create get delete", .groups = "batch", .resources = "jobs"},
    {.verbs = "list watch get", .groups = "resource.k8s.io", .resources = "resourceslices resourceclaims"},
    {.verbs = "get", .groups = "k8s.cni.cncf.io", .resources = "network-attachment-definitions"},
};
inline constexpr RuleRow rules_kubevirt_controller_role[] = {
    {.verbs = "list get watch", .groups = "route.openshift.io", .resources = "routes"},
    {.verbs = "list get watch", .groups = "core", .resources = "secrets"},
    {.verbs = "list get watch", .groups = "networking.k8s.io", .resources = "ingresses"},
    {.verbs = "get list watch delete update create patch", .groups = "coordination.k8s.io", .resources = "leases"},
};
inline constexpr RuleRow rules_kubevirt_handler[] = {
    {.verbs = "update list watch", .groups = "kubevirt.io", .resources = "virtualmachineinstances"},
    {.verbs = "patch list watch get", .groups = "core", .resources = "nodes"},
    {.verbs = "get list watch", .groups = "core", .resources = "configmaps"},
    {.verbs = "create patch", .groups = "core", .resources = "events"},
    {.verbs = "get list watch", .groups = "apiextensions.k8s.io", .resources = "customresourcedefinitions"},
    {.verbs = "get list watch", .groups = "kubevirt.io", .resources = "kubevirts"},
    {.verbs = "get list watch", .groups = "migrations.kubevirt.io", .resources = "migrationpolicies"},
    {.verbs = "list watch patch",
     .groups = "backup.kubevirt.io",
     .resources = "virtualmachinebackuptrackers virtualmachinebackuptrackers/status"},
    {.verbs = "get list watch", .groups = "plugin.kubevirt.io", .resources = "plugins"},
};
inline constexpr RuleRow rules_kubevirt_handler_role[] = {
    {.verbs = "get list watch", .groups = "core", .resources = "configmaps"},
};
inline constexpr RuleRow rules_kubevirt_exportproxy[] = {
    {.verbs = "get list watch", .groups = "export.kubevirt.io", .resources = "virtualmachineexports"},
    {.verbs = "list watch", .groups = "kubevirt.io", .resources = "kubevirts"},
};
inline constexpr RuleRow rules_kubevirt_exportproxy_role[] = {
    {.verbs = "get list watch", .groups = "core", .resources = "configmaps", .names = "kubevirt-export-ca"},
};
inline constexpr RuleRow rules_kubevirt_synchronization_controller[] = {
    {.verbs = "get list watch update patch", .groups = "kubevirt.io", .resources = "virtualmachineinstances"},
    {.verbs = "get list watch patch delete", .groups = "kubevirt.io", .resources = "virtualmachineinstancemigrations"},
    {.verbs = "get list watch", .groups = "kubevirt.io", .resources = "kubevirts"},
    {.verbs = "update create patch", .groups = "core", .resources = "events"},
    {.verbs = "get list watch", .groups = "apiextensions.k8s.io", .resources = "customresourcedefinitions"},
};
inline constexpr RuleRow rules_kubevirt_synchronization_controller_role[] = {
    {.verbs = "get list watch", .groups = "core", .resources = "configmaps", .names = "kubevirt-ca"},
    {.verbs = "get list watch delete update create patch", .groups = "coordination.k8s.io", .resources = "leases"},
};

}  // namespace vg::local::tables
