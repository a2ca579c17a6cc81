// Spans in OTLP's protobuf (opentelemetry-proto, collector/trace/v1): the few messages that are needed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracing/span.h"

namespace vg::otlp {

// An ExportTraceServiceRequest.
std::string encode(std::span<const tracing::SpanRecord> spans,
                   const std::vector<std::pair<std::string, std::string>>& resource, std::string_view version);

// How many spans an ExportTraceServiceResponse says were rejected; nothing for bytes that are none.
std::optional<std::uint64_t> rejected_spans(std::string_view answer);

}  // namespace vg::otlp
