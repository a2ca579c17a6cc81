// How a context comes to where it is needed without a parameter of its own in every port between: tasks start at once
// when they are awaited and run up to their first wait, so whoever awaits one can leave the context for it.
//
//   const tracing::HandOver trace(span.context());
//   auto answer = co_await nodes.call(core, address, request);      // whose first line is tracing::take_over()
//
// What nobody takes is gone with the HandOver.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "tracing/span.h"

namespace vg::tracing {

class HandOver {
 public:
  explicit HandOver(const Context& context);  // which lives as long
  explicit HandOver(Context&&) = delete;
  ~HandOver();
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

 private:
  const Context* left_ = nullptr;
};

// What was left for the task that begins here; empty: nothing. Once.
Context take_over();

// The span of something that is worked on, for whoever has a reference to it: a request, its Call. On one thread, which
// is the core that it stays on. Without a tracer all of this is one comparison.
class Attached {
 public:
  Attached(const void* to, Span& span);
  ~Attached();
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  const void* to_ = nullptr;
};

// One that records nothing where there is none.
Span& span_of(const void* of);

}  // namespace vg::tracing
