#include "base/task_failure.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/task_limits.h"

namespace vg {
namespace {

std::array<std::atomic<std::uint64_t>, 3> failures;

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
    return "a value that is not an exception was thrown";
  }
}

}  // namespace

TaskFailure classify(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return TaskFailure::memory;
  } catch (const std::runtime_error&) {  // also what boost::json throws about a value of another type
    return TaskFailure::data;
  } catch (const std::out_of_range&) {
    return TaskFailure::data;
  } catch (const std::invalid_argument&) {
    return TaskFailure::data;
  } catch (const std::length_error&) {
    return TaskFailure::data;
  } catch (const std::bad_optional_access&) {
    return TaskFailure::data;
  } catch (const std::bad_variant_access&) {
    return TaskFailure::data;
  } catch (...) {
    return TaskFailure::bug;
  }
}

void task_failed(const std::exception_ptr& error, std::string_view what) {
  const TaskFailure kind = classify(error);
  failures[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  constexpr std::array<std::string_view, 3> kinds{"data", "memory", "bug"};
  log::error("a background task failed", {{"task", what.empty() ? "-" : what},
                                          {"kind", kinds[static_cast<std::size_t>(kind)]},
                                          {"reason", text_of(error)}});
  if (kind == TaskFailure::bug) std::terminate();
}

std::uint64_t failed_tasks(TaskFailure kind) {
  return failures[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
}

Task<void> keep_running(Core& core, std::string what, std::function<Task<void>()> run) {
  for (auto pause = limits::failed_task_pause_min;; pause = std::min(pause * 2, limits::failed_task_pause_max)) {
    try {
      co_return co_await run();
    } catch (...) {
      task_failed(std::current_exception(), what);
    }
    co_await core.sleep(pause);
  }
}

}  // namespace vg
