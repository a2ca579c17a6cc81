// What the agent inside a guest has told (spec vmi-lifecycle 3.11), as far as a VMI shows it. Everything here was
// written by the guest: it is shown, and never believed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vg::guests {

struct AgentInterface {
  std::string name, mac;
  std::vector<std::string> addresses;  // without a prefix length
};

struct AgentFacts {
  // Members of status.guestOSInfo: id, kernelRelease, kernelVersion, machine, name, prettyName, version, versionId.
  std::vector<std::pair<std::string, std::string>> os;
  std::vector<AgentInterface> interfaces;    // without lo
  std::optional<std::string> freeze_status;  // "frozen", "thawed"
  std::optional<std::string> version;        // absent: guest-info was not answered yet (spec vmi-lifecycle Q6)
  std::vector<std::pair<std::string, bool>> commands;  // with whether they are enabled
};

}  // namespace vg::guests
