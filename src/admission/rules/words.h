// Small things that many rules say or ask.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "api/view.h"
#include "base/one_of.h"
#include "config/gates.h"

namespace vg::admission {

// A member of an object that is text; empty where it is something else or missing.
inline std::string_view member_text(const api::View& view, std::string_view name) {
  return api::Read<std::string_view>::or_zero(view.get(name));
}

// "sound cards need feature gate X, which is off; ..."
inline std::string needs_gate(std::string_view what, config::Gate gate) {
  return fmt::format(
      "{} the feature gate {}, which is disabled; an administrator can list it in "
      "spec.configuration.developerConfiguration.featureGates of the KubeVirt object",
      what, config::gate_name(gate));
}

}  // namespace vg::admission
