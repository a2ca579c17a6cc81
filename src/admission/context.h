// What rules and defaults are given beside the review. Everything that could differ from one call to the next is in
// here, so that they stay pure: the same case gives the same verdict.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/review.h"
#include "admission/webhook.h"
#include "base/clock.h"
#include "base/status.h"
#include "config/cluster_config.h"
#include "json/value.h"

namespace vg::admission {

// Reading other objects. Resources are named as in the store: "kubevirt.io/virtualmachines", "pods",
// "cdi.kubevirt.io/datasources". Values are made in `storage` and are nobody else's. A failure means that the answer
// is not known: most rules then refuse with Verdict::error. Lists have a limit (limits::lookup_list_bytes_max).
class Lookups {
 public:
  virtual ~Lookups() = default;
  // Null when there is none of that name. `ns` is empty for objects of the whole cluster.
  virtual Result<json::Value*> get(std::string_view resource, std::string_view ns, std::string_view name,
                                   const json::StoragePtr& storage) const = 0;
  // All in that namespace, by name; an empty `ns` means all namespaces.
  virtual Result<std::vector<json::Value*>> list(std::string_view resource, std::string_view ns,
                                                 const json::StoragePtr& storage) const = 0;
  // Objects of that namespace whose labels include this one.
  virtual Result<std::vector<json::Value*>> list_labelled(std::string_view resource, std::string_view ns,
                                                          std::string_view label, std::string_view value,
                                                          const json::StoragePtr& storage) const = 0;
  // Whether something was asked for that has to be fetched first (lookup_session.h). What came of it is not to be used,
  // and whoever asked is asked again: so nothing is changed before it is known that nothing is missing.
  virtual bool missed() const = 0;
  // How old answers about that resource may be: 0 where they are read when they are asked for.
  virtual std::chrono::milliseconds age(std::string_view resource) const {
    (void)resource;
    return {};
  }
};

// What is new in every object: a test gives fixed ones.
struct Randomness {
  std::function<std::string()> uuid;               // of version 4
  std::function<std::string(std::size_t)> suffix;  // so many characters of the alphabet that Kubernetes uses for names
};

// The kernel's randomness.
const Randomness& system_randomness();

struct Context {
  const config::ClusterConfig& config;
  const Lookups& lookups;
  const Randomness& randomness;
  std::string_view own_namespace;  // where KubeVirt's own objects and accounts live
  Clock::Wall now;
  json::StoragePtr storage;  // lives as long as the request
};

// True for the service accounts of virt-api, virt-controller, virt-handler and the synchronization controller: they may
// change what users may not. The operator and the export proxy are not among them.
bool is_trusted_account(const Context& context, std::string_view username);

// The account's name when it is one of KubeVirt's namespace ("kubevirt-controller"), else empty.
std::string_view component_account(const Context& context, std::string_view username);

// True for virt-handler's account alone.
bool is_handler_account(const Context& context, std::string_view username);

struct Expansion;  // instancetype/expand.h

// What there is to judge or to complete. The objects are in canonical form; object is never null where a rule or a
// default is asked, old_object is null unless something is updated.
struct Case {
  const Context& context;
  const Review& review;
  const Webhook& webhook;
  json::Value* object;
  const json::Value* old_object;
  const Expansion* expansion = nullptr;  // for the rules of a VM: what it comes to
  bool empty_requests = false;           // of a VMI: see sends_empty_requests (defaults/presets.h)

  bool create() const { return review.operation() == Operation::create; }
  bool update() const { return review.operation() == Operation::update; }
  bool enabled(config::Gate gate) const { return context.config.enabled(gate); }
};

}  // namespace vg::admission
