// Whom does this token stand for? The API server is asked with a TokenReview.
#pragma once

#include <string_view>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "kube/client.h"
#include "ports/authorizer.h"

namespace vg::kube {

// What a review says: 401 for a token that nobody knows. Its text never repeats the token.
Result<User> read_token_review(const json::Value& review);

class TokenReviews {
 public:
  // The client, which goes by this program's own credentials, outlives this.
  explicit TokenReviews(Client& client) : client_(client) {}

  // With all groups. `asker`: see Question.
  Task<Result<User>> check(Core& core, std::string_view token, std::string_view asker);

 private:
  Client& client_;
};

}  // namespace vg::kube
