#include "http/client.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/release.h"
#include "http/client_pool.h"
#include "http/proxy.h"
#include "http/request_parser.h"
#include "http/splice_fairness.h"
#include "http/splice_intake.h"
#include "http/websocket_handshake.h"

namespace vg::http {

namespace {

using Clock = Stream::Clock;
using Progress = ResponseParser::Progress;

// A body up to this size travels with its head, in one write.
constexpr std::size_t body_with_head_bytes_max = 16 * limits::kib;

Status broke(const std::string& who, IoError error) {
  if (error == IoError::timed_out) return Status::timeout(fmt::format("{} did not answer in time", who));
  return Status::unavailable(fmt::format("no complete answer from {}: {}", who, to_string(error)));
}

Clock::time_point after(std::chrono::milliseconds time) {
  return time.count() == 0 ? Clock::time_point::max() : Clock::now() + time;
}

bool is_target(std::string_view target) {
  return !target.empty() && std::ranges::all_of(target, [](char c) { return c > ' ' && c != '\x7f'; });
}

bool sends_body(std::string_view method) { return method == "POST" || method == "PUT" || method == "PATCH"; }

bool is_repeatable(const ClientRequest& request) {
  if (request.repeatable) return *request.repeatable;
  constexpr std::string_view idempotent[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
  return std::ranges::find(idempotent, request.method) != std::end(idempotent);
}

// The head of the request. Whatever would let a value become another header field is refused.
Result<std::string> compose(const Origin& origin, const ClientRequest& request, const ClientOptions& options) {
  if (!is_token(request.method) || !is_target(request.target) || !is_field_value(origin.host)) {
    return fail(Status::internal_error("a request to another server is malformed"));
  }
  const bool usual_port = origin.port == (origin.tls ? 443 : 80);
  const std::string bracketed = origin.host.contains(':') ? fmt::format("[{}]", origin.host) : origin.host;
  const std::string host = usual_port ? bracketed : fmt::format("{}:{}", bracketed, origin.port);
  const bool forwarded = options.forwarded(origin);
  std::string head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}", request.method,
                                 forwarded ? "http://" + host : std::string(), request.target, host);
  if (forwarded && options.proxy->login)
    head += fmt::format("\r\nProxy-Authorization: {}", options.proxy->authorization());
  if (!options.user_agent.empty()) head += fmt::format("\r\nUser-Agent: {}", options.user_agent);
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name) || !is_field_value(value)) {
      return fail(Status::internal_error(fmt::format("the header field {:?} cannot be sent", name)));
    }
    head += fmt::format("\r\n{}: {}", name, value);
  }
  if (!request.body.empty() || sends_body(request.method)) {
    head += fmt::format("\r\nContent-Length: {}", request.body.size());
  }
  head += "\r\n\r\n";
  return head;
}

// An answer on its way in from a stream.
struct Reader {
  Reader(Stream& from, bool to_head, const ClientOptions& options)
      : stream(from), parser(to_head, options.response_limits) {}
  Stream& stream;
  ResponseParser parser;
  Intake intake;
  std::string_view input;  // not yet parsed, in `intake`
  Fairness fairness;
  IoError error = IoError::none;

  // The next head, piece or end; reads as needed.
  Task<Result<ResponseParser::Advance>> next(const std::string& who) {
    for (;;) {
      const ResponseParser::Advance step = parser.next(input);
      input.remove_prefix(step.consumed);
      if (step.progress == Progress::failed) {
        co_return fail(Status::internal_error(fmt::format("the answer of {} is malformed: {}", who, parser.error())));
      }
      if (step.progress != Progress::more) co_return step;
      const std::span<char> space = intake.space();
      const IoResult got = co_await stream.read_some(space);
      if (!got) {
        error = got.error;
        if (error == IoError::end && parser.end_of_input() == Progress::done) {
          co_return ResponseParser::Advance{.progress = Progress::done};
        }
        co_return fail(broke(who, error));
      }
      intake.took(got.bytes);
      input = {space.data(), got.bytes};
      if (fairness.due(got.bytes)) co_await Fairness::yield(stream.core());
    }
  }
};

Task<IoResult> send(Stream& stream, std::string head, std::string_view body) {
  if (body.size() <= body_with_head_bytes_max) {
    head += body;
    body = {};
  }
  IoResult result = co_await stream.write_all(head);
  if (result && !body.empty()) result = co_await stream.write_all(body);
  co_return result;
}

// A stream whose first bytes were already read.
class ReplayStream final : public Stream {
 public:
  ReplayStream(std::unique_ptr<Stream> stream, std::string ahead)
      : stream_(std::move(stream)), ahead_(std::move(ahead)) {}
  Task<IoResult> read_some(std::span<char> into) override {
    if (ahead_.empty()) return stream_->read_some(into);
    return replay(into);
  }
  Task<IoResult> write_all(std::span<const char> bytes) override { return stream_->write_all(bytes); }
  void set_deadline(Clock::time_point when) override { stream_->set_deadline(when); }
  Task<void> shutdown_write() override { return stream_->shutdown_write(); }
  void close() override {
    release(ahead_);
    stream_->close();
  }
  Core& core() override { return stream_->core(); }

 private:
  Task<IoResult> replay(std::span<char> into) {
    const std::size_t count = std::min(into.size(), ahead_.size());
    ahead_.copy(into.data(), count);
    ahead_.erase(0, count);
    if (ahead_.empty()) release(ahead_);
    co_return IoResult{.bytes = count};
  }
  std::unique_ptr<Stream> stream_;
  std::string ahead_;
};

}  // namespace

struct AnswerStream::Parts {
  Parts(ClientPool::Lease taken, std::string origin, const ClientRequest& request, const ClientOptions& options)
      : lease(std::move(taken)),
        who(std::move(origin)),
        reader(*lease->stream, request.method == "HEAD", options),
        read_timeout(request.read_timeout) {}

  ClientPool::Lease lease;
  std::string who;
  Reader reader;
  std::chrono::milliseconds read_timeout;
  bool whole_request = true;  // all of it was sent
  bool over = false;

  void finish() {
    over = true;
    if (whole_request && reader.parser.keep_alive() && reader.input.empty()) {
      lease.keep();
    } else {
      lease.drop();
    }
  }

  Task<Result<std::string_view>> read() {
    if (over) co_return std::string_view();
    auto step = co_await reader.next(who);
    if (!step) {
      over = true;
      lease.drop();
      co_return fail(std::move(step.error()));
    }
    if (step->progress == Progress::data) co_return step->data;
    finish();
    co_return std::string_view();
  }
};

namespace {

// Sends the request and waits for the head of its answer.
Task<Result<std::unique_ptr<AnswerStream::Parts>>> exchange(std::shared_ptr<ClientPool> pool, const Origin& origin,
                                                            const ClientRequest& request) {
  const auto deadline = after(request.timeout);
  const auto head = compose(origin, request, pool->options());
  if (!head) co_return fail(head.error());
  for (bool again = false;; again = true) {
    auto lease = co_await pool->acquire(origin, deadline, again);
    if (!lease) co_return fail(std::move(lease.error()));
    const bool reused = (*lease)->reused;
    auto parts = std::make_unique<AnswerStream::Parts>(std::move(*lease), authority(origin.host, origin.port), request,
                                                       pool->options());
    Reader& reader = parts->reader;
    reader.stream.set_deadline(deadline);
    const IoResult sent = co_await send(reader.stream, *head, request.body);
    parts->whole_request = static_cast<bool>(sent);
    // A server that refuses a request may answer and close before it has read all of it.
    Result<ResponseParser::Advance> step = fail(broke(parts->who, sent.error));
    if (sent || sent.error == IoError::reset) step = co_await reader.next(parts->who);
    if (step) co_return parts;
    const bool closed_by_peer = reader.error == IoError::end || reader.error == IoError::reset;
    if (reused && !again && closed_by_peer && !reader.parser.begun() && is_repeatable(request)) {
      ++pool->repeated;
      continue;
    }
    co_return fail(std::move(step.error()));
  }
}

Task<Result<Answer>> fetch_all(std::shared_ptr<ClientPool> pool, Origin origin, ClientRequest request) {
  auto parts = co_await exchange(std::move(pool), origin, request);
  if (!parts) co_return fail(std::move(parts.error()));
  Answer answer{.head = (*parts)->reader.parser.take_head(), .body = {}};
  for (;;) {
    auto piece = co_await (*parts)->read();
    if (!piece) co_return fail(std::move(piece.error()));
    if (piece->empty()) co_return answer;
    if (piece->size() > request.body_limit_bytes - answer.body.size()) {
      co_return fail(Status::internal_error(
          fmt::format("the answer of {} has more than {} bytes", (*parts)->who, request.body_limit_bytes)));
    }
    answer.body += *piece;
  }
}

Task<Result<std::unique_ptr<AnswerStream::Parts>>> open_parts(std::shared_ptr<ClientPool> pool, Origin origin,
                                                              ClientRequest request) {
  auto parts = co_await exchange(std::move(pool), origin, request);
  if (parts) (*parts)->reader.stream.set_deadline(Clock::time_point::max());
  co_return parts;
}

// The beginning of a body, whatever happens to the rest.
Task<std::string> read_refusal(Reader& reader, std::string who) {
  std::string body;
  while (body.size() < limits::upgrade_refusal_bytes_max) {
    const auto step = co_await reader.next(who);
    if (!step || step->progress != Progress::data) break;
    body += step->data.substr(0, limits::upgrade_refusal_bytes_max - body.size());
  }
  co_return body;
}

Task<Result<Upgraded>> dial_and_upgrade(std::shared_ptr<ClientPool> pool, Origin origin, ClientRequest request,
                                        std::vector<std::string> subprotocols) {
  const auto deadline = after(request.timeout);
  const UpgradeOffer offer(std::move(subprotocols));
  for (auto& field : offer.headers()) request.headers.push_back(std::move(field));
  const auto head = compose(origin, request, pool->options());
  if (!head) co_return fail(head.error());
  auto stream = co_await pool->dial(origin, deadline);
  if (!stream) co_return fail(std::move(stream.error()));

  const std::string who = authority(origin.host, origin.port);
  Reader reader(**stream, false, pool->options());
  (*stream)->set_deadline(deadline);
  const IoResult sent = co_await send(**stream, *head, request.body);
  if (!sent) co_return fail(broke(who, sent.error));
  const auto step = co_await reader.next(who);
  if (!step) co_return fail(step.error());

  Upgraded result;
  result.refusal.head = reader.parser.take_head();
  if (result.refusal.head.status != 101) {
    result.refusal.body = co_await read_refusal(reader, who);
    co_return result;
  }
  auto chosen = offer.check(result.refusal.head.headers);
  if (!chosen) {
    co_return fail(
        Status::internal_error(fmt::format("the WebSocket handshake of {} is malformed: {}", who, chosen.error())));
  }
  (*stream)->set_deadline(Clock::time_point::max());
  result.subprotocol = std::move(*chosen);
  result.stream = std::move(*stream);
  if (!reader.input.empty()) {
    result.stream = std::make_unique<ReplayStream>(std::move(result.stream), std::string(reader.input));
  }
  co_return result;
}

}  // namespace

AnswerStream::AnswerStream(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
AnswerStream::AnswerStream(AnswerStream&&) noexcept = default;
AnswerStream& AnswerStream::operator=(AnswerStream&&) noexcept = default;
AnswerStream::~AnswerStream() = default;

const ResponseHead& AnswerStream::head() const { return parts_->reader.parser.head(); }

Task<Result<std::string_view>> AnswerStream::read() {
  if (!parts_->over && parts_->read_timeout.count() > 0) {
    parts_->reader.stream.set_deadline(Clock::now() + parts_->read_timeout);
  }
  return parts_->read();
}

void AnswerStream::close() {
  if (!parts_->over) parts_->reader.stream.close();
}

Client::Client(Core& core, ClientOptions options) : pool_(std::make_shared<ClientPool>(core, std::move(options))) {}

Client::~Client() {
  if (pool_) pool_->close();
}

Client::Client(Client&&) noexcept = default;

Task<Result<Answer>> Client::fetch(Origin origin, ClientRequest request) {
  return fetch_all(pool_, std::move(origin), std::move(request));
}

Task<Result<AnswerStream>> Client::open(Origin origin, ClientRequest request) {
  auto parts = co_await open_parts(pool_, std::move(origin), std::move(request));
  if (!parts) co_return fail(std::move(parts.error()));
  co_return AnswerStream(std::move(*parts));
}

Task<Result<Upgraded>> Client::dial_upgrade(Origin origin, ClientRequest request,
                                            std::vector<std::string> subprotocols) {
  return dial_and_upgrade(pool_, std::move(origin), std::move(request), std::move(subprotocols));
}

void Client::drop_idle() { pool_->drop_idle(); }

Client::Counts Client::counts() const { return pool_->counts(); }

}  // namespace vg::http
