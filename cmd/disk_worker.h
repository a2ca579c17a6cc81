// The process that works on disks (src/disks/worker.h), as the server starts it; nobody else does.
#pragma once

#include <span>
#include <string_view>

namespace vg::cmd {

inline constexpr std::string_view disk_worker_command = "disk-worker";

// SOCKET HEARTBEAT (both descriptors) FOLDER
int run_disk_worker(std::span<const std::string_view> arguments);

}  // namespace vg::cmd
