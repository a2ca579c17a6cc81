// The networks of a guest on this node: bridges of secondary networks, ports of the pod network, NICs that come and go
// (spec launch 4.4, 8.3).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "guests/networks.h"
#include "handler/sync/guest.h"

namespace vg::handler {

class Networking {
 public:
  explicit Networking(LoopParts& parts) : parts_(parts) {}

  // By network of the VMI; what stands in the way of one is the error.
  Task<Result<guests::Bridges>> bridges(const Work& work);

  // UNET-12: exactly the ports that are declared; others are forwarded when somebody asks for them. What cannot be
  // forwarded after some attempts is told, once for each start and each migration, and is no failure. Remembered.
  Task<void> forward_ports(const Work& work, Outcome& outcome);

  // Ports that were open for streams of a node's process that was killed are closed by the next one, once.
  Task<void> tidy_ports(const Work& work);

  // RUN-NIC-01 to RUN-NIC-03. `build`: the document that the domain should have.
  using Build = std::function<Result<guests::Built>(const guests::Bridges& bridges)>;
  Task<Result<void>> change_nics(const Work& work, const guests::DomainFacts& live, const Build& build,
                                 Outcome& outcome);

 private:
  Task<Result<std::string>> bridge(const Work& work, guests::SecondaryNetwork network);

  LoopParts& parts_;
  std::map<std::string, unsigned, std::less<>> attempts_;  // to forward ports, of guests that wait for some; by uid
};

}  // namespace vg::handler
