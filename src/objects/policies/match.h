// Which requests a policy or binding is about (Kubernetes' MatchResources). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "json/value.h"
#include "objects/policies/policy.h"

namespace vg::resources::policies {

// A resource as a rule names it.
struct ResourceName {
  std::string_view group, version;
  const Resource* resource = nullptr;
  std::string_view plural() const { return resource->plural(); }
};

// The write that is judged.
struct Subject {
  std::string_view operation;  // CREATE, UPDATE, DELETE
  const Resource& resource;    // what is stored
  ResourceName requested;      // as the client named it
  std::string_view subresource, ns, name;
  // Of the body, where it is not the object itself: an Eviction, a Binding, a Scale.
  std::string_view body_group = {}, body_version = {}, body_kind = {};
  const json::Value* object = nullptr;      // null: none
  const json::Value* old_object = nullptr;  // null: none
  const json::Object* options = nullptr;    // of the request
  bool dry_run = false;

  bool of_namespace() const { return resource.key == "namespaces"; }
};

// Kinds with which a policy could lock everybody out of changing policies.
bool is_exempt(const Subject& subject);

// The labels of the namespace that the request is about are asked for only where a selector needs them; null: there is
// no such namespace.
struct NamespaceLabels {
  virtual ~NamespaceLabels() = default;
  virtual const json::Object* labels() = 0;
};

struct Match {
  bool matches = false;
  std::optional<std::string> problem = {};  // it would match, but for this
  ResourceName as = {};                     // the form of the resource that a rule named
};

Match match(const MatchResources& wanted, const Subject& subject, NamespaceLabels& ns);

}  // namespace vg::resources::policies
