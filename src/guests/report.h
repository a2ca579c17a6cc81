// What a VMI says about its guest (spec vmi-lifecycle 3.6 to 3.8, 3.10; launch 8.2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/nodes.h"
#include "controllers/vmi/draft.h"
#include "guests/access_credentials.h"
#include "guests/agent_facts.h"
#include "guests/case.h"
#include "guests/growth.h"
#include "guests/volumes.h"

namespace vg::guests {

// A disk that failed, as the hypervisor told it.
struct DiskFailure {
  std::string volume;  // empty: not known
  bool no_space = false;
};

// Beside the case.
struct Seen {
  const controllers::NodeInfo& node;
  const AgentFacts* agent = nullptr;  // null: nothing was told
  VolumeLook volumes = {};
  std::vector<DiskFailure> disk_failures = {};
  std::optional<std::string> error = {};             // of what was done in this pass
  std::string error_reason = {};                     // where it has one of its own: ErrImagePull
  std::optional<CredentialResult> credentials = {};  // nothing: the agent is given none
  Grown grown = {};                                  // CPUs and memory in this pass
  bool is_hopeless = false;                          // it will never succeed: the VMI has failed
};

// Changes the draft of `one.vmi`, and tells what changed. Not for a VMI that is over.
void report(controllers::vmi::Draft& draft, const Case& one, const Seen& seen);

// status.interfaces (UNET-01 to UNET-07). `address`: where the guest is reached behind a masqueraded interface.
json::Array interfaces_of(const json::Object& vmi, const DomainFacts& facts, const AgentFacts* agent,
                          std::string_view address, const json::StoragePtr& storage);

// Commands of the agent that something depends on are missing; says which. Empty: all is well (spec vmi-lifecycle 3.7).
std::string missing_agent_commands(const AgentFacts& agent);

}  // namespace vg::guests
