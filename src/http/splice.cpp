#include "http/splice.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "base/core.h"
#include "base/must.h"
#include "base/release.h"
#include "http/splice_buffer.h"
#include "http/splice_fairness.h"
#include "http/splice_intake.h"
#include "http/splice_started.h"

namespace vg::http {

namespace {

using Why = SpliceEnd::Why;

Why broke_or_ended(IoError error, bool left) {
  switch (error) {
    case IoError::end:
      return left ? Why::left_ended : Why::right_ended;
    case IoError::timed_out:
      return Why::idle;
    case IoError::closed:
      return Why::closed;
    default:
      return left ? Why::left_broke : Why::right_broke;
  }
}

class ByteSplice {
 public:
  ByteSplice(Stream& left, Stream& right, SpliceOptions options) : left_(left), right_(right), options_(options) {}

  Task<SpliceEnd> run() {
    touch();
    Started back = start(pump(right_, left_, false, end_.right_to_left_bytes));
    co_await pump(left_, right_, true, end_.left_to_right_bytes);
    co_await back;
    stop();
    co_return end_;
  }

 private:
  Task<void> pump(Stream& from, Stream& to, bool from_left, std::uint64_t& count) {
    Intake intake;
    Fairness fairness;
    for (;;) {
      const std::span<char> space = intake.space();
      const IoResult got = co_await from.read_some(space);
      if (!got) {
        co_await ended(got.error, to, from_left);
        co_return;
      }
      intake.took(got.bytes);
      const IoResult put = co_await to.write_all(space.first(got.bytes));
      count += put.bytes;
      if (!put) {
        conclude(broke_or_ended(put.error, !from_left), put.error);
        stop();
        co_return;
      }
      touch();
      if (fairness.due(got.bytes)) co_await Fairness::yield(right_.core());
    }
  }

  Task<void> ended(IoError error, Stream& to, bool from_left) {
    conclude(broke_or_ended(error, from_left), error);
    if (error != IoError::end || stopped_) {
      stop();
      co_return;
    }
    // Everything the side had to say is written: the other side may know that there is no more.
    const bool both = std::exchange(half_closed_, true);
    co_await to.shutdown_write();
    if (!both && options_.half_close_deadline.count() != 0) {
      touch();
      co_return;
    }
    if (!both) co_await (from_left ? left_ : right_).shutdown_write();
    stop();
  }

  // The first cause counts: what follows is its consequence.
  void conclude(Why why, IoError error) {
    if (concluded_) return;
    concluded_ = true;
    end_.why = why;
    end_.error = error == IoError::end ? IoError::none : error;
  }

  void touch() {
    const auto patience =
        half_closed_ && (options_.idle_deadline.count() == 0 || options_.half_close_deadline < options_.idle_deadline)
            ? options_.half_close_deadline
            : options_.idle_deadline;
    if (patience.count() == 0 || stopped_) return;
    const auto until = Stream::Clock::now() + patience;
    left_.set_deadline(until);
    right_.set_deadline(until);
  }

  void stop() {
    if (std::exchange(stopped_, true)) return;
    if (options_.before_close && end_.error != IoError::none) options_.before_close(end_);
    left_.close();
    right_.close();
  }

  Stream& left_;
  Stream& right_;
  SpliceOptions options_;
  SpliceEnd end_;
  bool concluded_ = false;
  bool half_closed_ = false;
  bool stopped_ = false;
};

class MessageSplice {
 public:
  MessageSplice(WebSocket& left, Stream& right, DatagramStream* datagrams, MessageSpliceOptions options)
      : left_(left), right_(right), datagrams_(datagrams), options_(options) {}

  Task<SpliceEnd> run() {
    touch();
    Started back = start(to_messages());
    co_await from_messages();
    co_await back;
    right_.close();
    left_.abort();  // does nothing after a closing handshake
    co_return end_;
  }

 private:
  Task<void> from_messages() {
    std::string gathered;  // of a whole message that comes in pieces
    for (;;) {
      const std::optional<WebSocket::Piece> piece = co_await left_.read();
      if (!piece) break;
      touch();
      if (piece->kind == MessageKind::text) continue;
      std::span<const char> bytes = piece->bytes;
      if (options_.whole_messages && !(piece->last && gathered.empty())) {
        if (bytes.size() > datagram_bytes_max - gathered.size()) {
          co_await finish_left(ws::close_code::too_big, "the message does not fit into a datagram");
          break;
        }
        gathered.append(bytes.data(), bytes.size());
        if (!piece->last) continue;
        bytes = gathered;
      }
      if (!bytes.empty()) {
        const IoResult put = co_await right_.write_all(bytes);
        end_.left_to_right_bytes += put.bytes;
        if (!put) {
          co_await right_failed(put.error);
          break;
        }
      }
      release(gathered);
    }
    left_is_over();
    if (!concluded_right_) co_await right_.shutdown_write();
    right_.close();
  }

  Task<void> to_messages() {
    Intake intake;
    Fairness fairness;
    for (;;) {
      std::size_t wanted = 0;
      if (datagrams_) {
        const IoResult next = co_await datagrams_->next_size();
        if (!next) co_return co_await right_failed(next.error);
        wanted = next.bytes;
      }
      const std::span<char> space = datagrams_ ? intake.space_for(wanted) : intake.space();
      const IoResult got = co_await right_.read_some(space);
      if (!got) co_return co_await right_failed(got.error);
      intake.took(got.bytes);
      const IoError error = co_await left_.write_in_place(MessageKind::binary, space.first(got.bytes));
      if (error != IoError::none) {
        left_is_over();
        right_.close();
        co_return;
      }
      end_.right_to_left_bytes += got.bytes;
      touch();
      if (datagrams_) intake.release();
      if (fairness.due(got.bytes)) co_await Fairness::yield(right_.core());
    }
  }

  Task<void> right_failed(IoError error) {
    concluded_right_ = true;
    conclude(broke_or_ended(error, false), error);
    if (error == IoError::end) return finish_left(ws::close_code::normal, {});
    if (error == IoError::timed_out) return finish_left(ws::close_code::normal, "the stream was idle for too long");
    if (error == IoError::closed) return finish_left(ws::close_code::going_away, {});
    return finish_left(ws::close_code::internal_error, "the connection to the backend was lost");
  }

  Task<void> finish_left(std::uint16_t code, std::string_view reason) {
    stopping_ = true;
    return left_.close(code, reason);
  }

  void left_is_over() {
    stopping_ = true;
    const WebSocket::End& end = left_.end();
    if (!left_.ended()) return;  // another write found it closing; the reader will say why
    if (end.code == ws::close_code::abnormal) {
      conclude(end.error == IoError::end ? Why::left_broke : broke_or_ended(end.error, true), end.error);
    } else {
      conclude(end.clean() ? Why::left_ended : Why::left_broke, IoError::none);
    }
  }

  void conclude(Why why, IoError error) {
    if (concluded_) return;
    concluded_ = true;
    end_.why = why;
    end_.error = error == IoError::end ? IoError::none : error;
  }

  void touch() {
    if (options_.idle_deadline.count() == 0 || stopping_ || left_.ended()) return;
    const auto until = Stream::Clock::now() + options_.idle_deadline;
    // The right side is silent first, so that the left one still gets a close frame.
    right_.set_deadline(until);
    left_.stream().set_deadline(until + std::chrono::seconds(2));
  }

  WebSocket& left_;
  Stream& right_;
  DatagramStream* datagrams_;  // the right side, if it has datagrams
  MessageSpliceOptions options_;
  SpliceEnd end_;
  bool concluded_ = false;
  bool concluded_right_ = false;  // the right side ended first; nothing is left to be said to it
  bool stopping_ = false;         // the closing handshake has the deadline now
};

}  // namespace

std::string_view to_string(SpliceEnd::Why why) {
  switch (why) {
    case Why::left_ended:
      return "the client closed it";
    case Why::right_ended:
      return "the backend closed it";
    case Why::left_broke:
      return "the connection to the client was lost";
    case Why::right_broke:
      return "the connection to the backend was lost";
    case Why::idle:
      return "the stream was idle for too long";
    case Why::closed:
      return "the server closed it";
  }
  return "unknown";
}

Task<SpliceEnd> splice(Stream& left, Stream& right, SpliceOptions options) {
  must(&left.core() == &right.core());
  ByteSplice state(left, right, options);
  co_return co_await state.run();
}

Task<SpliceEnd> splice(WebSocket& left, Stream& right, MessageSpliceOptions options) {
  must(&left.core() == &right.core());
  MessageSplice state(left, right, nullptr, options);
  co_return co_await state.run();
}

Task<SpliceEnd> splice(WebSocket& left, DatagramStream& right, MessageSpliceOptions options) {
  must(&left.core() == &right.core());
  options.whole_messages = true;
  MessageSplice state(left, right, &right, options);
  co_return co_await state.run();
}

}  // namespace vg::http
