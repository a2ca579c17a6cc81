// What objects take of ResourceQuotas, and whether a quota lets them: pure. The arithmetic, the scopes and the words
// are those of Kubernetes' evaluators for pods, services, claims of volumes and devices, and the number of objects.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/status.h"
#include "json/value.h"
#include "ports/stored_object.h"

namespace vg::resources {

inline constexpr std::string_view quotas_key = "resourcequotas";

// By the name that a quota has for it: "pods", "requests.cpu", "count/virtualmachines.kubevirt.io".
using Usage = std::map<std::string, Quantity, std::less<>>;

// What one object takes, and what scopes ask about it.
struct QuotaFacts {
  Usage usage;
  bool pod = false;
  bool claim = false;
  // Of pods.
  bool terminating = false;  // it has a deadline
  bool best_effort = false;
  bool crosses_namespaces = false;  // in its affinity to other pods
  std::string priority_class;
  // Of claims: VolumeAttributesClasses, wanted or present.
  std::set<std::string, std::less<>> attribute_classes;
};

// The key of the resource whose objects count for that name; nothing for a name that nothing here counts for, such as
// count/RESOURCE.GROUP of a resource that is not kept.
std::optional<std::string> counted_resource(std::string_view quota_name);
// Whether all that objects of the resource can take is a number of them, so that nobody has to look into one.
bool only_counted(std::string_view resource_key);

// `object` may be null where only_counted().
QuotaFacts quota_facts(std::string_view resource_key, const json::Object* object);

struct ScopeRequirement {
  std::string scope, op;
  std::vector<std::string> values;
  bool operator==(const ScopeRequirement&) const = default;
};

struct Quota {
  std::string name;
  Usage spec_hard;
  Usage hard, used;                      // of the status
  std::vector<ScopeRequirement> scopes;  // of spec.scopes and spec.scopeSelector
};
Quota read_quota(const json::Object& object);

// Whether any of the names in spec.hard is about objects of this resource.
bool counts(const Quota& quota, std::string_view resource_key);
bool matches_scopes(const Quota& quota, const QuotaFacts& facts);
// What of the usage the names in `names` are about.
Usage masked(const Usage& usage, const Usage& names);
void add(Usage& sum, const Usage& more);
void subtract(Usage& from, const Usage& less);

// Containers that do not say how much they take, by what every container has to say once a quota limits it. The texts
// are those of the pod.
using Unspecified = std::map<std::string_view, std::set<std::string_view>>;

// An object that is written: null for what was not, or is not any more.
struct QuotaChange {
  std::string_view resource_key;
  std::string_view name;
  const QuotaFacts* before = nullptr;
  const QuotaFacts* after = nullptr;
  const json::Object* pod = nullptr;                    // the pod after the change, where it is one
  bool spec_changed = true;                             // writes of the status alone are counted and never refused
  mutable std::optional<Unspecified> unspecified = {};  // of the pod, once somebody asked
};

// By how much the usage of this quota changes; negative where something is given back.
Usage quota_delta(const Quota& quota, const QuotaChange& change);
// Why the quota does not let the change happen; nothing when it does.
std::optional<Status> find_quota_problem(const Quota& quota, const QuotaChange& change);

Unspecified unspecified_of(const json::Object& pod);
// "failed quota: NAME: must specify limits.cpu for: c1,c2; ..." has these behind the name; empty when nothing lacks.
std::string print_unspecified(const Unspecified& lacking, const Usage& hard);

}  // namespace vg::resources
