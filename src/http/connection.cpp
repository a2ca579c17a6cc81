#include "http/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

#include "base/budgets.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/release.h"
#include "http/connection_status.h"

namespace vg::http {
namespace {

// Answers up to this size are copied behind their head, so that both leave in one record and one system call. Beyond
// it the copy would cost more than the call.
constexpr std::size_t copied_body_bytes_max = 32 * limits::kib;
// Room that must be behind a head, so that a chunked body always has a place to arrive.
constexpr std::size_t room_behind_head_bytes = 1 * limits::kib;
// A body grows by doubling and not by what its length claims: memory is given for bytes that came.
constexpr std::size_t first_body_bytes = 64 * limits::kib;
// Answers that wait for their reader are charged beyond this.
constexpr std::size_t free_answer_bytes = 16 * limits::kib;

constexpr const char* no_room_message = "large requests and answers use all the memory reserved for them; try again";

bool looks_like_http(std::string_view bytes) {
  for (const std::string_view method :
       {"GET ", "HEAD", "POST", "PUT ", "PATC", "DELE", "OPTI", "CONN", "TRAC", "PRI "}) {
    if (bytes.starts_with(method)) return true;
  }
  return false;
}

// Fields that frame the message are ours to write; a handler that sets one would contradict us.
bool is_ours(std::string_view name) {
  for (const std::string_view ours : {"Content-Length", "Transfer-Encoding", "Date", "Keep-Alive", "X-Request-Id"}) {
    if (equal_ignoring_case(name, ours)) return true;
  }
  return false;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  // A line break in a value would let whoever chose it write headers of their own.
  if (!is_token(name) || !is_field_value(value)) return;
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

Connection::Connection(ServerCore& server, Socket socket, Peer peer, ByteBudget::Account account,
                       ConnectionLedger::SeatPtr seat)
    : server_(server),
      channel_(std::move(socket)),
      peer_(std::move(peer)),
      seat_(std::move(seat)),
      own_account_(account),
      account_(account) {
  seat_->connection = this;
}

Connection::~Connection() {
  if (driver_) driver_.destroy();
  server_.metrics().closed[static_cast<std::size_t>(closing_)]->add();
  hold(0);
  if (work_) server_.give_back(std::move(work_));
  if (!seat_) return;
  seat_->connection = nullptr;
  server_.closed(*seat_);
}

Closed Connection::reason_of(IoError error) const {
  switch (error) {
    case IoError::end:
    case IoError::reset:
      return Closed::peer;
    case IoError::timed_out:
      return Closed::slow;
    case IoError::closed:
      return evicted_ ? Closed::evicted : Closed::drained;
    default:
      return Closed::broken;
  }
}

void Connection::evict() {
  if (!seat_->waits.load(std::memory_order_relaxed)) {
    server_.shared().ledger.come_back(seat_, known_ ? Standing::known : Standing::stranger);
    return;
  }
  evicted_ = true;
  closing_ = Closed::evicted;
  if (phase_ == Phase::idle) channel_.try_shutdown_write();
  channel_.close();
}

void Connection::charge_to(std::string_view user) {
  account_ = server_.shared().budget.of_user(user);
  charge_.move_to(account_);
  if (std::exchange(known_, true)) return;
  server_.shared().ledger.rise(*seat_, Standing::known);
}

bool Connection::hold(std::size_t bytes, ByteBudget::Rule rule) {
  const std::size_t before = charge_.bytes();
  if (bytes == before) return true;
  if (!charge_.resize(server_.shared().budget, account_, bytes, rule)) return false;
  server_.metrics().bytes_held.add(static_cast<double>(bytes) - static_cast<double>(before));
  return true;
}

// --- the life of a connection ---------------------------------------------------------------------------------------

Connection::Life Connection::run(std::unique_ptr<Connection> self) {
  Connection& c = *self;
  Socket& socket = c.channel_.socket();
  if (!c.server_.config().plain && !co_await c.secure()) co_return;
  // Whoever has a verified certificate is not measured by their address: a front proxy speaks for many.
  c.known_ = c.peer_.certificate.has_value();
  if (c.known_) c.own_account_ = c.account_ = ByteBudget::nobody;
  c.server_.shared().ledger.rise(*c.seat_, c.known_ ? Standing::known : Standing::stranger);

  bool look = c.channel_.has_pending();  // whether bytes may be there, so that a read is worth a system call
  std::size_t in_a_row = 0;
  // What the deadline stands for. Time runs from when a phase begins: bytes that come drop by drop, even ones that TLS
  // keeps to itself, do not buy more of it.
  enum class Timed : std::uint8_t { nothing, idle, head } timed = Timed::nothing;
  for (;;) {
    if (!c.work_) {
      if (!look) {
        if (c.server_.draining()) {
          c.closing_ = Closed::drained;
          break;
        }
        in_a_row = 0;
        c.phase_ = Phase::idle;
        c.seat_->waits.store(true, std::memory_order_relaxed);
        if (timed == Timed::nothing) c.set_deadline(c.server_.config().times.idle);
        timed = Timed::idle;
        const IoError waited = co_await socket.until(Direction::read);
        if (waited != IoError::none) {
          c.closing_ = waited == IoError::timed_out ? Closed::idle : c.reason_of(waited);
          break;
        }
        look = true;
      }
      c.phase_ = Phase::busy;
      c.work_ = c.server_.take_work();
    }

    const auto progress = c.work_->parser.parse(c.work_->unused());
    if (progress == RequestParser::Progress::more) {
      if (!c.work_->out.empty()) co_await c.server_.sending().meet();
      if (!c.flush_now() && !co_await c.flush_rest()) break;
      const bool begun = c.work_->begin != c.work_->end;
      if (!begun && !std::exchange(look, false) && !c.channel_.has_pending()) {
        c.release_work();
        continue;
      }
      const std::span<char> room = c.room();
      if (room.empty()) {
        c.answer_error(429, Status::too_many_requests(no_room_message, 0).message);
        if (c.flush_now() || co_await c.flush_rest()) co_await c.linger();
        c.closing_ = Closed::refused;
        break;
      }
      const Attempt attempt = c.channel_.try_read(room);
      if (attempt.bytes > 0) {
        c.work_->end += attempt.bytes;
        c.server_.metrics().bytes_in.add(attempt.bytes);
        continue;
      }
      if (attempt.error != IoError::none) {
        c.closing_ = c.reason_of(attempt.error);
        break;
      }
      if (!begun) {
        c.release_work();
        continue;
      }
      if (timed != Timed::head) c.set_deadline(c.server_.config().times.header);
      timed = Timed::head;
      const IoError waited = co_await socket.until(*attempt.blocked);
      if (waited == IoError::timed_out) {
        c.answer_error(408, "the header of the request did not arrive in time");
        if (c.flush_now() || co_await c.flush_rest()) co_await c.linger();
        c.closing_ = Closed::slow;
        break;
      }
      if (waited != IoError::none) {
        c.closing_ = c.reason_of(waited);
        break;
      }
      continue;
    }
    if (progress == RequestParser::Progress::failed) {
      c.answer_error(c.work_->parser.error_code(), c.work_->parser.error());
      if (c.flush_now() || co_await c.flush_rest()) co_await c.linger();
      c.closing_ = Closed::refused;
      break;
    }

    timed = Timed::nothing;
    c.begin_request();
    co_await c.server_.handling().meet();
    c.drive();
    if (c.driver_) {
      c.handler_waits_ = true;
      c.server_.metrics().waiting.add();
      c.flush_now();  // answers to earlier requests need not wait for this one
      c.update_monitor();
      co_await HandlerEnd{c};
      c.monitor_.unlink();
      c.handler_waits_ = false;
      c.server_.metrics().waiting.sub();
    }
    c.on_cancel_ = nullptr;
    if (c.answer_ == Answer::upgraded) co_return;
    // Answers that follow each other without a pause leave together, but not without end: others want this core too.
    const bool pause = ++in_a_row % limits::pipelined_requests_max == 0 || c.work_->out.size() > copied_body_bytes_max;
    if (c.answer_ == Answer::complete && c.body_complete_ && !c.close_after_ && c.charge_.bytes() == 0 && !pause) {
      c.work_->begin += c.head_bytes_ + c.body_used_;
      c.work_->parser.reset();
      continue;
    }
    if (!co_await c.end_request()) break;
    if (in_a_row >= limits::pipelined_requests_max) {
      in_a_row = 0;
      co_await Yield{c.server_.loop()};
    }
  }
  c.channel_.try_shutdown_write();
  c.channel_.close();
}

Task<bool> Connection::secure() {
  Socket& socket = channel_.socket();
  set_deadline(server_.config().times.handshake);
  if (const IoError waited = co_await socket.until(Direction::read); waited != IoError::none) {
    closing_ = reason_of(waited);
    co_return false;
  }
  // Somebody who forgot the s of https gets words instead of an alert, as upstream's server does it.
  char first[4];
  const ssize_t seen = ::recv(socket.fd(), first, sizeof first, MSG_PEEK);
  if (seen == sizeof first && looks_like_http({first, sizeof first})) {
    static constexpr std::string_view answer =
        "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
        "this port requires HTTPS, and the request was plain HTTP; use https:// in the URL\n";
    channel_.try_write(answer);
    server_.metrics().handshake_failures.add();
    co_await linger();
    closing_ = Closed::refused;
    co_return false;
  }
  // The context is chosen when the client speaks, not when it connects: a replaced certificate counts at once.
  const auto context = server_.shared().tls();
  if (!context) {
    server_.metrics().handshake_failures.add();
    closing_ = Closed::refused;
    co_return false;
  }
  // Before there is anything of TLS: a connection that waits for its turn takes no memory for it.
  co_await server_.handshakes().wait(seat_->source_key());
  channel_ = Channel(std::move(socket), *context);
  const IoResult result = co_await shake_hands();
  if (!result) {
    closing_ = reason_of(result.error);
    server_.metrics().handshake_failures.add();
    log::info_v(
        3, "TLS handshake failed",
        {{"remoteAddress", peer_.address},
         {"reason", channel_.failure().empty() ? to_string(result.error) : std::string_view(channel_.failure())}});
    // The client may be sending already; a reset would take our alert away from it.
    if (result.error == IoError::tls) co_await linger();
    co_return false;
  }
  peer_.certificate = channel_.peer_certificate();
  co_return true;
}

// The first step has had its turn.
Task<IoResult> Connection::shake_hands() {
  HandshakeQueue& queue = server_.handshakes();
  for (;;) {
    const auto began = Stream::Clock::now();
    const Attempt attempt = channel_.try_handshake();
    queue.charge(seat_->source_key(), Stream::Clock::now() - began);
    if (!attempt.blocked) co_return IoResult{.error = attempt.error};
    const IoError waited = co_await channel_.socket().until(*attempt.blocked);
    if (waited != IoError::none) co_return IoResult{.error = waited};
    co_await queue.wait(seat_->source_key());
  }
}

void Connection::begin_request() {
  Work& work = *work_;
  seat_->waits.store(false, std::memory_order_relaxed);
  seat_->used.store(true, std::memory_order_relaxed);
  account_ = own_account_;
  // Views are handed out from here on, so the buffer must not move any more.
  if (work.capacity - work.end < room_behind_head_bytes && work.parser.body() == RequestParser::Body::chunked)
    room(ByteBudget::Rule::must);
  work.parser.fill(work.unused(), work.request);
  work.request.peer = &peer_;
  work.request.id = server_.next_id(work.id);
  head_bytes_ = work.parser.head_bytes();
  body_used_ = 0;
  body_view_ = {};
  body_read_ = body_complete_ = work.parser.body() == RequestParser::Body::none;
  continue_pending_ = work.parser.expects_continue() && !body_complete_;
  close_after_ = !work.parser.keep_alive();
  linger_after_ = false;
  answer_ = Answer::none;
  chunked_answer_ = stream_broken_ = false;
  waited_for_reader_ = {};
  taken_bytes_ = 0;
}

Connection::Driver Connection::drive() {
  try {
    server_.current.set(work_->request.id, work_->request.path);
    co_await server_.shared().handler.handle(*this);
    if (answer_ == Answer::none) {
      log::error("a handler gave no answer", {{"requestId", work_->request.id}, {"path", work_->request.path}});
      answer_error(500, "internal error: the request got no answer; please report this bug with the request id");
    }
  } catch (const std::exception& error) {
    handler_failed(error.what());
  } catch (...) {
    handler_failed("a value that is not an exception was thrown");
  }
}

void Connection::handler_failed(std::string_view reason) {
  log::error("a handler failed", {{"requestId", work_->request.id}, {"path", work_->request.path}, {"reason", reason}});
  if (answer_ == Answer::none) {
    answer_error(500, "internal error: the request failed; see the request id in the log of the server");
  } else {
    stream_broken_ = answer_ == Answer::streaming;
  }
}

std::coroutine_handle<> Connection::handler_ended() {
  driver_ = nullptr;
  if (!waiting_for_handler_) return std::noop_coroutine();
  return std::exchange(waiting_for_handler_, nullptr);
}

// What remains after an answer that is not simply complete: the end of a stream, a long body, a request body that
// nobody read, a connection to close. False when the connection ends.
Task<bool> Connection::end_request() {
  Work& work = *work_;
  if (stream_broken_) {
    closing_ = Closed::broken;
    co_return false;
  }
  if (answer_ == Answer::streaming && chunked_answer_) work.out += "0\r\n\r\n";
  if (!flush_now() && !co_await flush_rest()) co_return false;
  if (!big_body_.empty()) {
    // The handler is done, so the request's body need not wait for the answer's reader.
    clear_keeping(work.body, budgets::kept_body_bytes_max);
    hold(large_head_bytes() + big_body_.size());
    const bool written = co_await write_through(big_body_, Charged::yes);
    release(big_body_);
    hold(large_head_bytes());
    if (!written) co_return false;
  }
  if (!body_complete_ && !close_after_ && !co_await discard_body()) close_after_ = linger_after_ = true;
  if (close_after_) {
    // The client may still be sending what we never read.
    if (linger_after_ || !body_complete_) co_await linger();
    if (closing_ == Closed::finished && server_.draining()) closing_ = Closed::drained;
    co_return false;
  }
  work.begin += head_bytes_ + body_used_;
  clear_keeping(work.body, budgets::kept_body_bytes_max);
  hold(large_head_bytes());
  work.parser.reset();
  co_return true;
}

// --- buffers --------------------------------------------------------------------------------------------------------

// Where the next bytes go. Moves or enlarges the buffer when it is full, so no views may be out. Empty when a larger
// one is more than may be held.
std::span<char> Connection::room(ByteBudget::Rule rule) {
  Work& work = *work_;
  if (work.begin == work.end) work.begin = work.end = 0;
  if (work.capacity - work.end < room_behind_head_bytes) {
    const std::size_t used = work.end - work.begin;
    if (used + room_behind_head_bytes <= work.capacity) {
      std::memmove(work.buffer.get(), work.buffer.get() + work.begin, used);
    } else {
      if (!hold(charge_.bytes() + work.capacity, rule)) return {};
      // The parser fails when the head is over its limit, so this ends.
      auto larger = std::make_unique_for_overwrite<char[]>(work.capacity * 2);
      std::memcpy(larger.get(), work.buffer.get() + work.begin, used);
      work.buffer = std::move(larger);
      work.capacity *= 2;
    }
    work.begin = 0;
    work.end = used;
  }
  return {work.buffer.get() + work.end, work.capacity - work.end};
}

void Connection::release_work() {
  out_written_ = 0;
  hold(0);
  server_.give_back(std::move(work_));
}

// Writes what the socket takes. False when something is left.
bool Connection::flush_now() {
  std::string& out = work_->out;
  if (out.empty()) return true;
  const Attempt attempt = channel_.try_write(std::string_view(out).substr(out_written_));
  server_.metrics().bytes_out.add(attempt.bytes);
  out_written_ += attempt.bytes;
  if (out_written_ < out.size()) return false;
  out.clear();
  out_written_ = 0;
  return true;
}

Task<bool> Connection::flush_rest() {
  std::string& out = work_->out;
  const bool written = co_await write_through(std::string_view(out).substr(out_written_), Charged::no);
  out.clear();
  out_written_ = 0;
  co_return written;
}

// How long the reader may let the answer wait from now on: stalled means that nothing moves, slow that too little does.
std::chrono::milliseconds Connection::patience() const {
  const ServerTimes& times = server_.config().times;
  const std::chrono::milliseconds earned(taken_bytes_ * 1000 / std::max<std::size_t>(1, times.write_bytes_per_second));
  return std::min(times.write, times.write_grace + earned - waited_for_reader_);
}

// What was not charged yet is, as soon as it has to wait: all of it, since its first part is no less held than the
// rest. When it is more than may be held, the client that does not read it is cut off: its memory is wanted by those
// who do.
Task<bool> Connection::write_through(std::string_view bytes, Charged charged) {
  const std::size_t held = charge_.bytes(), whole = bytes.size();
  while (!bytes.empty()) {
    const Attempt attempt = channel_.try_write(bytes);
    server_.metrics().bytes_out.add(attempt.bytes);
    bytes.remove_prefix(attempt.bytes);
    taken_bytes_ += attempt.bytes;
    if (bytes.empty()) break;
    IoError error = attempt.error;
    if (attempt.blocked && std::exchange(charged, Charged::yes) == Charged::no && whole > free_answer_bytes &&
        !hold(held + whole)) {
      server_.metrics().over_budget.add();
      error = IoError::timed_out;
    } else if (attempt.blocked) {
      const auto began = coarse_now();
      channel_.socket().set_deadline(began + patience());
      seat_->waits.store(true, std::memory_order_relaxed);
      error = co_await channel_.socket().until(*attempt.blocked);
      seat_->waits.store(false, std::memory_order_relaxed);
      waited_for_reader_ += std::chrono::duration_cast<std::chrono::milliseconds>(coarse_now() - began);
    }
    if (error != IoError::none) {
      closing_ = reason_of(error);
      channel_.close();
      co_return false;
    }
  }
  hold(held);
  co_return true;
}

// Reads and drops until the client closes: closing a socket with unread bytes resets the connection, and a reset can
// overtake our last answer.
Task<void> Connection::linger() {
  static thread_local char scratch[16 * limits::kib];
  if (work_) release_work();  // nothing of the request is needed for this
  channel_.try_shutdown_write();
  set_deadline(server_.config().times.linger);
  for (std::size_t dropped = 0; dropped < limits::lingered_bytes_max;) {
    const ssize_t got = ::recv(channel_.socket().fd(), scratch, sizeof scratch, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
    if (got > 0) {
      dropped += static_cast<std::size_t>(got);
    } else if (errno == EAGAIN && co_await channel_.socket().until(Direction::read) != IoError::none) {
      break;
    }
  }
}

// --- request bodies -------------------------------------------------------------------------------------------------

std::size_t Connection::body_in_buffer() const {
  const std::size_t behind = work_->end - work_->begin - head_bytes_;
  return static_cast<std::size_t>(std::min<std::uint64_t>(behind, work_->parser.content_length()));
}

bool Connection::fits_buffer() const {
  return work_->parser.content_length() <= work_->capacity - work_->begin - head_bytes_;
}

bool Connection::has_whole_body() const {
  return body_read_ || body_complete_ ||
         (work_->parser.body() == RequestParser::Body::length && body_in_buffer() == work_->parser.content_length());
}

Task<Result<std::string_view>> Connection::read_body(std::size_t limit) {
  // What is done has to be told, however large its answer is. So nothing is begun for whoever holds too much already.
  if (server_.shared().budget.overdrawn(account_)) co_return over_budget();
  if (body_read_) co_return body_view_;
  Work& work = *work_;
  const bool sized = work.parser.body() == RequestParser::Body::length;
  if (sized && work.parser.content_length() > limit) {
    close_after_ = linger_after_ = true;
    co_return fail(Status::too_large(
        fmt::format("the body has {} bytes, at most {} are supported", work.parser.content_length(), limit)));
  }
  if (sized && body_in_buffer() == work.parser.content_length()) {
    body_used_ = body_in_buffer();
    body_view_ = work.unused().substr(head_bytes_, body_used_);
    body_complete_ = body_read_ = true;
    continue_pending_ = false;
    co_return body_view_;
  }
  // Before the client is invited to send it. Nothing is kept free for it: memory is given for bytes that came.
  if (sized && !fits_buffer() &&
      !charge_.could_be(server_.shared().budget, account_, large_head_bytes() + work.parser.content_length()))
    co_return over_budget();
  reading_body_ = true;
  seat_->waits.store(true, std::memory_order_relaxed);
  update_monitor();
  Result<std::string_view> result = std::string_view();
  if (!co_await send_continue()) {
    result = body_failed(IoError::reset);
  } else {
    body_began_ = coarse_now();
    result = sized ? co_await read_sized() : co_await read_chunked(limit);
  }
  reading_body_ = false;
  seat_->waits.store(false, std::memory_order_relaxed);
  update_monitor();
  server_.current.set(work.request.id, work.request.path);  // others may have begun meanwhile
  if (result) {
    body_view_ = *result;
    body_complete_ = body_read_ = true;
  }
  co_return result;
}

Task<bool> Connection::send_continue() {
  if (!std::exchange(continue_pending_, false)) co_return true;
  // Who sends the body without waiting needs no invitation.
  if (work_->end - work_->begin > head_bytes_) co_return true;
  work_->out += "HTTP/1.1 100 Continue\r\n\r\n";
  co_return flush_now() || co_await flush_rest();
}

Task<Result<std::string_view>> Connection::read_sized() {
  Work& work = *work_;
  const std::size_t total = static_cast<std::size_t>(work.parser.content_length());
  const std::size_t start = work.begin + head_bytes_;
  std::size_t have = body_in_buffer();
  if (fits_buffer()) {
    while (have < total) {
      std::size_t got = 0;
      const IoError error = co_await read_more({work.buffer.get() + work.end, work.capacity - work.end}, got, have);
      if (error != IoError::none) co_return body_failed(error);
      work.end += got;
      have = body_in_buffer();
    }
    body_used_ = total;
    co_return std::string_view(work.buffer.get() + start, total);
  }
  work.body.assign(work.buffer.get() + start, have);
  body_used_ = have;
  while (have < total) {
    if (have == work.body.size()) {
      const std::size_t next = std::min(total, std::max(first_body_bytes, 2 * have));
      if (!hold(large_head_bytes() + next)) co_return over_budget();
      // Not the size that is passed in: libstdc++ 12 passes the capacity it chose instead.
      work.body.resize_and_overwrite(next, [next](char*, std::size_t) { return next; });
    }
    std::size_t got = 0;
    const IoError error = co_await read_more({work.body.data() + have, work.body.size() - have}, got, have);
    if (error != IoError::none) co_return body_failed(error);
    have += got;
  }
  co_return std::string_view(work.body);
}

// Room for so many bytes of a body whose length nobody knows.
bool Connection::grow_body(std::size_t bytes) {
  std::string& body = work_->body;
  if (bytes <= body.capacity()) return true;
  const std::size_t next = std::max({bytes, 2 * body.capacity(), Work::buffer_bytes});
  if (!hold(large_head_bytes() + next)) return false;
  body.reserve(next);
  return true;
}

Failed Connection::over_budget() {
  close_after_ = linger_after_ = true;
  server_.metrics().over_budget.add();
  return fail(Status::too_many_requests(no_room_message, budgets::bytes_retry_after_seconds));
}

Task<Result<std::string_view>> Connection::read_chunked(std::size_t limit) {
  std::string& body = work_->body;
  body.clear();
  const auto read = co_await take_chunks([&](std::string_view data) -> Task<Result<void>> {
    if (body.size() + data.size() > limit)
      co_return fail(Status::too_large(fmt::format("the body has more than {} bytes", limit)));
    if (!grow_body(body.size() + data.size())) co_return over_budget();
    body += data;
    co_return Result<void>();
  });
  if (!read) co_return fail(read.error());
  co_return std::string_view(body);
}

// The rest of a body that the handler did not want, so that the next request can be found. False when it is not worth
// it.
Task<bool> Connection::discard_body() {
  Work& work = *work_;
  if (continue_pending_ || reading_body_) co_return false;
  body_began_ = coarse_now();
  if (work.parser.body() == RequestParser::Body::chunked) {
    co_return (co_await read_chunked(limits::discarded_body_bytes_max)).has_value();
  }
  std::uint64_t left = work.parser.content_length() - body_in_buffer();
  body_used_ = body_in_buffer();
  if (left > limits::discarded_body_bytes_max) co_return false;
  while (left > 0) {
    // The buffer holds nothing but this request, whose handler is done.
    work.begin = work.end = head_bytes_ = body_used_ = 0;
    std::size_t got = 0;
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left, work.capacity));
    if (co_await read_more({work.buffer.get(), size}, got, static_cast<std::size_t>(left)) != IoError::none)
      co_return false;
    left -= got;
  }
  co_return true;
}

// At least one byte of a body, within the time that its progress so far has earned.
Task<IoError> Connection::read_more(std::span<char> into, std::size_t& got, std::size_t body_so_far) {
  for (;;) {
    const Attempt attempt = channel_.try_read(into);
    if (attempt.bytes > 0) {
      got = attempt.bytes;
      server_.metrics().bytes_in.add(got);
      co_return IoError::none;
    }
    if (attempt.error != IoError::none) co_return attempt.error;
    const ServerTimes& times = server_.config().times;
    const std::chrono::milliseconds earned(body_so_far * 1000 / std::max<std::size_t>(1, times.body_bytes_per_second));
    const auto by_pace = body_began_ + times.body_grace + earned;
    channel_.socket().set_deadline(std::min(by_pace, (body_streams_ ? coarse_now() : body_began_) + times.body));
    if (const IoError waited = co_await channel_.socket().until(*attempt.blocked); waited != IoError::none)
      co_return waited;
  }
}

Failed Connection::body_failed(IoError error) {
  close_after_ = true;
  if (error == IoError::timed_out) {
    linger_after_ = true;
    closing_ = Closed::slow;
    return fail(Status{
        .code = 408, .reason = "Timeout", .message = "the body of the request did not arrive in time", .details = {}});
  }
  peer_gone_ = true;
  return fail(Status::bad_request("the connection was closed in the middle of the request body"));
}

// --- answers --------------------------------------------------------------------------------------------------------

bool Connection::keeps_alive() const {
  if (close_after_ || server_.draining()) return false;
  if (body_complete_) return true;
  // What is left of the body must be small enough to be read and dropped after the answer.
  if (continue_pending_) return false;
  return work_->parser.body() == RequestParser::Body::chunked ||
         work_->parser.content_length() - body_in_buffer() <= limits::discarded_body_bytes_max;
}

bool Connection::body_forbidden(int status) const {
  return work_->parser.is_head() || status == 204 || status == 304 || status / 100 == 1;
}

void Connection::count_answer(int status) {
  const int kind = std::clamp(status / 100, 1, 5);
  server_.metrics().requests[static_cast<std::size_t>(kind - 1)]->add();
}

void Connection::write_head(const Response& head, std::string_view framing) {
  std::string& out = work_->out;
  const bool switching = head.status == 101;
  append_status_line(out, head.status);
  if (!head.content_type.empty()) append_field(out, "Content-Type", head.content_type);
  for (const auto& [name, value] : head.headers) {
    if (is_ours(name) || (!switching && equal_ignoring_case(name, "Connection"))) continue;
    append_field(out, name, value);
  }
  out.append(head.prepared).append(framing);
  out.append(server_.date_line());
  out.append("X-Request-Id: ").append(work_->request.id).append("\r\n");
  if (!switching) {
    if (close_after_) {
      out.append("Connection: close\r\n");
    } else if (work_->parser.minor_version() == 0) {
      out.append("Connection: keep-alive\r\n");
    }
  }
  out.append("\r\n");
  count_answer(head.status);
}

void Connection::respond(Response response) {
  if (answer_ != Answer::none) {
    log::error("a handler answered twice", {{"requestId", work_->request.id}, {"path", work_->request.path}});
    return;
  }
  if (response.status < 200 || response.status > 599) response.status = 500;
  if (response.body.size() > copied_body_bytes_max) {
    // What was changed has to be told; what was only read can be read again.
    const bool read_only = work_->request.method == "GET" || work_->request.method == "HEAD";
    if (!hold(charge_.bytes() + response.body.size(),
              read_only ? ByteBudget::Rule::may_refuse : ByteBudget::Rule::must))
      response = refused_answer();
  }
  answer_ = Answer::complete;
  close_after_ = !keeps_alive();
  char framing[48] = "Content-Length: ";
  char* end = framing;
  if (response.status != 204 && response.status != 304) {
    end = std::to_chars(framing + std::strlen(framing), std::end(framing) - 2, response.body.size()).ptr;
    *end++ = '\r';
    *end++ = '\n';
  }
  write_head(response, {framing, end});
  if (body_forbidden(response.status)) return;
  if (response.body.size() <= copied_body_bytes_max) {
    work_->out += response.body;
  } else {
    big_body_ = std::move(response.body);
  }
}

// In place of an answer that is too large to wait for its reader now.
Response Connection::refused_answer() {
  server_.metrics().over_budget.add();
  const Status status = Status::too_many_requests(no_room_message, budgets::bytes_retry_after_seconds);
  return {.status = status.code,
          .content_type = "application/json",
          .headers = {{"Retry-After", std::to_string(budgets::bytes_retry_after_seconds)}},
          .body = to_json(status)};
}

void Connection::answer_error(int code, std::string_view message) {
  if (!driver_) work_->request.id = server_.next_id(work_->id);
  Response response{
      .status = code,
      .content_type = "application/json",
      .headers = {},
      .body = to_json(Status{
          .code = code, .reason = std::string(status_reason(code)), .message = std::string(message), .details = {}})};
  if (code == 429) response = refused_answer();
  answer_ = Answer::none;
  close_after_ = close_after_ || !driver_;
  if (!driver_) {
    // The parser may have stopped anywhere; nothing of what it says about a body counts.
    body_complete_ = true;
  }
  respond(std::move(response));
}

Task<bool> Connection::begin_stream(Response head) {
  if (answer_ != Answer::none) co_return false;
  answer_ = Answer::streaming;
  const bool silent = body_forbidden(head.status);
  // Who says how long it is writes just as much, or throws, which ends the connection.
  const auto length =
      std::ranges::find_if(head.headers, [](const auto& field) { return field.first == "Content-Length"; });
  const bool has_length = length != head.headers.end();
  // HTTP/1.0 knows no chunks: there the end of the connection is the end of the stream.
  chunked_answer_ = !silent && !has_length && work_->parser.minor_version() >= 1;
  close_after_ = !keeps_alive() || (!silent && !chunked_answer_ && !has_length);
  write_head(head, has_length ? fmt::format("Content-Length: {}\r\n", length->second)
                              : std::string(chunked_answer_ ? "Transfer-Encoding: chunked\r\n" : ""));
  if (!flush_now() && !co_await flush_rest()) {
    stream_broken_ = true;
    lose_peer();
    co_return false;
  }
  co_return !silent;
}

Task<bool> Connection::write(std::string_view chunk) {
  if (answer_ != Answer::streaming || stream_broken_ || body_forbidden(200)) co_return false;
  if (chunk.empty()) co_return true;
  std::string& out = work_->out;
  if (chunked_answer_) fmt::format_to(std::back_inserter(out), "{:x}\r\n", chunk.size());
  bool written = true;
  if (chunk.size() <= copied_body_bytes_max) {
    out += chunk;
  } else {
    written = (flush_now() || co_await flush_rest()) && co_await write_through(chunk, Charged::no);
  }
  if (chunked_answer_) out += "\r\n";
  written = written && (flush_now() || co_await flush_rest());
  if (!written) {
    stream_broken_ = true;
    lose_peer();
  }
  co_return written;
}

Task<Result<std::unique_ptr<Stream>>> Connection::upgrade(Response head) {
  if (answer_ != Answer::none) co_return fail(Status::internal_error("the request is already answered"));
  if (!body_complete_) co_return fail(Status::bad_request("a request with a body cannot be upgraded"));
  head.status = 101;
  answer_ = Answer::streaming;  // from here on it cannot be answered otherwise
  monitor_.unlink();
  write_head(head, "");
  if (!flush_now() && !co_await flush_rest()) {
    stream_broken_ = true;
    lose_peer();
    co_return fail(Status::unavailable("the client left before the upgrade"));
  }
  answer_ = Answer::upgraded;
  monitor_.unlink();
  const std::size_t used = work_->begin + head_bytes_ + body_used_;
  std::string ahead(work_->buffer.get() + used, work_->end - used);
  work_->end = used;
  channel_.socket().set_deadline(Stream::Clock::time_point::max());
  closing_ = Closed::finished;
  // Nobody is asked to leave a stream, so it has no connection to ask.
  seat_->connection = nullptr;
  seat_->waits.store(false, std::memory_order_relaxed);
  co_return std::make_unique<UpgradedStream>(std::move(channel_), std::move(ahead), std::move(seat_), server_);
}

// --- watching the client --------------------------------------------------------------------------------------------

void Connection::update_monitor() {
  const bool wanted = handler_waits_ && !reading_body_ && !peer_gone_ && answer_ != Answer::upgraded &&
                      channel_.socket().is_open() && work_->end < work_->capacity;
  if (!wanted) {
    monitor_.unlink();
  } else if (!monitor_.linked()) {
    channel_.socket().wait(Direction::read, monitor_);
  }
}

void Connection::monitored(IoError error) {
  while (error == IoError::none && work_->end < work_->capacity) {
    const Attempt attempt = channel_.try_read({work_->buffer.get() + work_->end, work_->capacity - work_->end});
    if (attempt.blocked) break;
    error = attempt.error;
    work_->end += attempt.bytes;
    server_.metrics().bytes_in.add(attempt.bytes);
  }
  if (error == IoError::none) {
    update_monitor();
  } else {
    lose_peer();
  }
}

// The callback may end the handler, and with it this object: nothing may follow the call.
void Connection::lose_peer() {
  peer_gone_ = true;
  if (on_cancel_) std::exchange(on_cancel_, nullptr)();
}

void Connection::on_cancel(std::move_only_function<void()> fn) {
  if (fn && cancelled()) {
    fn();
    return;
  }
  on_cancel_ = std::move(fn);
}

void Connection::drain() {
  if (phase_ == Phase::idle) {
    closing_ = Closed::drained;
    channel_.try_shutdown_write();
    channel_.close();
  } else if (on_cancel_) {
    std::exchange(on_cancel_, nullptr)();
  }
}

}  // namespace vg::http
