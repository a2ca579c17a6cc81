// Other programs (qemu-img, curl, skopeo, xz), run on files of others: without our environment, in the folder of the
// disk, within limits of memory, time and what they write. Those that have no business with a network reach none, and
// of files those in that folder and those that their command names by an absolute path (sandbox/program.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "disks/outcome.h"

namespace vg::disks {

struct Program {
  std::vector<std::string> command;
  int folder = -1;               // where it runs
  std::string input = {};        // on its standard input
  int input_file = -1;           // instead of it
  int output_file = -1;          // its standard output; -1: it is read by us
  std::int64_t bytes_max = 0;    // the largest file that it may write
  std::int64_t image_bytes = 0;  // what it works on, for the time that it may take
  // Less than what every program may take; 0: that.
  std::uint64_t cpu_seconds = 0, memory_bytes = 0;
  std::chrono::milliseconds time_max{0};  // by the clock; 0: no bound of that kind
  // Its way out, in place of the proxies of our environment; empty: those.
  std::vector<std::string> proxy_variables = {};
  int ruleset = -1;  // of Landlock (sandbox/landlock.h), which it is put under; -1: none
  // Takes its output as it comes; false ends the program. Null: Ended has the beginning of it.
  std::function<bool(std::string_view)> take = nullptr;
  // Takes its complaints as they come, always before the output that was written after them, and gives back what of
  // them are complaints; nothing ends the program. Null: all are.
  std::function<std::optional<std::string_view>(std::string_view)> take_errors = nullptr;
  // Asked now and then while it runs; an error ends it. The room on the disk of its folder is looked at anyway.
  std::function<Outcome<>()> look = nullptr;
};

struct Ended {
  int code = 0;            // 128 + the signal that ended it
  bool cut_short = false;  // because take() did not want more
  bool timed_out = false;
  std::optional<Failure> stopped = {};  // by look, or because the disk is nearly full
  std::string output = {}, errors = {};
  bool wrote_too_much() const;
};

// An error when it could not be run; whatever it says itself is for the caller to judge.
Outcome<Ended> run(const Program& program);
// The last line of what a program complained about, fit for a message.
std::string complaint(const Ended& ended);

}  // namespace vg::disks
