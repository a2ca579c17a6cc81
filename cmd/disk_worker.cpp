#include "disk_worker.h"

#include <array>
#include <charconv>
#include <string>

#include "command.h"
#include "disks/worker.h"

namespace vg::cmd {

int run_disk_worker(std::span<const std::string_view> arguments) {
  std::array<int, 2> handed_over{};
  if (arguments.size() != handed_over.size() + 1) return exit_usage;
  for (std::size_t i = 0; i < handed_over.size(); ++i) {
    const std::string_view number = arguments[i];
    if (std::from_chars(number.data(), number.data() + number.size(), handed_over[i]).ec != std::errc() ||
        handed_over[i] < 0)
      return exit_usage;
  }
  return disks::supervise_worker(handed_over[0], handed_over[1], std::string(arguments.back()));
}

}  // namespace vg::cmd
