// Where a node has its things.
#pragma once

#include <string>

namespace vg::handler {

struct NodePlace {
  std::string name;             // of its Node object
  std::string state;            // STATE/nodes/NAME: what outlives a run
  std::string sockets;          // a short path, for what guests and libvirt listen on
  std::string disks;            // STATE/disks: claims
  std::string images;           // STATE/images: container disks, shared by the nodes of a machine
  std::string handler_address;  // where the handler's paths are served
  std::string tpm = {};         // where its own libvirt keeps the state of TPMs; empty: another libvirt is used
  unsigned nodes = 1;           // of this machine: they share its CPUs and memory
};

}  // namespace vg::handler
