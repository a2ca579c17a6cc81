// How replicas of this server know each other in a cluster: by a token of virt-api's own account. The certificate that
// virt-api shows to other components proves nothing, for every virt-handler has it as well.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "auth/digest.h"
#include "base/clock.h"
#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "kube/credentials.h"
#include "kube/token_reviews.h"

namespace vg::cmd {

class ReplicaProof {
 public:
  // Both outlive this.
  ReplicaProof(kube::Credentials& own, kube::Client& client, const Clock& clock)
      : own_(own), reviews_(client), clock_(clock) {}

  // What to send as Authorization. 503 where this program has a certificate alone.
  Result<std::string> authorization();
  // 401 unless the value is a token of the account that this program has itself, as the API server says. Remembered for
  // a while. From any core.
  Task<Result<void>> check(Core& core, std::string authorization);

 private:
  Task<Result<std::string>> account_of(Core& core, std::string_view authorization);
  bool is_known(const auth::Digest& token);

  kube::Credentials& own_;
  kube::TokenReviews reviews_;
  const Clock& clock_;
  std::mutex mutex_;
  std::string account_;                            // ours; empty: nobody has asked yet
  std::map<auth::Digest, Clock::Steady> checked_;  // tokens of it, and when that was asked
};

}  // namespace vg::cmd
