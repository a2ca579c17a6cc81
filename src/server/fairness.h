// Who is served when not all can be: requests are classed, take turns by user, and are refused with 429 and
// Retry-After beyond what one user may have waiting. Decisions are fair_scheduler's, one a core; here they meet
// coroutines, metrics and the log.
//
//   exempt: health, metrics, version      always run
//   components                            nodes, controllers, KubeVirt's own service accounts
//   administrators, users                 by user; who impersonates pays for it
//   webhooks (in a cluster)               by the address that calls: kube-apiserver is one among others
//   unauthenticated                       nobody in particular is one flow; wrong credentials one for each address
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/core.h"
#include "base/metrics.h"
#include "base/status.h"
#include "http/exchange.h"
#include "server/fair_scheduler.h"
#include "server/log_allowance.h"

namespace vg::server {

// What somebody holds for long, after their request is through: bounded in all, and for each user.
enum class Hold : std::uint8_t { watch, stream };
inline constexpr std::size_t hold_count = 2;

namespace fair {

// The class of a user who has proved to be somebody. `own_namespace`: where KubeVirt's service accounts are.
Class classify(std::span<const std::string> groups, std::string_view own_namespace);

// Kind::large in place of Kind::waits for a request whose body is large, or does not say how large it is.
Kind with_body(Kind kind, const http::Request& request);
// What a request of this kind is when so many bytes of bodies and objects have to be gone over for it.
Kind with_work(Kind kind, std::size_t bytes);

// Whether one more may be held. Users may have as many as are free, and leave some to those who run the cluster.
struct HoldState {
  std::size_t max = 0;
  std::size_t all = 0;       // held by anybody
  std::size_t by_users = 0;  // of these, by class users and those below it
  std::size_t own = 0;       // of these, by the one who asks
};
bool may_hold(Class cls, const HoldState& state);

// The address as far as it stands for one client: of IPv6 that is the network, which has addresses without end.
std::string source_of(std::string_view address);

}  // namespace fair

class Fairness {
 public:
  using Time = fair::Scheduler::Time;
  struct Parts {
    const Clock& clock;
    metrics::Registry& metrics;
    unsigned cores = 1;
    fair::Options options = fair::default_options(1);
    std::string own_namespace = "kubevirt";
    std::array<std::size_t, hold_count> holds_max;  // Hold::watch, Hold::stream
  };
  // Everything in the parts outlives this; this outlives the requests.
  explicit Fairness(Parts parts);
  ~Fairness();
  Fairness(const Fairness&) = delete;
  Fairness& operator=(const Fairness&) = delete;

  fair::Class classify(std::span<const std::string> groups) const {
    return fair::classify(groups, parts_.own_namespace);
  }
  // Brings the gauges up to date, for who reads them.
  void show();
  // After the cores have stopped, before they are destroyed.
  void stop();

  struct PerCore;

  // A request that runs; ends when this does.
  class Seat {
   public:
    Seat() = default;
    Seat(PerCore& core, fair::Scheduler::Flow& flow, fair::Kind kind, Time since)
        : core_(&core), flow_(&flow), kind_(kind), since_(since) {}
    Seat(Seat&& other) noexcept
        : core_(other.core_), flow_(std::exchange(other.flow_, nullptr)), kind_(other.kind_), since_(other.since_) {}
    Seat& operator=(Seat&& other) noexcept;
    ~Seat() { leave(); }
    bool taken() const { return flow_ != nullptr; }
    const fair::Scheduler::Flow* flow() const { return flow_; }
    fair::Kind kind() const { return kind_; }
    void leave();
    void leave(Time now);

   private:
    PerCore* core_ = nullptr;
    fair::Scheduler::Flow* flow_ = nullptr;
    fair::Kind kind_{};
    Time since_{};
  };

  // Something that is held; given back when this ends, on any thread.
  class Held {
   public:
    Held() = default;
    Held(Held&& other) noexcept
        : fairness_(std::exchange(other.fairness_, nullptr)),
          hold_(other.hold_),
          cls_(other.cls_),
          user_(std::move(other.user_)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (fairness_) fairness_->give_back(hold_, cls_, user_);
    }

   private:
    friend class Fairness;
    Held(Fairness& fairness, Hold hold, fair::Class cls, std::string user)
        : fairness_(&fairness), hold_(hold), cls_(cls), user_(std::move(user)) {}
    Fairness* fairness_ = nullptr;
    Hold hold_{};
    fair::Class cls_{};
    std::string user_;
  };
  Result<Held> hold(Hold hold, const fair::Scheduler::Flow& flow);

  // Whether one more line about requests of this user, or from this source, may be written to the log.
  bool may_log(std::string_view who);

  // co_await: the seat of a request when its turn has come, or the refusal. `user` only needs to live until then.
  class [[nodiscard]] Turn : public fair::Scheduler::Waiter {
   public:
    Turn(Fairness* fairness, http::Exchange& exchange, fair::Class cls, fair::Kind kind, std::string_view user,
         Time began)
        : fairness_(fairness), exchange_(exchange), user_(user), cls_(cls), kind_(kind), since_(began) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();
    bool await_ready();
    void await_suspend(std::coroutine_handle<> coroutine);
    Result<Seat> await_resume();
    void go_on() { std::exchange(coroutine_, nullptr).resume(); }

   private:
    void left();

    Fairness* fairness_;  // null: everybody runs
    http::Exchange& exchange_;
    PerCore* core_ = nullptr;
    std::string_view user_;
    fair::Class cls_;
    fair::Kind kind_;
    bool left_ = false, waited_ = false;
    Time since_;
    std::coroutine_handle<> coroutine_;
  };

  // The turn of a request that has sat already and needs another seat, so what it did until now is paid for.
  Turn next_turn(http::Exchange& exchange, fair::Class cls, fair::Kind kind, std::string_view user) {
    return Turn(this, exchange, cls, kind, user, parts_.clock.steady_now());
  }

  // Whether the request comes from where credentials are guessed, and shows none that held lately: it waits for its
  // turn among those before anybody looks at its credentials.
  bool suspicious(http::Exchange& exchange) const;
  // The answer to credentials that did not hold: what was to be answered, or that there were too many of them.
  Status failed_login(http::Exchange& exchange, Status answer);
  // They did hold, and stand for this user.
  void good_login(http::Exchange& exchange, fair::Class cls, std::string_view user);
  // For whom the request's credentials stood when they last held here. To check a signature costs more than most
  // requests: whose turn it is goes by this, before it is found out whether they still hold.
  struct Hint {
    std::size_t hash = 0;
    fair::Class cls{};
    std::string user;
  };
  const Hint* hint(http::Exchange& exchange) const;

 private:
  PerCore& at(Core& core) const;
  Status refuse(const Turn& turn, const http::Request& request);
  void note_shed(fair::Class cls, std::string_view reason, std::string_view user, std::string_view what,
                 const http::Request* request);
  void give_back(Hold hold, fair::Class cls, const std::string& user);

  struct Holding {
    std::size_t max = 0, all = 0, by_users = 0;
    std::unordered_map<std::string, std::size_t> own;
  };
  struct Noted {
    Time last{};
    std::uint64_t since_then = 0;
  };

  const Parts parts_;
  metrics::Family<metrics::Gauge>&in_use_, &queued_;
  metrics::Family<metrics::Counter>& shed_;
  std::array<std::shared_ptr<metrics::Histogram>, fair::class_count> wait_;
  std::vector<std::unique_ptr<PerCore>> cores_;
  // Watches and streams come and go a few times a second.
  std::mutex holds_mutex_;
  std::array<Holding, hold_count> holds_;
  LogAllowance log_allowance_;
  std::mutex shed_mutex_;
  std::unordered_map<std::string, Noted> noted_;
};

}  // namespace vg::server
