// A socket of this node that leads to one of another node on this machine, for as long as it is there. A libvirtd that
// sends a guest away talks to the one that takes it in, and has no other way to it: it sees no folder of other nodes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"

namespace vg::hypervisor {

class Relay {
 public:
  // Listens at `path`; what was there is removed, and so is this in the end. `answered` is called, by a thread of its
  // own, whenever something came from there and before it is passed on.
  static Result<std::unique_ptr<Relay>> open(const std::string& path, const std::string& to,
                                             std::function<void()> answered = nullptr);
  virtual ~Relay() = default;
};

}  // namespace vg::hypervisor
