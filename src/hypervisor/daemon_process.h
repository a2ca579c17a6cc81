// Processes that outlive the one that started them, watched by descriptor: a number may be given to another process.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"

namespace vg::hypervisor {

using File = Descriptor;

struct Process {
  int pid = 0;
  File handle = {};  // readable when it has ended
};

// In a session of its own, without our descriptors, signals and environment; what it prints is appended to the log.
// `given` is its descriptor 3.
Result<Process> start_apart(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                            const std::string& log, int given);
// The process that listens on this socket; nothing when nobody does. The kernel keeps who it was: others who come to
// have its number are not meant.
std::optional<Process> listener_of(const std::string& socket);
// The process that has locked this pid file, as libvirtd does; nothing when nobody has.
std::optional<Process> holder_of(const std::string& pid_file);
// Nothing when it has ended.
std::optional<Process> process_of(int pid);
// Waits until it has ended; false when it has not in that time. If it is a child of ours it is gone then.
bool wait_for_end(const Process& process, std::chrono::milliseconds time);
void kill_process(const Process& process);
// Asks it to end, then makes it.
void end_process(const Process& process);

// The system's reason for what just failed: call it before anything else that may change it.
Failed system_failed(std::string_view what);

}  // namespace vg::hypervisor
