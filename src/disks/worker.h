// The process that works on disks. It is started before the server gives up its rights, is asked over a socket pair,
// and carries out every job that reads bytes of others in a process of its own, which may see the folder of its claim
// and the programs of the system, and nothing else.
#pragma once

#include <string>

#include "disks/outcome.h"

namespace vg::disks {

// Keeps a worker running, starting another one when it ends, until the server closes its end. The exit code.
int supervise_worker(int socket, const std::string& folder);

// The server's end of the socket pair. `program` is started with the words in front, then the number of its descriptor
// and the folder.
Outcome<Descriptor> start_worker(const std::string& program, const std::string& folder);

}  // namespace vg::disks
