// The spans of requests: begun by the router, found by whoever serves the request.
#pragma once

#include "http/exchange.h"
#include "server/router.h"
#include "tracing/hand_over.h"

namespace vg::server {

// Of the client's trace, where it sends one (W3C Trace Context); null without a tracer.
tracing::Span begin_span(const http::Request& request);

// As ObjectRequest knows its call, too.
inline const void* trace_key(const Call& call) { return static_cast<const WorkTurns*>(&call); }
inline tracing::Span& span_of(const Call& call) { return tracing::span_of(trace_key(call)); }

}  // namespace vg::server
