// The abstract side of "which guests of this machine's nodes run": asked before a VMI is given up because its node is
// silent or gone. A node that says nothing is not dead, and a guest that is started anew beside itself destroys its
// disks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vg {

class GuestProcesses {
 public:
  virtual ~GuestProcesses() = default;
  // Why the guest may still run, in a sentence about it; nothing: it has ended, or its node is not of this machine.
  virtual std::optional<std::string> may_run(std::string_view node, std::string_view ns,
                                             std::string_view vmi) const = 0;
};

}  // namespace vg
