// To which trace something belongs: W3C Trace Context (traceparent, tracestate), as it comes from and goes to others.
// What comes is hostile: whatever is not exactly as the standard has it counts as not sent.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vg::tracing {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

struct Context {
  TraceId trace = {};
  SpanId span = {};
  bool sampled = false;
  std::string state = {};  // tracestate, in its canonical form

  explicit operator bool() const { return trace != TraceId{}; }
  bool operator==(const Context&) const = default;
};

// W3C Trace Context 3.2.2, and 4.2 for versions to come.
std::optional<Context> parse_traceparent(std::string_view text);
// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
std::string print_traceparent(const Context& context);
// The members with single commas between them; empty when one of them is malformed or there are too many (3.3.1).
std::string parse_tracestate(std::string_view text);

// Our own member of tracestate: when the request came from which all of this follows, in seconds. Whoever sends one
// with a request is not believed: it is replaced (3.5).
std::string with_begin(std::string_view state, std::chrono::sys_seconds begin);
std::optional<std::chrono::sys_seconds> begin_of(std::string_view state);

// The context of a stored object, as far as it counts: not malformed, and begun within limits::trace_follow_max.
std::optional<Context> stored_context(std::string_view traceparent, std::string_view tracestate,
                                      std::chrono::system_clock::time_point now);

// Where objects have it. Clients cannot set them.
inline constexpr std::string_view traceparent_annotation = "trace.virtgate.io/traceparent";
inline constexpr std::string_view tracestate_annotation = "trace.virtgate.io/tracestate";

}  // namespace vg::tracing
