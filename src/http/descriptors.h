// Descriptors that the process may have open, and how many connections that allows.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace vg::http {

struct Descriptors {
  std::size_t allowed = 0;
  std::size_t recommended = 0;
  std::size_t connections = 0;  // that fit
};

// Asks the system for as many as this number of connections may need: shells give a process 1024, whatever it is. An
// error says that there are too few to serve anybody.
Result<Descriptors> allow_descriptors(std::size_t connections_wanted);

// The same without the system: what a limit comes to.
Result<Descriptors> descriptors_within(std::size_t allowed, std::size_t connections_wanted);

}  // namespace vg::http
