// The limits of tracing, with their reasons. See limits.h for all others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::limits {

// W3C Trace Context 3.3.1.1 and 3.3.1.5: members that must be kept, and how much of them a participant must pass on.
inline constexpr std::size_t tracestate_members_max = 32;
inline constexpr std::size_t tracestate_bytes_max = 512;
// Of each text in a span: names are shorter, and a client chooses its user agent.
inline constexpr std::size_t span_text_bytes_max = 256;
inline constexpr std::size_t span_attributes_max = 16;
// Defaults of the OpenTelemetry specification (OTEL_BSP_*), and how far they may be moved: a span has some 500 bytes.
inline constexpr std::int64_t span_queue_default = 2048;
inline constexpr std::int64_t span_queue_max = 65'536;
inline constexpr std::int64_t span_batch_default = 512;
inline constexpr std::int64_t span_batch_max = 4096;
inline constexpr std::chrono::milliseconds span_delay_default{5000};
inline constexpr std::chrono::milliseconds span_timeout_default{10'000};
inline constexpr std::chrono::milliseconds span_time_max{60'000};
// A collector that cannot be reached: how often one batch is tried, and how long is waited between.
inline constexpr int span_tries_max = 5;
inline constexpr std::chrono::milliseconds span_pause_min{500};
inline constexpr std::chrono::milliseconds span_pause_max{30'000};
// What is left at the end is sent for so long; nobody waits longer for a server to stop because of it.
inline constexpr std::chrono::milliseconds span_flush_deadline{1500};
// Collectors answer with a few bytes.
inline constexpr std::size_t span_answer_bytes_max = std::size_t{16} * 1024;
// Of OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES.
inline constexpr std::size_t span_settings_max = 32;
// So long after a request what controllers and nodes do to its object belongs to its trace. Later it has other causes.
inline constexpr std::chrono::minutes trace_follow_max{15};

}  // namespace vg::limits
