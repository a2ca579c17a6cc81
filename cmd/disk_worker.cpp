#include "disk_worker.h"

#include <charconv>
#include <string>

#include "command.h"
#include "disks/worker.h"

namespace vg::cmd {

int run_disk_worker(std::span<const std::string_view> arguments) {
  int socket = -1;
  if (arguments.size() != 2) return exit_usage;
  const std::string_view number = arguments[0];
  if (std::from_chars(number.data(), number.data() + number.size(), socket).ec != std::errc() || socket < 0)
    return exit_usage;
  return disks::supervise_worker(socket, std::string(arguments[1]));
}

}  // namespace vg::cmd
