#include "tracing/hand_over.h"

#include <algorithm>

namespace vg::tracing {
namespace {

thread_local const Context* left_here = nullptr;

using Spans = std::unordered_map<const void*, Span*>;
Spans& spans_here() {
  thread_local Spans spans;
  return spans;
}

}  // namespace

HandOver::HandOver(const Context& context) {
  if (!context) return;
  left_ = &context;
  left_here = left_;
}

HandOver::~HandOver() {
  if (left_ && left_here == left_) left_here = nullptr;
}

Context take_over() {
  const Context* left = std::exchange(left_here, nullptr);
  return left ? *left : Context();
}

Attached::Attached(const void* to, Span& span) {
  if (!to || !span.context()) return;
  if (spans_here().try_emplace(to, &span).second) to_ = to;
}

Attached::~Attached() {
  if (to_) spans_here().erase(to_);
}

Span& span_of(const void* of) {
  static Span none;
  if (!Tracer::active()) return none;
  const auto found = spans_here().find(of);
  return found == spans_here().end() ? none : *found->second;
}

}  // namespace vg::tracing
