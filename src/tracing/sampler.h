// Which traces are recorded (OTEL_TRACES_SAMPLER).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tracing/context.h"

namespace vg::tracing {

struct Sampler {
  bool follows_parent = true;            // where there is one, its decision counts
  std::uint64_t threshold = UINT64_MAX;  // of the random part of trace ids; UINT64_MAX: all

  bool samples(const TraceId& trace, const Context* parent) const;
  bool operator==(const Sampler&) const = default;
};

// Nothing for a name that the OpenTelemetry specification does not have, or a ratio that is none.
std::optional<Sampler> parse_sampler(std::string_view name, std::string_view argument);

}  // namespace vg::tracing
