// The process that works on disks. It is started before the server gives up its rights, is asked over a socket pair,
// and carries out every job that reads bytes of others in a process of its own, which may see the folder of its claim
// and the programs of the system, and nothing else.
#pragma once

#include <string>

#include "disks/outcome.h"
#include "helpers/channel.h"
#include "helpers/heartbeat.h"

namespace vg::disks {

// How the server reaches it.
struct WorkerLink {
  helpers::Channel channel;
  helpers::Heartbeat heartbeat;  // of whichever worker there is
};

// Keeps a worker running, starting another one when it ends or hangs, until the server closes its end. The exit code.
int supervise_worker(int socket, int heartbeat, const std::string& folder);

// The server's end. `program` is started with the words in front, then the numbers of its descriptors and the folder.
Outcome<WorkerLink> start_worker(const std::string& program, const std::string& folder);

}  // namespace vg::disks
