// What the policies say to a write. Pure but for reading parameters and namespaces, which is asked of World.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cel/evaluate.h"
#include "objects/policies/match.h"
#include "objects/policies/policy_set.h"
#include "ports/authorizer.h"

namespace vg::resources::policies {

// A question to the authorizer that an expression asked.
struct Question {
  std::string service_account_ns, service_account;  // empty: of the user who asks
  bool path_check = false;
  std::string verb, path, group, resource, subresource, ns, name;
  auto operator<=>(const Question&) const = default;
};
struct Answer {
  bool allowed = false;
  std::string reason, error;
};
using Answers = std::map<Question, Answer>;

// Thrown through an evaluation: it begins again once this is answered.
struct Unanswered {
  Question question;
};

// What is read of the store.
class World {
 public:
  virtual ~World() = default;
  // Null when there is none.
  virtual const json::Value* namespace_object(std::string_view name) = 0;
  virtual Result<const json::Value*> get(const Resource& resource, std::string_view ns, std::string_view name) = 0;
  virtual Result<std::vector<const json::Value*>> list(const Resource& resource, std::string_view ns,
                                                       const LabelSelector& selector) = 0;
};

struct Verdict {
  std::optional<Status> refusal;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> annotations;  // for the audit log
};

struct Asking {
  const User& user;
  const Answers& answers;
  cel::Meter::Tick tick = nullptr;
};

// May throw Unanswered.
Verdict judge(const PolicySet& set, const Subject& subject, World& world, const Asking& asking,
              const json::StoragePtr& storage);

}  // namespace vg::resources::policies
