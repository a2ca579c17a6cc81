// Bodies that are taken in parts: what is stored as it comes, whatever its length.
#include <algorithm>

#include "base/limits.h"
#include "http/connection.h"
#include "http/server_core.h"

namespace vg::http {
namespace {

constexpr std::size_t part_bytes = 64 * limits::kib;

}  // namespace

Task<Result<void>> Connection::stream_body(BodySink take) {
  Work& work = *work_;
  if (work.parser.body() != RequestParser::Body::length) {
    close_after_ = linger_after_ = true;
    co_return fail({.code = 411, .reason = {}, .message = "the body must come with its length", .details = {}});
  }
  if (!co_await send_continue()) co_return body_failed(IoError::reset);
  std::uint64_t left = work.parser.content_length();
  std::size_t have = body_in_buffer();
  body_used_ = have;
  Result<void> taken = take({work.buffer.get() + work.begin + head_bytes_, have});
  left -= have;
  if (left > 0 && !hold(large_head_bytes() + part_bytes)) co_return over_budget();
  if (left > 0) work.body.resize(part_bytes);
  reading_body_ = true;
  seat_->waits.store(true, std::memory_order_relaxed);
  while (left > 0 && taken) {
    body_began_ = coarse_now();  // each part has its own time
    std::size_t got = 0;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, work.body.size()));
    if (const IoError error = co_await read_more({work.body.data(), size}, got, 0); error != IoError::none)
      co_return body_failed(error);
    left -= got;
    taken = take({work.body.data(), got});
  }
  reading_body_ = false;
  seat_->waits.store(false, std::memory_order_relaxed);
  if (taken)
    body_complete_ = body_read_ = true;
  else
    close_after_ = linger_after_ = true;
  co_return taken;
}

}  // namespace vg::http
