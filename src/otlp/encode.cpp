#include "otlp/encode.h"

#include <algorithm>
#include <bit>

#include "api/protobuf_wire.h"

namespace vg::otlp {
namespace {

using api::wire::Form;
using api::wire::Message;
using tracing::SpanRecord;

// Numbers of fields, by message (opentelemetry-proto 1.x).
namespace field {
enum Request : std::uint32_t { resource_spans = 1 };
enum ResourceSpans : std::uint32_t { resource = 1, scope_spans = 2 };
enum Resource : std::uint32_t { resource_attributes = 1 };
enum ScopeSpans : std::uint32_t { scope = 1, spans = 2 };
enum Scope : std::uint32_t { scope_name = 1, scope_version = 2 };
enum Span : std::uint32_t {
  trace_id = 1,
  span_id = 2,
  trace_state = 3,
  parent_span_id = 4,
  name = 5,
  kind = 6,
  start_time = 7,
  end_time = 8,
  attributes = 9,
  status = 15
};
enum Status : std::uint32_t { message = 2, code = 3 };
enum KeyValue : std::uint32_t { key = 1, value = 2 };
enum AnyValue : std::uint32_t { string_value = 1, int_value = 3 };
enum Response : std::uint32_t { partial_success = 1 };
}  // namespace field

constexpr std::int64_t status_error = 2;

std::string_view bytes_of(std::span<const std::uint8_t> id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};  // NOLINT: bytes are bytes
}

// The wire has eight bytes for a fixed64 as for a double, whatever they mean.
double nanoseconds(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  return std::bit_cast<double>(std::max<std::int64_t>(since, 0));
}

Message text_attribute(std::string_view key, std::string_view text) {
  Message value, pair;
  value.text(field::string_value, text);
  pair.text(field::key, key);
  pair.message(field::value, value);
  return pair;
}

Message attribute(std::string_view key, const tracing::SpanValue& is) {
  if (const auto* text = std::get_if<std::string>(&is)) return text_attribute(key, *text);
  Message value, pair;
  value.integer(field::int_value, std::get<std::int64_t>(is));
  pair.text(field::key, key);
  pair.message(field::value, value);
  return pair;
}

Message encode_span(const SpanRecord& record) {
  Message span;
  span.text(field::trace_id, bytes_of(record.context.trace));
  span.text(field::span_id, bytes_of(record.context.span));
  if (!record.context.state.empty()) span.text(field::trace_state, record.context.state);
  if (record.parent != tracing::SpanId{}) span.text(field::parent_span_id, bytes_of(record.parent));
  span.text(field::name, record.name);
  span.integer(field::kind, static_cast<std::int64_t>(record.kind));
  span.number(field::start_time, nanoseconds(record.began));
  span.number(field::end_time, nanoseconds(record.ended));
  for (const auto& [key, value] : record.attributes) span.message(field::attributes, attribute(key, value));
  if (record.failure) {
    Message status;
    if (!record.failure->empty()) status.text(field::message, *record.failure);
    status.integer(field::code, status_error);
    span.message(field::status, status);
  }
  return span;
}

}  // namespace

std::string encode(std::span<const SpanRecord> spans, const std::vector<std::pair<std::string, std::string>>& resource,
                   std::string_view version) {
  Message attributes, scope, of_scope, of_resource, request;
  for (const auto& [key, value] : resource) attributes.message(field::resource_attributes, text_attribute(key, value));
  scope.text(field::scope_name, "virtgate");
  scope.text(field::scope_version, version);
  of_scope.message(field::scope, scope);
  for (const SpanRecord& record : spans) of_scope.message(field::spans, encode_span(record));
  of_resource.message(field::resource, attributes);
  of_resource.message(field::scope_spans, of_scope);
  request.message(field::resource_spans, of_resource);
  return request.take();
}

std::optional<std::uint64_t> rejected_spans(std::string_view answer) {
  const auto response = api::wire::read_parts(answer, std::array{Form::bytes});
  if (!response) return std::nullopt;
  const auto partial =
      api::wire::read_parts(response->at(field::partial_success).bytes, std::array{Form::varint, Form::bytes});
  if (!partial) return std::nullopt;
  return partial->at(1).scalar;
}

}  // namespace vg::otlp
