// /healthz as virt-api answers it: whether the API server can be reached, and which configuration is in force (spec
// server 8.4).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/task.h"
#include "config/cluster_config.h"
#include "http/core.h"
#include "http/exchange.h"
#include "kube/client.h"

namespace vg::kube {

class ApiServerHealth {
 public:
  struct Times {
    // Between questions, while they are answered and while they are not.
    std::chrono::milliseconds good{5000}, bad{1000};
    // What nobody answered for so long cannot be reached.
    std::chrono::milliseconds lost_after{10000};
  };
  // All outlive this.
  ApiServerHealth(Client& client, const config::ConfigSource& config, const Clock& clock, Times times)
      : client_(client), config_(config), clock_(clock), times_(times), answered_at_(clock.steady_now()) {}

  Task<http::Response> answer(http::Core& core);
  // Asks the API server now and then, for as long as it runs: connections on which nothing comes say nothing about the
  // other end. `returned` is called when it answers again after it did not.
  Task<void> keep_asking(http::Core& core, std::function<void()> returned);
  // From any thread: nothing while it answers, else what is wrong.
  std::optional<std::string> problem() const;
  // From any thread: something went wrong with the API server, so the next one who asks wants to know it from itself.
  void forget();

 private:
  // The version, when it was told.
  Task<Result<std::shared_ptr<const std::string>>> ask(http::Core& core);

  Client& client_;
  const config::ConfigSource& config_;
  const Clock& clock_;
  const Times times_;
  std::atomic<Clock::Steady> answered_at_;
  std::mutex mutex_;
  std::shared_ptr<const std::string> version_;  // the API server's, as it said itself; null: ask
};

}  // namespace vg::kube
