#include "otlp/encode.h"

#include <gtest/gtest.h>

#include "api/protobuf_wire.h"

namespace vg::otlp {
namespace {

using api::wire::Item;
using api::wire::Reader;

// The last field of that number.
Item field(std::string_view bytes, std::uint32_t number) {
  Item found;
  Reader reader(bytes);
  while (const auto item = reader.next())
    if (item->number == number) found = *item;
  EXPECT_FALSE(reader.malformed());
  EXPECT_EQ(found.number, number);
  return found;
}

TEST(OtlpEncode, ASpan) {
  tracing::SpanRecord record;
  record.context = *tracing::parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  record.context.state = "vg=1";
  record.parent[7] = 9;
  record.name = "create virtualmachines";
  record.kind = tracing::SpanKind::server;
  record.began = std::chrono::system_clock::time_point(std::chrono::nanoseconds(1'700'000'000'000'000'001));
  record.ended = record.began + std::chrono::nanoseconds(5);
  record.attributes.emplace_back("http.response.status_code", std::int64_t{201});
  record.failure = "why";
  const std::string bytes = encode(std::span(&record, 1), {{"service.name", "virtgate"}}, "1");
  const auto of_resource = field(bytes, 1).bytes;
  EXPECT_EQ(field(field(field(of_resource, 1).bytes, 1).bytes, 1).bytes, "service.name");
  const auto span = field(field(of_resource, 2).bytes, 2).bytes;
  EXPECT_EQ(field(span, 1).bytes.size(), 16U);
  EXPECT_EQ(field(span, 2).bytes.size(), 8U);
  EXPECT_EQ(field(span, 3).bytes, "vg=1");
  EXPECT_EQ(field(span, 4).bytes.back(), 9);
  EXPECT_EQ(field(span, 5).bytes, "create virtualmachines");
  EXPECT_EQ(field(span, 6).scalar, 2U);
  EXPECT_EQ(field(span, 7).form, api::wire::Form::fixed64);
  EXPECT_EQ(field(span, 8).scalar, 1'700'000'000'000'000'006U);
  EXPECT_EQ(field(field(field(span, 9).bytes, 2).bytes, 3).scalar, 201U);
  EXPECT_EQ(field(field(span, 15).bytes, 3).scalar, 2U);
}

TEST(OtlpAnswer, IsReadAsFarAsItIsOne) {
  EXPECT_EQ(rejected_spans(""), 0U);
  EXPECT_EQ(rejected_spans(std::string_view("\x0a\x02\x08\x07", 4)), 7U);
  EXPECT_EQ(rejected_spans("<html>"), std::nullopt);
  EXPECT_EQ(rejected_spans(std::string_view("\x0a\x7f\x08", 3)), std::nullopt);
}

}  // namespace
}  // namespace vg::otlp
