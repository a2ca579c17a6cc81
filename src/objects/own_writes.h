// Objects that this server writes by itself: under which names, and how their fields get owners.
#pragma once

#include <string_view>

#include "catalog/catalog.h"
#include "json/value.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"

namespace vg::resources {

// Who would write in a cluster.
namespace own_writers {
inline constexpr std::string_view kube_apiserver = "kube-apiserver";
inline constexpr std::string_view controller_manager = "kube-controller-manager";
inline constexpr std::string_view role_aggregation = "clusterrole-aggregation-controller";  // applies
inline constexpr std::string_view virt_api = "virt-api";
inline constexpr std::string_view virt_operator = "virt-operator";
}  // namespace own_writers

// The account under which virt-api writes in a cluster; `ns` is where KubeVirt is installed.
User virt_api_account(std::string_view ns);

struct OwnWriter {
  std::string_view manager;
  std::string_view subresource;
  std::string_view now;  // RFC 3339
};

// Puts into `object`, which is complete, who owns its fields after it was made of `old`; null: it is new.
void note_own_write(json::Value& object, const json::Value* old, const Resource& resource, const OwnWriter& writer);

// Puts into a stored object what `fields` says, as an apply by force would.
void apply_own_fields(json::Value& object, const json::Object& fields, const Resource& resource,
                      const OwnWriter& writer);

}  // namespace vg::resources
