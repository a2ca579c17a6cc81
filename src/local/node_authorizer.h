// What a node of this machine may do: see and change its own Node, its handler's Pod and the VMIs that are placed on it
// or move to it, read what those mount, report events, read the configuration. Nothing else, whatever roles say:
// whoever breaks out of a guest and takes over its node must not reach another node's guests.
//
// As the authorizer of nodes in Kubernetes this is a question to the graph of objects, asked of the store each time.
#pragma once

#include <functional>
#include <string_view>

#include "json/value.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"

namespace vg::local {

// What the graph knows.
struct NodeGraph {
  // The VMI is placed on the node, or is to move there.
  std::function<bool(std::string_view ns, std::string_view name)> has_vmi;
  // The VMI moved away from the node, which looks where it went before it clears up; or there is no such VMI any more.
  std::function<bool(std::string_view ns, std::string_view name)> had_vmi;
  // A VMI of the node in that namespace mounts such an object ("secrets", "configmaps", "persistentvolumeclaims",
  // "serviceaccounts", "network-attachment-definitions").
  std::function<bool(std::string_view resource, std::string_view ns, std::string_view name)> mounts;
};
AccessDecision decide_node(std::string_view node, const AccessAttributes& attributes, const NodeGraph& graph);

// Of one VMI, as it is stored.
bool is_on_node(const json::Object& vmi, std::string_view node);
bool moved_from_node(const json::Object& vmi, std::string_view node);
bool mounts(const json::Object& vmi, std::string_view resource, std::string_view name);

class NodeAuthorizer final : public Authorizer {
 public:
  // Both outlive this. `others` is asked for everybody who is no node.
  NodeAuthorizer(Authorizer& others, const ObjectStore& store) : others_(others), store_(store) {}
  Task<Result<AccessDecision>> authorize(Core& core, const User& user, const AccessAttributes& attributes) override;
  Task<void> settle(Core& core) override { return others_.settle(core); }

 private:
  Authorizer& others_;
  const ObjectStore& store_;
};

}  // namespace vg::local
