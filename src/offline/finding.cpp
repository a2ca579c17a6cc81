#include "offline/finding.h"

#include <algorithm>
#include <array>

namespace vg::offline {

std::string_view severity_name(Severity severity) {
  static constexpr std::array<std::string_view, 3> names{"refused", "warning", "note"};
  return names[static_cast<std::size_t>(severity)];
}

std::size_t Outcome::count(Severity severity) const {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

}  // namespace vg::offline
