// The roles that every server has: Kubernetes' own for its users, and KubeVirt's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"
#include "local/rbac.h"
#include "ports/object_store.h"

namespace vg::local {

struct DefaultObject {
  std::string_view resource;  // as in ObjectKey
  std::string ns, name;
  json::Object object;  // kind, apiVersion, metadata, and what the kind has; neither uid nor times
};
// Cluster roles and their bindings, the roles, bindings and service accounts of KubeVirt's components in its namespace.
std::vector<DefaultObject> default_roles();

enum class RoleWriter : std::uint8_t {
  kubernetes,   // roles that every cluster has
  kubevirt,     // KubeVirt's own
  aggregation,  // rules that are gathered from other roles
};
struct RoleDraft {
  std::string_view resource;  // as in ObjectKey
  const json::Object& object;
  const StoredObject* existing = nullptr;  // null: it is new
  RoleWriter writer = RoleWriter::kubernetes;
};
// How an object becomes what the store keeps: its layout, and who owns its fields, is up to those who read the store.
using MakeDraft = std::function<ObjectDraft(const RoleDraft& wanted)>;

// The writes that bring the store's roles to what they should be: creates what is missing; to roles and bindings that
// exist it adds missing rules, selectors, subjects, labels and annotations, and never takes anything away. What says
// rbac.authorization.kubernetes.io/autoupdate: "false" is left alone.
std::vector<Write> plan_default_roles(const ObjectStore& store, const Clock& clock, const MakeDraft& make_draft);

// Writes the gathered rules into the stored ClusterRoles where they are out of date, so that clients see them. For a
// small controller; decisions do not wait for it.
std::vector<Write> plan_aggregations(const ObjectStore& store, const Rbac& rbac, const MakeDraft& make_draft);

// Both, at a start: waits until the store has them.
Result<void> bootstrap_roles(ObjectStore& store, const Clock& clock, const MakeDraft& make_draft);

}  // namespace vg::local
