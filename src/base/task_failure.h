// What becomes of an exception that leaves a task which nobody awaits.
//
// Exceptions mean that data is not what it should be (a damaged object, an answer of another shape) or that memory ran
// out. That ends the one task, is logged and counted, and everybody else is served. Anything else is a mistake in this
// program, after which nothing that it writes can be trusted: it still ends the process.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "base/core.h"
#include "base/task.h"

namespace vg {

enum class TaskFailure : std::uint8_t { data, memory, bug };
TaskFailure classify(const std::exception_ptr& error);

// Logs and counts what ended the task; ends the process for a bug. `what`: which task, where somebody knows.
void task_failed(const std::exception_ptr& error, std::string_view what = {});

// How many tasks ended so since the start of the process.
std::uint64_t failed_tasks(TaskFailure kind);

// For a program that waits for this one task: without it there is nothing to go on with.
inline Task<void> or_end(Task<void> task) {
  try {
    co_await task;
  } catch (...) {
    std::terminate();
  }
}

// For a loop that has to go on for as long as the process: after a failure it is begun again, later each time. Ends
// when a run ends by itself.
Task<void> keep_running(Core& core, std::string what, std::function<Task<void>()> run);

}  // namespace vg
