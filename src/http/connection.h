// One accepted connection: its handshake, then request after request until one side has enough.
#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <string>

#include "http/core_list.h"
#include "http/exchange.h"
#include "http/server_core.h"
#include "http/tls_channel.h"

namespace vg::http {

class Connection final : public Exchange, public ListLink<Connection> {
 public:
  // `account` is whose memory it takes until a request's user is known.
  Connection(ServerCore& server, Socket socket, Peer peer, ByteBudget::Account account, ConnectionLedger::SeatPtr seat);
  ~Connection() override;

  // Its whole life, as a coroutine that owns itself and the connection.
  struct Life {
    struct promise_type {
      explicit promise_type(std::unique_ptr<Connection>& connection) {
        connection->life_ = std::coroutine_handle<promise_type>::from_promise(*this);
      }
      Life get_return_object() { return {}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }  // handlers' exceptions never come here
    };
  };
  static Life run(std::unique_ptr<Connection> self);
  // After the loop has stopped: throws away the life, its handler and this object, wherever they wait.
  void abandon() { life_.destroy(); }
  // The server stops: an idle connection ends now, a busy one after its request.
  void drain();
  // Ends it now; everything that waits for it is told.
  void cut() {
    closing_ = Closed::drained;
    channel_.close();
  }
  // Its seat is somebody else's: it ends now, unless a request is being worked on.
  void evict();

  const Request& request() const override { return work_->request; }
  Core& core() override { return server_.loop(); }
  Task<Result<std::string_view>> read_body(std::size_t limit) override;
  Task<Result<void>> stream_body(BodySink take) override;
  bool has_whole_body() const override;
  void respond(Response response) override;
  Task<bool> begin_stream(Response head) override;
  Task<bool> write(std::string_view chunk) override;
  Task<Result<std::unique_ptr<Stream>>> upgrade(Response head) override;
  void charge_to(std::string_view user) override;
  bool cancelled() const override { return peer_gone_ || server_.draining(); }
  void on_cancel(std::move_only_function<void()> fn) override;

 private:
  // How far the answer to the present request is.
  enum class Answer : std::uint8_t { none, complete, streaming, upgraded };
  enum class Phase : std::uint8_t { idle, busy };

  // Watches the client while a handler is suspended: notices that it has gone, and keeps what it sends ahead.
  class Monitor final : public Waiter {
   public:
    explicit Monitor(Connection& connection) : connection_(connection) { heeds_deadline = false; }
    void ready(IoError error) override { connection_.monitored(error); }

   private:
    Connection& connection_;
  };

  // The coroutine around a handler. It starts at once and tells at its end, so that run() knows whether the handler
  // ever waited; a handler that did not costs no event.
  struct Driver {
    struct promise_type {
      explicit promise_type(Connection& owner) : connection(owner) {
        owner.driver_ = std::coroutine_handle<promise_type>::from_promise(*this);
      }
      Connection& connection;
      struct Final {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
          Connection& owner = self.promise().connection;
          self.destroy();
          return owner.handler_ended();
        }
        void await_resume() noexcept {}
      };
      Driver get_return_object() { return {}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      Final final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
  };
  struct HandlerEnd {
    Connection& connection;
    bool await_ready() const { return !connection.driver_; }
    void await_suspend(std::coroutine_handle<> waiting) { connection.waiting_for_handler_ = waiting; }
    void await_resume() const {}
  };
  // Lets the core do something else.
  struct Yield {
    Core& core;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      core.post([coroutine] { coroutine.resume(); });
    }
    void await_resume() const {}
  };

  Task<bool> secure();
  Task<IoResult> shake_hands();
  void begin_request();
  Task<bool> end_request();
  Driver drive();
  void handler_failed(std::string_view reason);
  std::coroutine_handle<> handler_ended();
  // An answer that is ours and not a handler's; the connection closes after it.
  void answer_error(int code, std::string_view message);
  void write_head(const Response& head, std::string_view framing);
  bool keeps_alive() const;
  bool body_forbidden(int status) const;

  // Has this much memory charged, beside what every connection may take; false: there is no room for it.
  bool hold(std::size_t bytes, ByteBudget::Rule rule = ByteBudget::Rule::may_refuse);
  std::size_t large_head_bytes() const { return work_->capacity - Work::buffer_bytes; }
  Failed over_budget();
  bool grow_body(std::size_t bytes);
  Response refused_answer();
  Closed reason_of(IoError error) const;
  std::chrono::milliseconds patience() const;

  bool flush_now();
  Task<bool> flush_rest();
  enum class Charged : bool { no, yes };
  Task<bool> write_through(std::string_view bytes, Charged charged);
  Task<void> linger();

  std::span<char> room(ByteBudget::Rule rule = ByteBudget::Rule::may_refuse);
  void release_work();
  std::size_t body_in_buffer() const;
  bool fits_buffer() const;
  Task<Result<std::string_view>> read_sized();
  Task<Result<std::string_view>> read_chunked(std::size_t limit);
  Task<Result<void>> give(const BodySink& take, std::string_view part);
  Task<Result<void>> take_chunks(const BodySink& take);
  Task<Result<void>> take_length(const BodySink& take);
  std::span<char> part_room();
  Task<bool> discard_body();
  Task<IoError> read_more(std::span<char> into, std::size_t& got, std::size_t body_so_far);
  Failed body_failed(IoError error);
  Task<bool> send_continue();

  void update_monitor();
  void monitored(IoError error);
  void lose_peer();
  void count_answer(int status);
  void set_deadline(std::chrono::milliseconds from_now) { channel_.socket().set_deadline(coarse_now() + from_now); }

  ServerCore& server_;
  Channel channel_;
  Peer peer_;
  ConnectionLedger::SeatPtr seat_;  // null once the connection became a stream
  ByteBudget::Account own_account_;
  ByteBudget::Account account_;  // of the present request
  ByteBudget::Charge charge_;
  std::unique_ptr<Work> work_;
  Monitor monitor_{*this};
  std::coroutine_handle<> life_;
  std::coroutine_handle<> driver_;  // while a handler runs
  std::coroutine_handle<> waiting_for_handler_;
  std::move_only_function<void()> on_cancel_;
  std::string big_body_;         // of an answer that is too long to be copied behind its head
  std::size_t out_written_ = 0;  // of work_->out
  // Of the present request's body: bytes of the buffer that were used (framing included), and where it begins.
  std::size_t head_bytes_ = 0;
  std::size_t body_used_ = 0;
  std::string_view body_view_;
  Stream::Clock::time_point body_began_{};
  // Of the present answer: how long it has waited for its reader, and how much was taken since the first wait.
  std::chrono::milliseconds waited_for_reader_{0};
  std::uint64_t taken_bytes_ = 0;
  Closed closing_ = Closed::finished;
  Phase phase_ = Phase::idle;
  Answer answer_ = Answer::none;
  bool handler_waits_ = false;
  bool reading_body_ = false;
  bool body_streams_ = false;  // and may take as long as it keeps its pace
  bool body_complete_ = false;
  bool body_read_ = false;
  bool continue_pending_ = false;
  bool close_after_ = false;
  bool linger_after_ = false;
  bool chunked_answer_ = false;
  bool stream_broken_ = false;
  bool peer_gone_ = false;
  bool known_ = false;    // somebody has proved who they are
  bool evicted_ = false;  // closed in favour of another connection
};

}  // namespace vg::http
