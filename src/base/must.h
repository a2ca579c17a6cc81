// What holds unless the program itself is wrong. Checked in every build: going on with a broken promise would end in
// somebody else's data.
#pragma once

#include <source_location>

namespace vg {

// Says where, and ends the process.
[[noreturn, gnu::cold]] void end_for_broken_promise(const std::source_location& at);

inline void must(bool holds, const std::source_location& at = std::source_location::current()) {
  if (!holds) [[unlikely]]
    end_for_broken_promise(at);
}

}  // namespace vg
