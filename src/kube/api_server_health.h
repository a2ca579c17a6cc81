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
#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "config/cluster_config.h"
#include "http/exchange.h"
#include "kube/client.h"

namespace vg::kube {

class ApiServerHealth {
 public:
  struct Times {
    // Between questions, while they are answered and while they are not.
    std::chrono::milliseconds good{2000}, bad{1000};
    // What nobody answered for so long cannot be reached. Longer than the time to the next question and its deadline.
    std::chrono::milliseconds lost_after{6000};
  };
  // All outlive this.
  ApiServerHealth(Client& client, const config::ConfigSource& config, const Clock& clock, Times times)
      : client_(client), config_(config), clock_(clock), times_(times), answered_at_(clock.steady_now()) {}

  Task<http::Response> answer(Core& core);
  // Asks the API server now and then, for as long as it runs: connections on which nothing comes say nothing about the
  // other end. `in_vain` is called after each question that was not answered, `returned` when it answers again.
  Task<void> keep_asking(Core& core, std::function<void()> in_vain, std::function<void()> returned);
  // From any thread: nothing while it answers, else what is wrong.
  std::optional<std::string> problem() const;
  // From any thread: something went wrong with the API server, so the next one who asks wants to know it from itself.
  void forget();

 private:
  // What was found out last. Both null: nothing that still counts.
  struct Known {
    std::shared_ptr<const std::string> version;  // the API server's, as it said itself
    std::shared_ptr<const std::string> failure;  // why it was not told
  };
  Task<Known> ask(Core& core);
  Known known();

  Client& client_;
  const config::ConfigSource& config_;
  const Clock& clock_;
  const Times times_;
  std::atomic<Clock::Steady> answered_at_;
  std::mutex mutex_;
  Known known_;
  Clock::Steady failed_at_{};
};

}  // namespace vg::kube
