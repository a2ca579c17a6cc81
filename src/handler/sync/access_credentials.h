// Keeps SSH keys and passwords in guests as their Secrets have them (spec launch 2.7).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guests/access_credentials.h"
#include "handler/sync/guest.h"

namespace vg::handler {

// Of one guest, as long as the process lives.
struct KeptCredentials {
  std::optional<guests::CredentialResult> result = {};  // nothing: there is nothing to keep
  std::vector<std::string> told = {};                   // to the agent, with success
  std::optional<Clock::Steady> looked = {}, told_at = {};
};

class CredentialKeeper {
 public:
  explicit CredentialKeeper(LoopParts& parts) : parts_(parts) {}
  Task<void> keep(const Work& work, const guests::Case& one, KeptCredentials& kept, Outcome& outcome);

 private:
  Task<Result<std::vector<std::string>>> wanted(const Work& work, const std::vector<std::string>& names);
  Task<guests::CredentialResult> tell(const Work& work, KeptCredentials& kept);

  LoopParts& parts_;
};

}  // namespace vg::handler
