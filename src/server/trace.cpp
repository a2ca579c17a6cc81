#include "server/trace.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/tracing_limits.h"

namespace vg::server {
namespace {

constexpr std::string_view parent_field = "traceparent", state_field = "tracestate";

bool is_named(std::string_view name, std::string_view lower) {
  return name.size() == lower.size() &&
         std::ranges::equal(name, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

// More than one parent is none; the state may come in pieces (W3C Trace Context 3.3.1).
std::optional<tracing::Context> remote_context(const http::Headers& headers) {
  std::optional<std::string_view> parent;
  std::string state;
  for (const http::HeaderField& field : headers.fields()) {
    if (is_named(field.name, parent_field)) {
      if (parent) return std::nullopt;
      parent = field.value;
    } else if (is_named(field.name, state_field) && state.size() < 2 * limits::tracestate_bytes_max) {
      if (!state.empty()) state += ',';
      state += field.value;
    }
  }
  auto context = parent ? tracing::parse_traceparent(*parent) : std::nullopt;
  if (context) context->state = tracing::parse_tracestate(state);
  return context;
}

}  // namespace

tracing::Span begin_span(const http::Request& request) {
  if (!tracing::Tracer::active()) return {};
  const auto remote = remote_context(request.headers);
  tracing::Span span = tracing::Span::begin(request.method, tracing::SpanKind::server, remote ? &*remote : nullptr);
  span.mark_begin();
  if (!span.recorded()) return span;
  span.set("http.request.method", request.method);
  span.set("user_agent.original", request.headers.find("user-agent").value_or(""));
  span.set("virtgate.request_id", request.id);
  return span;
}

}  // namespace vg::server
