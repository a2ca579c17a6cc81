// May this user do that? The API server is asked with a SubjectAccessReview (spec server 4.6).
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "kube/client.h"
#include "ports/authorizer.h"

namespace vg::kube {

// The review's spec as JSON; empty members are left out.
std::string review_spec(const User& user, const AccessAttributes& attributes);

// The same for who asks, whom the API server knows by their own token: a SelfSubjectAccessReview.
class SelfAccessReviews final : public Authorizer {
 public:
  // The client and whom the views name outlive this.
  SelfAccessReviews(Client& client, Asker asker) : client_(client), asker_(asker) {}
  // The user is the one of the token, whatever is given here.
  Task<Result<AccessDecision>> authorize(Core& core, const User& user, const AccessAttributes& attributes) override;

 private:
  Client& client_;
  const Asker asker_;
};

class AccessReviews final : public Authorizer {
 public:
  struct Options {
    // How long an allow is remembered; 0: not at all. A refusal never is: whoever was just given a role wants to use
    // it.
    std::chrono::milliseconds remember{2000};
    std::size_t remembered_max = 4096;
  };
  // Client and clock outlive this.
  AccessReviews(Client& client, const Clock& clock, Options options)
      : client_(client), clock_(clock), options_(options) {}

  Task<Result<AccessDecision>> authorize(Core& core, const User& user, const AccessAttributes& attributes) override;

 private:
  struct Allowed {
    Clock::Steady until;
    std::string reason;
  };
  std::optional<AccessDecision> remembered(const std::string& spec);
  void remember(std::string spec, std::string reason);

  Client& client_;
  const Clock& clock_;
  const Options options_;
  std::mutex mutex_;
  std::map<std::string, Allowed> allowed_;
};

}  // namespace vg::kube
