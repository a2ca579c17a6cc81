// SSH keys and passwords that the agent puts into a running guest (spec launch 2.7): which Secrets they are in, and
// what the agent is told.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace vg::guests {

// How it went last.
struct CredentialResult {
  bool succeeded = false;
  std::string message = {};
  bool operator==(const CredentialResult&) const = default;
};

// RUN-ACC-01: names, each once; none when the agent is not asked for anything.
std::vector<std::string> agent_secrets(const json::Object& vmi);

// RUN-ACC-04, RUN-ACC-05: commands of the agent's protocol. A Secret that is not there is a refusal.
using SecretLook = std::function<const json::Object*(std::string_view name)>;
Result<std::vector<std::string>> credential_commands(const json::Object& vmi, const SecretLook& look);

}  // namespace vg::guests
