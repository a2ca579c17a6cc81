// For tests: a server on a loopback port, with a handler that does what the path says.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"
#include "http/server.h"
#include "http/tls_test_support.h"

namespace vg::http::test {

using namespace std::chrono_literals;

// Something that happened, for a test to wait for.
class Event {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool wait(std::chrono::milliseconds patience = 20s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// Suspends a coroutine until another thread opens it.
class Gate {
 public:
  explicit Gate(Core& core) : core_(core) {}
  struct Awaiter {
    Gate& gate;
    bool await_ready() const { return gate.open_; }
    void await_suspend(std::coroutine_handle<> coroutine) { gate.waiting_ = coroutine; }
    void await_resume() const {}
  };
  Awaiter operator co_await() { return {*this}; }
  // On the core.
  void open() {
    open_ = true;
    if (waiting_) std::exchange(waiting_, nullptr).resume();
  }
  Core& core() { return core_; }

 private:
  Core& core_;
  bool open_ = false;
  std::coroutine_handle<> waiting_;
};

using Handle = std::function<Task<void>(Exchange&)>;

class FunctionHandler final : public Handler {
 public:
  explicit FunctionHandler(Handle handle) : handle_(std::move(handle)) {}
  Task<void> handle(Exchange& exchange) override { return handle_(exchange); }

 private:
  Handle handle_;
};

inline Response text(std::string body, int status = 200) {
  return {.status = status, .content_type = "text/plain", .headers = {}, .body = std::move(body)};
}
inline Response from(const Status& status) {
  return {.status = status.code, .content_type = "application/json", .headers = {}, .body = to_json(status)};
}

// Answers with the method, the target and the body it got.
inline Task<void> echo(Exchange& exchange) {
  const auto body = co_await exchange.read_body(1 << 20);
  if (!body) {
    exchange.respond(from(body.error()));
    co_return;
  }
  const Request& request = exchange.request();
  exchange.respond(text(std::string(request.method) + " " + std::string(request.target) + "\n" + std::string(*body)));
}

inline const KeyPair& serving_pair() {
  static const KeyPair pair = make_certificate({.usage = "serverAuth"});
  return pair;
}

inline ServerConfig plain_config() {
  ServerConfig config;
  config.host = "127.0.0.1";
  config.plain = true;
  config.cores = 2;
  config.times.tick = 5ms;
  return config;
}
inline ServerConfig tls_config() {
  ServerConfig config = plain_config();
  config.plain = false;
  config.tls = TlsServerConfig{.certificate_pem = serving_pair().certificate, .key_pem = serving_pair().key};
  return config;
}

// Runs from construction until stop() or its end.
class TestServer {
 public:
  explicit TestServer(ServerConfig config = plain_config(), Handle handle = echo) : handler_(std::move(handle)) {
    plain_ = config.plain;
    if (!config.metrics) config.metrics = &registry;
    auto made = Server::create(std::move(config), handler_);
    EXPECT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
    const auto listening = server_->listen();
    EXPECT_TRUE(listening) << listening.error().message;
    thread_ = std::thread([this] {
      server_->run();
      ended.set();
    });
  }
  ~TestServer() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }
  void join() { thread_.join(); }

  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }
  std::uint16_t port() const { return server_->port(); }
  TestClient::Options client() const { return {.tls = !plain_}; }
  std::uint64_t closed(std::string_view reason) {
    return registry
        .counters("virtgate_http_connections_closed_total", "Connections that ended, by who or what ended them.",
                  {"reason"})
        .with({reason})
        ->value();
  }

  metrics::Registry registry;
  Event ended;

 private:
  FunctionHandler handler_;
  bool plain_ = true;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

inline std::string get(std::string_view target, std::string_view extra = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + std::string(extra) + "\r\n";
}
inline std::string post(std::string_view target, std::string_view body, std::string_view extra = "") {
  return "POST " + std::string(target) + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(extra) + "\r\n" + std::string(body);
}

}  // namespace vg::http::test
