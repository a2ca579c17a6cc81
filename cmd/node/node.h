// A node of this machine: libvirt on one side, the API and the handler's paths on the other.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace vg::cmd {

struct NodeProgramOptions {
  std::string state;            // of the server
  std::string node;             // its name
  std::string server;           // URL of the API
  std::string libvirt;          // URI; empty: one of its own
  std::string sandbox = "on";   // of libvirtd and QEMU, as --sandbox of the server
  std::string blocked;          // networks that no image is pulled from
  std::int64_t listener = -1;   // a socket that listens already, from the server
  std::int64_t heartbeat = -1;  // the page of helpers/heartbeat.h, from the process that looks after nodes; -1: none
  std::int64_t nodes = 1;       // of this machine, which share its CPUs and memory
};

// Until a signal.
Result<void> run_node(const NodeProgramOptions& options);

}  // namespace vg::cmd
