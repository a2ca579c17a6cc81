// The node's side of its VMIs, put together: the Node object, the copies, the loop, the records.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/core.h"
#include "base/metrics.h"
#include "guests/agent_facts.h"
#include "handler/place.h"
#include "handler/sync/guest_groups.h"
#include "hypervisor/hypervisor.h"
#include "kube/client.h"

namespace vg::images {
class ImageStore;
}

namespace vg::handler {

struct SyncParts {
  Core& core;
  kube::Client& api;
  hypervisor::Hypervisor& hypervisor;
  images::ImageStore& images;
  const Clock& clock;
  metrics::Registry& metrics;
  NodePlace place;
  // What the agents of guests said; empty: nothing. Whoever learns more calls wake().
  std::function<std::shared_ptr<const guests::AgentFacts>(std::string_view domain)> agent = {};
  // The hypervisor of another node of this machine, by its folder of sockets; empty: guests go nowhere.
  std::function<std::string(const std::string& sockets)> other_uri = {};
  // Why guests cannot be attached to that bridge of the host; empty: they can.
  std::function<std::string(const std::string& bridge)> bridge_problem = {};
  GuestGroups groups = {};
};

class Sync {
 public:
  // The parts outlive this. Nothing happens before start().
  explicit Sync(SyncParts parts);
  ~Sync();

  // From any thread.
  void start();
  // After the cores have stopped.
  void stop();

  // The rest from any thread.

  // RUN-SYN-02: a guest that is paused on purpose stays so. Before it is suspended, and before it is resumed.
  void note_pause(std::string_view ns, std::string_view name, bool paused);
  void wake(std::string_view ns, std::string_view name);
  // Where ports of a guest are forwarded from; empty: there is no such guest.
  std::string guest_address(std::string_view ns, std::string_view name) const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace vg::handler
