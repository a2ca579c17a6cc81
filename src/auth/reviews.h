// The questions that clients post and that are answered at once, without being stored: who am I, whose token is this,
// may they do that, what may I do, and a token for a service account.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "auth/identify.h"
#include "auth/policy_rule.h"
#include "auth/token_verifier.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"

namespace vg::auth {

// What answers are made of. Everything outlives the answering.
struct ReviewParts {
  Authorizer& authorizer;
  const RuleResolver& rules;
  const Identifier& identifier;
  const TokenIssuer& issuer;
  const ObjectStore& store;  // where service accounts and what tokens are bound to are looked up
  const Clock& clock;
};

struct ReviewRequest {
  Core& core;                  // on which it is answered
  const User& user;            // who asks
  std::string_view ns = {};    // of the request's path
  std::string_view name = {};  // TokenRequest: the service account
  std::size_t body_bytes = 0;  // that were posted: large ones are worked on off the loop
};

// True for the kinds below; all but TokenRequest (which is posted to serviceaccounts/token) are resources of their own.
bool is_review(std::string_view group, std::string_view kind);

// `kind` is SubjectAccessReview, SelfSubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview (group
// authorization.k8s.io), TokenReview, SelfSubjectReview or TokenRequest (group authentication.k8s.io). `object` is what
// was posted, in canonical form or not; it is consumed. The answer is in canonical form and lives in the same memory.
// Refusals are Kubernetes': 422 with causes, 400, and for TokenRequest 404 and 409. That the user may post the review
// at all was decided before.
Task<Result<json::Value>> answer_review(std::string_view kind, json::Value object, ReviewRequest request,
                                        const ReviewParts& parts);

}  // namespace vg::auth
