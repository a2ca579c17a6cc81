// The parts of a node that know libvirt, images and VMIs, behind what the program needs of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/core.h"
#include "base/metrics.h"
#include "base/status.h"
#include "handler/place.h"
#include "handler/server/service.h"
#include "hypervisor/hypervisor.h"
#include "kube/client.h"

namespace vg::cmd {

class NodeParts {
 public:
  struct Options {
    const handler::NodePlace& place;
    std::string libvirt;  // URI; empty: one of the node's own
    std::string state;    // of the server
    std::string sandbox;  // on, off, required: for libvirtd and QEMU
    std::string blocked;  // networks that no image is pulled from
  };
  // Finds or starts the node's libvirt, and connects to it.
  static Result<std::unique_ptr<NodeParts>> open(const Options& options);
  virtual ~NodeParts() = default;

  virtual hypervisor::Hypervisor& hypervisor() = 0;
  virtual handler::SyncHooks hooks() = 0;
  // Why the node is not well; nothing while it is. From any thread.
  virtual std::optional<std::string> problem() const = 0;

  struct Surroundings {
    Core& core;
    kube::Client& api;
    const Clock& clock;
    metrics::Registry& metrics;
  };
  // Follows the VMIs of the node from here on, on that core; all outlive this.
  virtual void follow(const Surroundings& surroundings) = 0;
  // After the cores have stopped, and before they are gone.
  virtual void stop() = 0;
};

}  // namespace vg::cmd
