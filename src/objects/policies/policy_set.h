// The policies that are in force, kept up with the store. A request without any costs a look at a count.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "objects/policies/policy.h"
#include "ports/object_store.h"

namespace vg::resources {

namespace policies {

struct Hook {
  std::shared_ptr<const Policy> policy;
  std::vector<std::shared_ptr<const Binding>> bindings;  // at least one, by name
};
using PolicySet = std::vector<Hook>;  // by name

}  // namespace policies

// From any thread.
class AdmissionPolicies {
 public:
  explicit AdmissionPolicies(ObjectStore& store) : store_(store) {}

  // As the store has them now; null when there are none.
  std::shared_ptr<const policies::PolicySet> current();

 private:
  bool changed(std::unique_ptr<Watch>& watch, std::string_view key);
  void read_again();

  ObjectStore& store_;
  std::mutex mutex_;
  std::unique_ptr<Watch> policy_watch_, binding_watch_;
  // What was compiled, by name, with the revision of the object.
  std::map<std::string, std::pair<Revision, std::shared_ptr<const policies::Policy>>> policies_;
  std::map<std::string, std::pair<Revision, std::shared_ptr<const policies::Binding>>> bindings_;
  std::shared_ptr<const policies::PolicySet> set_;
};

}  // namespace vg::resources
