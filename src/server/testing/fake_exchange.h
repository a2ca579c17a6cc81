// An Exchange without a network, for the tests of handlers: give it a request, run a handler, look at the answer.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/task.h"
#include "http/exchange.h"

namespace vg::server::testing {

// Runs what is posted when the test says so. Nothing sleeps: sleep() ends at once.
class FakeCore final : public Core {
 public:
  void post(std::move_only_function<void()> fn) override { posted_.push_back(std::move(fn)); }
  Task<void> sleep(std::chrono::milliseconds) override { co_return; }
  unsigned index() const override { return 0; }
  bool here() const override { return true; }
  void run_posted() {
    while (!posted_.empty()) {
      auto fn = std::move(posted_.front());
      posted_.pop_front();
      fn();
    }
  }

 private:
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

  // Runs the handler to its end; it must not wait for anything but this exchange.
  FakeExchange& run(http::Handler& handler) {
    bool ended = false;
    spawn([](http::Handler& h, FakeExchange& self, bool& done) -> Task<void> {
      co_await h.handle(self);
      done = true;
    }(handler, *this, ended));
    core_.run_posted();
    if (!ended) throw std::logic_error("the handler waits for something that this exchange cannot give");
    return *this;
  }

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
  Core& core() override { return core_; }
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
    streamed_ += chunk;
    co_return !cancelled_;
  }
  Task<Result<std::unique_ptr<Stream>>> upgrade(http::Response) override {
    co_return fail(Status::bad_request("this exchange has no connection to hand over"));
  }
  bool cancelled() const override { return cancelled_; }

 private:
  std::string method_, target_, body_;
  std::deque<std::pair<std::string, std::string>> headers_;  // a deque, because the request keeps views of them
  http::Peer peer_;
  http::Request request_;
  FakeCore core_;
  std::optional<http::Response> response_;
  std::string streamed_;
  int answers_ = 0;
  bool cancelled_ = false;
};

}  // namespace vg::server::testing
