// When a VM starts and stops (spec vm-controller 4 and 5).
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "controllers/vm/machine.h"

namespace vg::controllers::vm {

enum class Run : std::uint8_t {
  nothing,
  start,
  stop,
  stop_and_start,  // stop, and have it started again by a request
  switch_on,       // the run strategy becomes Always
  wait,            // for the crash-loop back-off
  not_supported,
};

struct RunDecision {
  std::string_view id;  // of the row in table 4.1
  Run run = Run::nothing;
  std::chrono::seconds wait = {};
};

// 4.1. `strategy` is what run_strategy() says; `vmi` is null when the VM has none.
RunDecision decide_run(string_view strategy, const Object* vm_status, const Object* vmi, Time now);

// VMC-52
std::chrono::seconds back_off_left(const Object* vm_status, Time now);
// How long to wait after the n-th failure.
std::chrono::seconds back_off(std::int64_t failures, std::uint64_t random);

// U7 (VMC-45 to VMC-47): takes off the first request when it is done.
void drop_done_request(Object& status, const Object* vmi);
// U8 (VMC-49 to VMC-51)
void count_start_failures(Object& status, const Object* vmi, std::optional<string_view> strategy, Time now,
                          std::uint64_t random);

}  // namespace vg::controllers::vm
