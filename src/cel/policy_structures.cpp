#include "cel/structures.h"

namespace vg::cel {
namespace {

// Those without members belong to libraries: their values are made and asked by functions alone.
// clang-format off
constexpr Structure policy_structure_rows[] = {
    {"kubernetes.AdmissionRequest",
     "Kind:GroupVersionKind Resource:GroupVersionResource SubResource:string RequestKind:GroupVersionKind "
     "RequestResource:GroupVersionResource RequestSubResource:string Name:string Namespace:string Operation:string "
     "UserInfo:UserInfo DryRun:bool Options:dyn"},
    {"kubernetes.GroupVersionKind", "Group:string Version:string Kind:string"},
    {"kubernetes.GroupVersionResource", "Group:string Version:string Resource:string"},
    {"kubernetes.NamedFormat", ""},
    {"kubernetes.Namespace", "Metadata:NamespaceMetadata Spec:NamespaceSpec Status:NamespaceStatus"},
    {"kubernetes.NamespaceCondition",
     "Status:string Type:string LastTransitionTime:timestamp Message:string Reason:string"},
    {"kubernetes.NamespaceMetadata",
     "Name:string GenerateName:string Namespace:string Labels:map[string]string Annotations:map[string]string "
     "UID/UID:string CreationTimestamp:timestamp DeletionGracePeriodSeconds:int DeletionTimestamp:timestamp "
     "Generation:int ResourceVersion:string Finalizers:[]string"},
    {"kubernetes.NamespaceSpec", "Finalizers:[]string"},
    {"kubernetes.NamespaceStatus", "Conditions:[]NamespaceCondition Phase:string"},
    {"kubernetes.Quantity", ""},
    {"kubernetes.Semver", ""},
    {"kubernetes.URL", ""},
    {"kubernetes.UserInfo", "Username:string Uid:string Groups:[]string Extra:map[string][]string"},
    {"kubernetes.authorization.Authorizer", ""},
    {"kubernetes.authorization.Decision", ""},
    {"kubernetes.authorization.GroupCheck", ""},
    {"kubernetes.authorization.PathCheck", ""},
    {"kubernetes.authorization.ResourceCheck", ""},
    {"kubernetes.variables", ""},
    {"net.CIDR", ""},
    {"net.IP", ""},
};
// clang-format on

}  // namespace

std::span<const Structure> policy_structures() { return policy_structure_rows; }

}  // namespace vg::cel
