// Phrases of messages that programs look for. They are interface, as codes and reasons are: word for word what
// kube-apiserver says, and written nowhere else. A message has its phrase first and our advice behind it.
//
// Who looks for what, as far as it is known: kubectl, client-go and Kubernetes' own tests ("could not find the
// requested resource", "Unauthorized", "strict decoding error", "object is being deleted", "denied the request"),
// controllers and installers that try again or replace an object ("the object has been modified", "field is immutable",
// "must be specified for an update", "is being terminated", "too old resource version", "Too large resource version"),
// KubeVirt's components and virtctl ("exceeded quota", "already exists", "jsonpatch test operation does not apply", and
// the states of VMs and VMIs), Ansible's collection ("name or generateName is required", "cannot impersonate
// resource").
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::phrases {

inline constexpr std::string_view path_not_served = "the server could not find the requested resource";
inline constexpr std::string_view method_not_allowed =
    "the server does not allow this method on the requested resource";
inline constexpr std::string_view unauthorized = "Unauthorized";
inline constexpr std::string_view too_many_requests = "too many requests";
inline constexpr std::string_view object_modified = "the object has been modified";
inline constexpr std::string_view object_being_deleted = "object is being deleted";
inline constexpr std::string_view version_too_old = "too old resource version";
inline constexpr std::string_view version_too_large = "Too large resource version";
inline constexpr std::string_view field_immutable = "field is immutable";
inline constexpr std::string_view role_ref_fixed = "cannot change roleRef";
inline constexpr std::string_view version_required = "must be specified for an update";
inline constexpr std::string_view name_required = "name or generateName is required";
inline constexpr std::string_view strict_decoding_error = "strict decoding error";
inline constexpr std::string_view patch_test_failed = "jsonpatch test operation does not apply";

// States of a VM or VMI that forbid an action; they begin the reason of a conflict.
inline constexpr std::string_view vm_running = "VM is already running";
inline constexpr std::string_view vm_not_running = "VM is not running";
inline constexpr std::string_view vm_recovery_required = "VM recovery required";
inline constexpr std::string_view vmi_not_running = "VMI is not running";
inline constexpr std::string_view vmi_paused = "VMI is paused";
inline constexpr std::string_view vmi_not_paused = "VMI is not paused";

// "virtualmachines.kubevirt.io", or "pods" for the core group.
std::string qualified(std::string_view group, std::string_view resource);

// `RESOURCE "NAME" not found`, and so on. Advice follows behind a semicolon, or a colon where a reason is due.
std::string not_found(std::string_view group, std::string_view resource, std::string_view name);
std::string already_exists(std::string_view group, std::string_view resource, std::string_view name);
// `RESOURCE "NAME" is forbidden: WHY`; without a resource `forbidden: WHY`, without a name `RESOURCE is forbidden:
// WHY`.
std::string forbidden(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);
// `Operation cannot be fulfilled on RESOURCE "NAME": WHY`.
std::string conflict(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);
// "the object has been modified (now at 568, you sent 3); ...": the WHY of a conflict.
std::string modified(std::string_view now_at, std::string_view sent);
// The WHY of a conflict where the object of that name is another one than was meant.
std::string another_uid(std::string_view now, std::string_view sent);
// `unable to create new content in namespace NS because it is being terminated`: the WHY of a refusal.
std::string namespace_terminating(std::string_view ns);
// `exceeded quota: NAME, requested: a=1, used: a=3, limited: a=3`: the WHY of a refusal.
std::string exceeded_quota(std::string_view quota, std::string_view requested, std::string_view used,
                           std::string_view limited);
// `too old resource version: 3 (568)`; `Too large resource version: 568, current: 3`.
std::string too_old_version(std::string_view asked, std::string_view oldest);
std::string too_large_version(std::string_view asked, std::string_view newest);
// `admission webhook "NAME" denied the request: WHY`.
std::string denied(std::string_view webhook, std::string_view why);
// `ValidatingAdmissionPolicy 'NAME' with binding 'BINDING' denied request: WHY`; an empty binding is left out.
std::string denied_by_policy(std::string_view policy, std::string_view binding, std::string_view why);
// `Validation failed for ValidatingAdmissionPolicy 'NAME' with binding 'BINDING': WHY`: a warning.
std::string policy_warning(std::string_view policy, std::string_view binding, std::string_view why);
// What is wrong with an expression of a policy, as the reference implementation of CEL says it: `found no matching
// overload for 'FUNCTION' applied to '(int, string)'`, `undeclared reference to 'NAME'`, `undefined field 'NAME'`.
std::string no_overload(std::string_view function, std::string_view arguments);
std::string undeclared(std::string_view name);
std::string undefined_field(std::string_view name);
// `no such key: NAME`, `no such overload`, and so on: what a policy's expression comes to.
inline constexpr std::string_view no_such_key = "no such key";
inline constexpr std::string_view no_such_overload = "no such overload";
inline constexpr std::string_view out_of_budget = "validation failed due to running out of cost budget";

// "Required value" for FieldValueRequired, and so on; empty for causes that are not about the value of a field.
std::string_view type_word(std::string_view cause_reason);
// What a rule says whose reason, upstream's, gives another type word than fits: "Required value: WHY", "Forbidden:
// WHY".
std::string missing(std::string_view why);
std::string not_permitted(std::string_view why);
// "FIELD: Required value: WHY", where the cause must point elsewhere.
std::string missing_field(std::string_view field, std::string_view why);
// "field is immutable; ADVICE".
std::string immutable(std::string_view advice);
// "updates to MEMBER are forbidden."
std::string updates_forbidden(std::string_view member);
// The message of a cause: its type word, and what the rule has to say behind it. A rule that begins with a type word
// itself has chosen a better one than its reason, which is upstream's, would give.
std::string cause_message(std::string_view reason, std::string_view detail);
// `FIELD: MESSAGE`, or the message alone when there is no field or the message names a neighbouring field by itself.
std::string with_field(std::string_view field, std::string_view message);
// `"Foo": supported values: Role, ClusterRole`: the detail of FieldValueNotSupported. `value` is printed as it is.
std::string unsupported(std::string_view printed_value, std::string_view supported);

}  // namespace vg::phrases
