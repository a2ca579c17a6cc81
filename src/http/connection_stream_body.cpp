// Bodies that are taken in parts: what is stored as it comes, whatever its length.
#include <algorithm>

#include "base/limits.h"
#include "http/connection.h"
#include "http/server_core.h"

namespace vg::http {
namespace {

// A TLS record has no more, and a read gives one record.
constexpr std::size_t part_bytes = 16 * limits::kib;
constexpr std::size_t part_bytes_min = 4 * limits::kib;

}  // namespace

// Where parts of a body arrive: behind the head in the connection's own buffer, which costs nothing more. Empty when
// there is no room there and no memory elsewhere.
std::span<char> Connection::part_room() {
  Work& work = *work_;
  const std::size_t behind = work.begin + head_bytes_;
  if (work.capacity - behind >= part_bytes_min) return {work.buffer.get() + behind, work.capacity - behind};
  if (!hold(large_head_bytes() + part_bytes)) return {};
  work.body.resize(part_bytes);
  return work.body;
}

// How long the part takes to be stored is not the client's fault.
Task<Result<void>> Connection::give(const BodySink& take, std::string_view part) {
  const auto began = coarse_now();
  auto taken = co_await take(part);
  body_began_ += coarse_now() - began;
  co_return taken;
}

Task<Result<void>> Connection::take_length(const BodySink& take) {
  Work& work = *work_;
  const std::size_t have = body_used_ = body_in_buffer();
  Result<void> taken = co_await give(take, {work.buffer.get() + work.begin + head_bytes_, have});
  std::uint64_t left = work.parser.content_length() - have;
  const std::span<char> room = left > 0 ? part_room() : std::span<char>();
  if (left > 0 && room.empty()) co_return over_budget();
  while (left > 0 && taken) {
    std::size_t got = 0;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, room.size()));
    const std::uint64_t so_far = work.parser.content_length() - left;
    if (const IoError error = co_await read_more(room.first(size), got, so_far); error != IoError::none)
      co_return body_failed(error);
    left -= got;
    taken = co_await give(take, {room.data(), got});
  }
  if (!taken) close_after_ = linger_after_ = true;
  co_return taken;
}

// The bytes inside the chunks, as they come.
Task<Result<void>> Connection::take_chunks(const BodySink& take) {
  Work& work = *work_;
  ChunkedDecoder decoder;
  std::size_t raw = 0;
  for (;;) {
    const std::size_t start = work.begin + head_bytes_ + body_used_;
    const auto step = decoder.next({work.buffer.get() + start, work.end - start});
    body_used_ += step.consumed;
    raw += step.consumed;
    switch (step.progress) {
      case ChunkedDecoder::Progress::data:
        if (auto taken = co_await give(take, step.data); !taken) {
          close_after_ = linger_after_ = true;
          co_return taken;
        }
        break;
      case ChunkedDecoder::Progress::done:
        co_return Result<void>();
      case ChunkedDecoder::Progress::failed:
        close_after_ = linger_after_ = true;
        co_return fail(Status::bad_request(decoder.error()));
      case ChunkedDecoder::Progress::more: {
        // All of it was used: the next bytes may take its place.
        work.end = work.begin + head_bytes_;
        body_used_ = 0;
        std::size_t got = 0;
        const IoError error = co_await read_more({work.buffer.get() + work.end, work.capacity - work.end}, got, raw);
        if (error != IoError::none) co_return body_failed(error);
        work.end += got;
      }
    }
  }
}

Task<Result<void>> Connection::stream_body(BodySink take) {
  reading_body_ = body_streams_ = true;
  seat_->waits.store(true, std::memory_order_relaxed);
  update_monitor();
  body_began_ = coarse_now();
  Result<void> taken;
  if (!co_await send_continue())
    taken = body_failed(IoError::reset);
  else if (work_->parser.body() == RequestParser::Body::chunked)
    taken = co_await take_chunks(take);
  else
    taken = co_await take_length(take);
  reading_body_ = body_streams_ = false;
  seat_->waits.store(false, std::memory_order_relaxed);
  update_monitor();
  if (taken) body_complete_ = body_read_ = true;
  co_return taken;
}

}  // namespace vg::http
