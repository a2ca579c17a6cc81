#include "tracing/hand_over.h"

#include <gtest/gtest.h>

#include "base/task.h"

namespace vg::tracing {
namespace {

const Context remote = *parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");

Task<void> taker(Context& into) {
  into = take_over();
  co_return;
}

Task<void> giver(Context& into) {
  const HandOver trace(remote);
  co_await taker(into);
}

TEST(HandOver, ReachesTheTaskThatIsAwaitedAndNobodyElse) {
  Context taken;
  spawn(giver(taken));
  EXPECT_EQ(taken, remote);
  EXPECT_FALSE(take_over());
}

TEST(HandOver, WhatNobodyTookIsGone) {
  {
    const HandOver trace(remote);
  }
  EXPECT_FALSE(take_over());
  {
    const HandOver outer(remote);
    const Context none;
    {
      const HandOver nothing(none);
    }
    EXPECT_EQ(take_over(), remote);
  }
  EXPECT_FALSE(take_over());
}

TEST(Attached, IsFoundAsLongAsItLives) {
  Tracer tracer({.queue_max = 8, .batch_max = 8});
  tracer.activate();
  int request = 0;
  Span span = Span::begin("a", SpanKind::server, &remote);
  {
    const Attached attached(&request, span);
    EXPECT_EQ(&span_of(&request), &span);
    {
      Span other = Span::begin("b", SpanKind::server, &remote);
      const Attached again(&request, other);  // the first one stays
      EXPECT_EQ(&span_of(&request), &span);
    }
    EXPECT_EQ(&span_of(&request), &span);
    EXPECT_FALSE(span_of(&span).context());
  }
  EXPECT_FALSE(span_of(&request).context());
}

}  // namespace
}  // namespace vg::tracing
