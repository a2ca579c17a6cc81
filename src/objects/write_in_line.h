// How every write that names no version is carried out: once if nobody else writes the object, in line otherwise.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/off_loop.h"
#include "base/write_limits.h"
#include "objects/change.h"
#include "objects/write_lines.h"

namespace vg::resources {

// `once` reads the newest version of the object `name` and writes it; what it refuses as raced is tried again.
//
// A large object is always written in line: few requests at a time may work on one, and one that was raced would keep
// its turn, and what it had worked out, from the one at the front.
template <class Once>
auto write_in_line(ObjectRequest& request, std::string_view name, Once once) -> std::invoke_result_t<Once&> {
  WriteLines& lines = request.backend.commits.lines();
  const auto key = [&] { return fmt::format("{}/{}/{}", request.resource.key, request.key_ns(), name); };
  const bool is_large = work_bytes(request, request.find(name).get()) >= off_loop_bytes_min;
  const auto deadline = request.backend.clock.steady_now() + limits::write_line_wait_max;
  std::optional<WriteLines::Front> front;
  while (true) {
    if (front || !(is_large || (lines.any() && lines.has(key())))) {
      auto written = co_await once();
      if (written || !written.error().raced) co_return written;
    }
    if (!front) {
      if (request.turns) request.turns->release_turn();
      auto entered = co_await lines.enter(request.core, key(), request.user.name);
      if (!entered) co_return refused(std::move(entered.error()));
      front.emplace(std::move(*entered));
    }
    if (request.backend.clock.steady_now() >= deadline)
      co_return refused(Status::timeout(
          fmt::format("{} \"{}\" was written by others for {} s without a pause, and nothing was changed; try again",
                      request.plural(), name, limits::write_line_wait_max.count()),
          1));
  }
}

}  // namespace vg::resources
