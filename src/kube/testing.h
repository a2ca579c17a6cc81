// For tests: an API server that answers as a test tells it to, and everything that is needed to ask it.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/server_test_support.h"
#include "kube/client.h"

namespace vg::kube::testing {

struct Scripted {
  int status = 200;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool goes_on = false;  // the answer has no end
};

class ScriptedApi {
 public:
  // The next answer for requests whose "METHOD target" begins like this; the last one is given again and again.
  void answer(std::string beginning, Scripted scripted) {
    const std::scoped_lock lock(mutex_);
    answers_[std::move(beginning)].push_back(std::move(scripted));
  }
  // "METHOD target body" of all requests so far.
  std::vector<std::string> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

  // Answers wait until so many requests wait for theirs.
  void wait_for(int company) { company_ = company; }
  // How many have waited at once.
  int waited_at_once() const { return waited_at_once_; }

  Task<void> handle(http::Exchange& exchange) {
    const int waiting = ++waiting_;
    for (int most = waited_at_once_; waiting > most && !waited_at_once_.compare_exchange_weak(most, waiting);) {
    }
    while (waited_at_once_ < company_ && !exchange.cancelled())
      co_await exchange.core().sleep(std::chrono::milliseconds(5));
    co_await answer(exchange);
    --waiting_;
  }

 private:
  Task<void> answer(http::Exchange& exchange) {
    const auto body = co_await exchange.read_body(1 << 20);
    const Scripted scripted = next(exchange.request(), body ? *body : std::string_view());
    http::Response response{
        .status = scripted.status, .content_type = "application/json", .headers = scripted.headers, .body = {}};
    if (!scripted.goes_on) {
      response.body = scripted.body;
      exchange.respond(std::move(response));
      co_return;
    }
    co_await exchange.begin_stream(std::move(response));
    if (!scripted.body.empty()) co_await exchange.write(scripted.body);
    while (!exchange.cancelled()) co_await exchange.core().sleep(std::chrono::milliseconds(5));
  }

  Scripted next(const http::Request& request, std::string_view body) {
    const std::scoped_lock lock(mutex_);
    const std::string line = fmt::format("{} {}", request.method, request.target);
    std::string authorization(request.headers.find("authorization").value_or(""));
    asked_.push_back(fmt::format("{} {}{}", line, body, authorization));
    for (auto& [beginning, queue] : answers_) {
      if (!line.starts_with(beginning)) continue;
      Scripted scripted = queue.front();
      if (queue.size() > 1) queue.pop_front();
      return scripted;
    }
    return {.status = 404, .body = R"({"kind":"Status","code":404,"reason":"NotFound","message":"none"})"};
  }

  mutable std::mutex mutex_;
  // Longer beginnings first.
  struct Longer {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };
  std::atomic<int> company_{0}, waiting_{0}, waited_at_once_{0};
  std::map<std::string, std::deque<Scripted>, Longer> answers_;
  std::vector<std::string> asked_;
};

// A client of a scripted API server, with a core to ask on.
struct Bench {
  ScriptedApi api;
  http::test::TestServer server{http::test::plain_config(), [this](http::Exchange& e) { return api.handle(e); }};
  SystemClock clock;
  metrics::Registry metrics;
  RateLimiter limiter{clock, {.per_second = 1e6, .burst = 1000000}};
  Credentials credentials;
  Client client{{.credentials = credentials, .limiter = limiter, .metrics = &metrics, .user_agent = "test"}};
  std::unique_ptr<http::EventLoop> loop = http::EventLoop::create(0, {.tick = std::chrono::milliseconds(5)});
  std::thread thread{[this] { loop->run(); }};

  explicit Bench(ClusterAccess access = {}) : credentials(at(std::move(access), server.port()), clock) {}
  ~Bench() { stop(); }
  // Whoever owns tasks on the core calls this before they go.
  void stop() {
    if (!thread.joinable()) return;
    loop->stop();
    thread.join();
    client.close();
  }
  static ClusterAccess at(ClusterAccess access, std::uint16_t port) {
    access.origin = {.host = "127.0.0.1", .port = port, .tls = false, .server_name = {}};
    return access;
  }
  template <class T>
  T run(Task<T> task) {
    return http::test::run_on(*loop, std::move(task));
  }
};

}  // namespace vg::kube::testing
