// Places for host devices that tell the guest which NUMA node they are near: an expander bus a node, a root port a
// device (DOM-PCN-03 to DOM-PCN-08).
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "domain/element.h"

namespace vg::domain {

class ExpanderBuses {
 public:
  struct Device {
    Element* hostdev = nullptr;
    std::uint32_t guest_node = 0;
    bool alone = false;  // has an expander of its own
  };
  struct Placed {
    Element* hostdev = nullptr;
    std::uint32_t expander = 0;  // index of the controller
  };

  explicit ExpanderBuses(Element& devices);

  // By the host's address of the device, whose order is the order of ports. Nothing of the document is changed unless
  // all of them fit. Returns those that are alone, in the order of their expanders.
  Result<std::vector<Placed>> place(const std::map<std::string, Device>& devices);

 private:
  struct Port {
    std::uint32_t index = 0;
    Element* hostdev = nullptr;
  };
  struct Bus {
    std::uint32_t index = 0, node = 0, number = 0;
    std::vector<Port> ports;
  };

  Bus open_bus(std::uint32_t node);
  Result<void> add_port(Bus& bus, Element* hostdev);
  void close_bus(Bus& bus);
  void write(const Bus& bus);

  Element& devices_;
  std::uint32_t index_ = 0;    // of the last controller
  std::uint32_t created_ = 0;  // controllers of this step
  std::uint32_t last_number_;
};

}  // namespace vg::domain
