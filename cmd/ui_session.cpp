#include "ui_session.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "base/ui_limits.h"

namespace vg::cmd {

Parsed<std::chrono::seconds> parse_ui_session(std::string_view text) {
  const auto parsed = parse_duration(text);
  if (!parsed) return not_parsed(parsed.error());
  if (*parsed < limits::ui_session_age_min || *parsed > limits::ui_session_age_max)
    return not_parsed(fmt::format("must be from {} to {}", print_duration(limits::ui_session_age_min),
                                  print_duration(limits::ui_session_age_max)));
  return std::chrono::floor<std::chrono::seconds>(*parsed);
}

}  // namespace vg::cmd
