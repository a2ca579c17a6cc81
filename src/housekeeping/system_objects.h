// The objects that a cluster's control plane keeps in every namespace and in two of its own, and that clients count on:
// kube-apiserver's service and what it says of its authorities, kube-controller-manager's default service account and
// root certificate. One table; what is missing is made, what says something else is mended.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "objects/planned_writes.h"
#include "ports/object_store.h"

namespace vg::resources {

// Where the handler of a node of this machine serves.
struct HandlerPlace {
  std::string node, address;
};

struct SystemFacts {
  std::string ca_bundle;   // PEM: who signed this server's certificate and those of its clients
  std::string address;     // of this server, numeric
  std::uint16_t port = 0;  // likewise
  // Front proxies that are believed; no authorities: none are, and nothing is said of them.
  std::string proxy_ca_bundle = {};
  std::vector<std::string> proxy_names = {};
  // Actions find a node by the pod of its handler. Not the node's own to write: one that was taken over would answer
  // for others.
  std::vector<HandlerPlace> handlers = {};
  bool own_place_only = false;  // another control plane keeps all but what says where this server is
};

struct SystemObject {
  std::string_view resource;  // key in the store. A kind that is not served has no object
  std::string_view ns;        // empty: every namespace
  std::string_view name;
  std::string_view manager;  // who writes it, as own_writes.h names them
  json::Object (*make)(const SystemFacts& facts) = nullptr;
  // Brings an object that is there to what it must say and leaves the rest; true when that changed something. Null:
  // whatever it says is right.
  bool (*mend)(json::Object& object, const SystemFacts& facts) = nullptr;
  bool own_place = false;  // says where this server is, which nobody else can know
};
std::span<const SystemObject> system_objects();

std::string handler_pod_name(std::string_view node);

// What is to be written in this namespace, which is there and not on its way out.
void plan_system_objects(PlannedWrites& writes, std::string_view ns, const SystemFacts& facts);

}  // namespace vg::resources
