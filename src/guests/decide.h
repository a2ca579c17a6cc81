// What a node does next about a VMI (spec vmi-lifecycle 3.1, 3.3, 3.9, 4.1).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "guests/case.h"

namespace vg::guests {

enum class Action : std::uint8_t {
  nothing,      // and nothing is written
  only_report,  // the status alone
  synchronise,  // start it, or bring it up to date
  shut_down,    // ask the guest to end; for the first time or again
  await_end,    // it was asked, and has time left
  kill,         // STP-07
  remove,       // STP-08: undefine, clean up
};

struct Decision {
  Action action = Action::nothing;
  std::string_view rule = {};                           // the row that says so
  std::optional<std::chrono::milliseconds> again = {};  // look again then
  bool is_of_another = false;                           // the domain is not this VMI's, which says nothing of it
};

// `is_connected`: what is known of the domain is true now.
Decision decide(const Case& one, bool is_connected);

// How long the server must have said that this node has no part in the VMI of a domain that is alive here, before it is
// decided on like one without a VMI. `is_gone`: it knows none of that name; else there is one that is another node's.
std::chrono::milliseconds orphan_patience(const Case& one, bool is_gone);

// spec vmi-lifecycle 3.5. The phase that follows from the domain; the one it has when nothing follows.
std::string_view phase_of(const Case& one);

// spec vmi-lifecycle 3.9. Nothing: try now. Else how long to wait. Remembers the attempt.
std::optional<std::chrono::milliseconds> io_error_wait(IoRetry& retry, Steady now);

}  // namespace vg::guests
