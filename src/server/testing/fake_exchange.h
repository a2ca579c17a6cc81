// An Exchange without a network, for the tests of handlers: give it a request, run a handler, look at the answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/task.h"
#include "http/exchange.h"

namespace vg::server::testing {

// Runs what is posted, by whichever thread, when the test says so. Nothing sleeps: sleep() ends at once.
class FakeCore final : public Core {
 public:
  void post(std::move_only_function<void()> fn) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(fn));
    came_.notify_all();
  }
  Task<void> sleep(std::chrono::milliseconds) override { co_return; }
  unsigned index() const override { return 0; }
  bool here() const override { return true; }
  void run_posted() {
    while (auto fn = take(std::chrono::seconds(0))) fn();
  }
  // Until something that is posted sets `ended`, or nothing came for so long that a test has failed.
  void run_until(const bool& ended) {
    while (!ended) {
      auto fn = take(std::chrono::seconds(60));
      if (!fn) return;
      fn();
    }
  }

 private:
  std::move_only_function<void()> take(std::chrono::seconds patience) {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, patience, [&] { return !posted_.empty(); })) return nullptr;
    auto fn = std::move(posted_.front());
    posted_.pop_front();
    return fn;
  }

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::move_only_function<void()>> posted_;
};

class FakeExchange final : public http::Exchange {
 public:
  FakeExchange(std::string method, std::string target, std::string body = {})
      : method_(std::move(method)), target_(std::move(target)), body_(std::move(body)) {
    request_.method = method_;
    request_.target = target_;
    const std::string_view all = target_;
    request_.path = all.substr(0, all.find('?'));
    request_.query = request_.path.size() < all.size() ? all.substr(request_.path.size() + 1) : std::string_view();
    peer_.address = "192.0.2.1";
    request_.peer = &peer_;
    request_.id = "test-1";
  }

  FakeExchange& header(std::string name, std::string value) {
    const auto& kept = headers_.emplace_back(std::move(name), std::move(value));
    request_.headers.add(kept.first, kept.second);
    return *this;
  }
  FakeExchange& certificate(std::string common_name, std::vector<std::string> organizations) {
    peer_.certificate = http::PeerCertificate{
        .common_name = std::move(common_name), .organizations = std::move(organizations), .authority = "client-ca"};
    return *this;
  }

  // Runs the handler to its end; it must not wait for anything but this exchange. Throws what it throws, with which a
  // connection would end.
  FakeExchange& run(http::Handler& handler) {
    return start(handler, [](FakeCore& core, const bool&) { core.run_posted(); });
  }
  // One that waits for worker threads (base/off_loop.h), too.
  FakeExchange& run_with_workers(http::Handler& handler) {
    return start(handler, [](FakeCore& core, const bool& ended) { core.run_until(ended); });
  }
  // Called before each piece of a stream is taken.
  std::function<void()> before_write = [] {};

  // What the handler did.
  int answers() const { return answers_; }
  const http::Response& response() const {
    if (!response_) throw std::logic_error("there was no answer");
    return *response_;
  }
  int status() const { return response().status; }
  const std::string& body() const { return response().body; }
  std::string_view response_header(std::string_view name) const {
    for (const auto& [key, value] : response().headers)
      if (key == name) return value;
    return {};
  }
  const std::string& streamed() const { return streamed_; }
  void cancel() { cancelled_ = true; }
  // Whoever reads it now reads nothing of use.
  void spoil_body() { body_.assign(body_.size(), '!'); }

  const http::Request& request() const override { return request_; }
  Core& core() override { return *core_; }
  Task<Result<std::string_view>> read_body(std::size_t limit) override {
    if (body_.size() > limit) co_return fail(Status::too_large("the body is too large"));
    co_return std::string_view(body_);
  }
  void respond(http::Response response) override {
    ++answers_;
    response_ = std::move(response);
  }
  Task<bool> begin_stream(http::Response head) override {
    respond(std::move(head));
    co_return !cancelled_;
  }
  Task<bool> write(std::string_view chunk) override {
    before_write();
    streamed_ += chunk;
    co_return !cancelled_;
  }
  Task<Result<std::unique_ptr<Stream>>> upgrade(http::Response) override {
    co_return fail(Status::bad_request("this exchange has no connection to hand over"));
  }
  bool cancelled() const override { return cancelled_; }

 private:
  template <class Turn>
  FakeExchange& start(http::Handler& handler, Turn turn) {
    bool ended = false;
    std::exception_ptr thrown;
    spawn([](http::Handler& h, FakeExchange& self, bool& done, std::exception_ptr& what) -> Task<void> {
      try {
        co_await h.handle(self);
      } catch (...) {
        what = std::current_exception();
      }
      done = true;
    }(handler, *this, ended, thrown));
    turn(*core_, ended);
    if (thrown) std::rethrow_exception(thrown);
    if (!ended) throw std::logic_error("the handler waits for something that this exchange cannot give");
    return *this;
  }

  std::string method_, target_, body_;
  std::deque<std::pair<std::string, std::string>> headers_;  // a deque, because the request keeps views of them
  http::Peer peer_;
  http::Request request_;
  std::unique_ptr<FakeCore> core_ = std::make_unique<FakeCore>();  // exchanges are moved
  std::optional<http::Response> response_;
  std::string streamed_;
  int answers_ = 0;
  bool cancelled_ = false;
};

}  // namespace vg::server::testing
