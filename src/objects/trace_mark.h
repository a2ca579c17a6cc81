// The trace that an object's present state belongs to stands in its annotations, so that controllers and nodes go on
// with it. Nobody else sets them: what a client sends there is dropped.
#pragma once

#include "json/value.h"
#include "objects/object_request.h"
#include "tracing/hand_over.h"

namespace vg::resources {

// The span of the request's call, or the one that was attached to the request itself.
inline tracing::Span& span_of(const ObjectRequest& request) {
  return tracing::span_of(request.turns ? static_cast<const void*>(request.turns) : &request);
}

// Puts back what stands in `old`; null: there is nothing yet.
void keep_trace_marks(json::Object& metadata, const json::Object* old);

// Whether this request's context is to be found in what it writes: not in what components report, which would go round
// in circles.
bool marks_trace(const ObjectRequest& request, bool is_new);
void mark_trace(json::Object& metadata, const tracing::Context& context);

}  // namespace vg::resources
