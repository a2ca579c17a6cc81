#include "tracing/span.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/tracing_limits.h"

namespace vg::tracing {
namespace {

const Context remote = *parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");

Context unsampled() {
  Context context = remote;
  context.sampled = false;
  return context;
}

TEST(Span, IsNothingWithoutATracer) {
  ASSERT_EQ(Tracer::active(), nullptr);
  Span span = Span::begin("a", SpanKind::server, &remote);
  EXPECT_FALSE(span.recorded());
  EXPECT_FALSE(span.context());
  EXPECT_FALSE(span.child("b").recorded());
  span.set("k", "v");
  span.fail("why");
}

TEST(Span, JoinsItsParent) {
  Tracer tracer({.queue_max = 8, .batch_max = 8});
  tracer.activate();
  {
    Span span = Span::begin("outer", SpanKind::server, &remote);
    EXPECT_EQ(span.context().trace, remote.trace);
    EXPECT_NE(span.context().span, remote.span);
    Span inner = span.child("inner", SpanKind::client);
    inner.set("code", 200);
    inner.fail("not so good");
  }
  const auto spans = tracer.take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].name, "inner");
  EXPECT_EQ(spans[0].parent, spans[1].context.span);
  EXPECT_EQ(spans[0].kind, SpanKind::client);
  EXPECT_EQ(spans[0].failure, "not so good");
  EXPECT_EQ(std::get<std::int64_t>(spans[0].attributes.at(0).second), 200);
  EXPECT_EQ(spans[1].parent, remote.span);
  EXPECT_LE(spans[1].began, spans[0].began);
  EXPECT_GE(spans[0].ended, spans[0].began);
  EXPECT_TRUE(tracer.take().empty());
}

TEST(Span, WhatIsNotSampledIsPassedOnAndNotRecorded) {
  Tracer tracer({.queue_max = 8, .batch_max = 8});
  tracer.activate();
  const Context parent = unsampled();
  {
    const Span span = Span::begin("a", SpanKind::server, &parent);
    EXPECT_TRUE(span.context());
    EXPECT_FALSE(span.recorded());
    EXPECT_EQ(span.context().trace, remote.trace);
    EXPECT_FALSE(span.child("b").recorded());
  }
  EXPECT_TRUE(tracer.take().empty());
}

TEST(Span, NewTracesHaveIdsOfTheirOwn) {
  Tracer tracer({.queue_max = 8, .batch_max = 8});
  tracer.activate();
  const Span one = Span::begin("a", SpanKind::server, nullptr), other = Span::begin("a", SpanKind::server, nullptr);
  EXPECT_TRUE(one.context());
  EXPECT_NE(one.context().trace, other.context().trace);
  EXPECT_FALSE(Span::below(Context{}, "b").recorded());
}

TEST(Span, TextsAreBoundedAndClean) {
  Tracer tracer({.queue_max = 8, .batch_max = 8});
  tracer.activate();
  {
    Span span = Span::begin(std::string(1000, 'a'), SpanKind::server, nullptr);
    span.set("agent", "curl\r\n\xff\x1b[31m");
    span.set("empty", "");
    for (std::size_t i = 0; i < 2 * limits::span_attributes_max; ++i) span.set("k", 1);
    span.mark_begin();
    EXPECT_TRUE(begin_of(span.context().state));
  }
  const auto spans = tracer.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].name.size(), limits::span_text_bytes_max);
  EXPECT_EQ(std::get<std::string>(spans[0].attributes.at(0).second), "curl????[31m");
  EXPECT_EQ(spans[0].attributes.size(), limits::span_attributes_max);
}

TEST(Tracer, DropsAndCountsWhatItHasNoRoomFor) {
  Tracer tracer({.queue_max = 3, .batch_max = 2});
  const auto dropped = std::make_shared<metrics::Counter>();
  tracer.count_dropped(dropped);
  int told = 0;
  tracer.on_batch([&told] { ++told; });
  tracer.activate();
  for (int i = 0; i < 5; ++i) Span::begin("a", SpanKind::server, nullptr).end();
  EXPECT_EQ(dropped->value(), 2U);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(tracer.take().size(), 2U);
  EXPECT_EQ(tracer.take().size(), 1U);
}

TEST(Sampler, IsAsOpenTelemetryNamesIt) {
  const Context off = unsampled();
  TraceId low{}, high{};
  low[8] = 0x10;
  high[8] = 0xf0;
  struct Row {
    std::string_view name, argument;
    bool parent_on, parent_off, alone_low, alone_high;
  };
  for (const Row& row : std::vector<Row>{{"", "", true, false, true, true},
                                         {"always_on", "", true, true, true, true},
                                         {"always_off", "", false, false, false, false},
                                         {"parentbased_always_on", "", true, false, true, true},
                                         {"parentbased_always_off", "", true, false, false, false},
                                         {"parentbased_traceidratio", "0.5", true, false, true, false},
                                         {"traceidratio", "1", true, true, true, true},
                                         {"traceidratio", "0", false, false, false, false},
                                         {"traceidratio", "", true, true, true, true}}) {
    const auto sampler = parse_sampler(row.name, row.argument);
    ASSERT_TRUE(sampler) << row.name;
    EXPECT_EQ(sampler->samples(remote.trace, &remote), row.parent_on) << row.name;
    EXPECT_EQ(sampler->samples(remote.trace, &off), row.parent_off) << row.name;
    EXPECT_EQ(sampler->samples(low, nullptr), row.alone_low) << row.name;
    EXPECT_EQ(sampler->samples(high, nullptr), row.alone_high) << row.name;
  }
  for (const auto& [name, argument] :
       std::vector<std::pair<std::string_view, std::string_view>>{{"sometimes", ""},
                                                                  {"traceidratio", "2"},
                                                                  {"traceidratio", "x"},
                                                                  {"traceidratio", "nan"},
                                                                  {"parentbased_", ""}})
    EXPECT_FALSE(parse_sampler(name, argument)) << name << argument;
}

}  // namespace
}  // namespace vg::tracing
