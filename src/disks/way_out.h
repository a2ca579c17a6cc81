// How skopeo reaches registries. It follows redirects by itself, so where networks are blocked it has no way out but a
// proxy that asks about each host. Where the operator has one, that one decides.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "disks/guard_proxy.h"
#include "disks/outcome.h"
#include "disks/program.h"

namespace vg::disks {

// Whether the environment names a proxy for URLs of that scheme ("http", "https").
bool has_proxy(std::string_view scheme);

struct WayOut {
  std::unique_ptr<GuardProxy> proxy = nullptr;
  Descriptor ruleset = {};

  void guide(Program& program) const;
  // What it complained about, or why it was not let through.
  std::string problem(const Ended& ended) const;
};

// Outlives the program. `blocked`: networks, as --import-blocked-networks has them; empty: none.
Outcome<WayOut> way_out(const std::string& blocked);

}  // namespace vg::disks
