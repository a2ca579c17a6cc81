#include "server/fairness.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "auth/identify.h"
#include "base/background.h"
#include "base/budgets.h"
#include "base/log.h"
#include "base/off_loop.h"
#include "base/random.h"
#include "server/failed_logins.h"

namespace vg::server {
namespace fair {

Class classify(std::span<const std::string> groups, std::string_view own_namespace) {
  constexpr std::string_view accounts = "system:serviceaccounts:";
  bool nobody = false, component = false;
  for (const std::string& group : groups) {
    if (group == auth::administrators_group) return Class::administrators;
    if (group == auth::unauthenticated_group) nobody = true;
    if (group == "system:nodes") component = true;
    if (!group.starts_with(accounts)) continue;
    const std::string_view ns = std::string_view(group).substr(accounts.size());
    component = component || ns == own_namespace || ns == "kube-system";
  }
  if (nobody) return Class::unauthenticated;
  return component ? Class::components : Class::users;
}

Kind with_body(Kind kind, const http::Request& request) {
  if (kind != Kind::waits) return kind;
  if (const auto length = request.headers.find("content-length")) {
    std::size_t bytes = 0;
    std::from_chars(length->data(), length->data() + length->size(), bytes);
    return bytes < off_loop_bytes_min ? Kind::waits : Kind::large;
  }
  return request.headers.find("transfer-encoding") ? Kind::large : Kind::waits;
}

Kind with_work(Kind kind, std::size_t bytes) {
  if (kind == Kind::bulk || kind == Kind::heavy || bytes < off_loop_bytes_min) return kind;
  return bytes < budgets::heavy_bytes_min ? Kind::large : Kind::heavy;
}

bool may_hold(Class cls, const HoldState& state) {
  if (state.all >= state.max) return false;
  if (state.own == 0) return true;
  if (cls == Class::administrators || cls == Class::components)
    return state.all < state.max - state.max / budgets::held_reserve_of;
  const std::size_t room = state.max / 8 * budgets::held_by_users_of_8;
  return state.by_users < room && state.own < room - state.by_users;
}

std::string source_of(std::string_view address) {
  in6_addr parsed{};
  const std::string text(address.substr(0, address.find('%')));
  if (!text.contains(':') || ::inet_pton(AF_INET6, text.c_str(), &parsed) != 1 || IN6_IS_ADDR_V4MAPPED(&parsed))
    return std::string(address);
  std::fill(parsed.s6_addr + 8, parsed.s6_addr + 16, std::uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> out{};
  return std::string(::inet_ntop(AF_INET6, &parsed, out.data(), out.size())) + "/64";
}

}  // namespace fair

namespace {

using fair::Class;
using fair::Kind;
using std::chrono::milliseconds;

// How long waiting requests run on before the event loop looks for new ones.
constexpr std::chrono::milliseconds slice{2};
// How often it is looked who has waited too long.
constexpr milliseconds tick{250};
constexpr std::array<std::string_view, hold_count> hold_names{"watches", "streams"};

std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text) | 1; }

std::string_view address_of(const http::Request& request) {
  return request.peer ? std::string_view(request.peer->address) : std::string_view("-");
}

// Spread, so that those who were refused together do not come back together.
int retry_after_seconds() { return 1 + static_cast<int>(random_u64() % 4); }

Status too_many(std::string what) {
  const int seconds = retry_after_seconds();
  return Status::too_many_requests(fmt::format("{}; retry after {} s", what, seconds), seconds);
}

bool is_user(Class cls) { return cls != Class::administrators && cls != Class::components; }

}  // namespace

// What belongs to one core and is only touched there, except for the numbers that are shown.
struct Fairness::PerCore {
  PerCore(const Clock& given, const fair::Options& options) : clock(given), scheduler(options) {}

  const Clock& clock;
  fair::Scheduler scheduler;
  Core* core = nullptr;
  bool called = false;
  Background ticker;
  fair::FailedLogins failed;
  bool calm = true;  // nobody guesses credentials
  std::vector<Hint> hints{budgets::credential_hints_max};
  struct Shown {
    std::atomic<std::uint32_t> in_use{0}, queued{0};
  };
  std::array<Shown, fair::class_count> shown;

  void publish(Class cls) {
    Shown& one = shown[static_cast<std::size_t>(cls)];
    one.in_use.store(static_cast<std::uint32_t>(scheduler.in_use(cls)), std::memory_order_relaxed);
    one.queued.store(static_cast<std::uint32_t>(scheduler.queued(cls)), std::memory_order_relaxed);
  }

  // Whoever waits goes on after what the event loop has already found ready.
  void call() {
    if (called) return;
    called = true;
    core->post([this] {
      called = false;
      serve_waiting();
    });
  }

  void serve_refused() {
    while (auto* refused = scheduler.take_refused()) static_cast<Turn*>(refused)->go_on();
  }

  void serve_waiting() {
    serve_refused();
    std::chrono::nanoseconds used{0};
    auto now = clock.steady_now();
    while (auto* waiter = scheduler.next()) {
      // Its connection will bring another request, whose asker has to be found out too.
      used += waiter->before;
      static_cast<Turn*>(waiter)->go_on();
      const auto then = clock.steady_now();
      used += then - now;
      now = then;
      if (used < slice) continue;
      if (scheduler.waiting()) call();
      break;
    }
  }

  void wait_for_turns() {
    call();
    if (ticker.done()) ticker = Background(expire());
  }

  Task<void> expire() {
    while (scheduler.waiting()) {
      co_await core->sleep(tick);
      scheduler.expire(clock.steady_now());
      serve_refused();
    }
  }
};

Fairness::Fairness(Parts parts)
    : parts_(std::move(parts)),
      in_use_(parts_.metrics.gauges("virtgate_fairness_seats_in_use", "Requests that run now, by class.", {"class"})),
      queued_(
          parts_.metrics.gauges("virtgate_fairness_queued", "Requests that wait for their turn, by class.", {"class"})),
      shed_(parts_.metrics.counters("virtgate_fairness_shed_total",
                                    "Requests that were refused with 429 because of others of the same user or class.",
                                    {"class", "reason"})),
      log_allowance_({.burst = budgets::request_log_lines_burst,
                      .lines_per_second = budgets::request_log_lines_per_second,
                      .subjects_max = budgets::request_log_users_max}) {
  auto& waits = parts_.metrics.histograms("virtgate_fairness_wait_seconds",
                                          "How long requests waited for their turn, of those that had to.", {"class"},
                                          metrics::exponential_buckets(0.001, 4, 8));
  for (std::size_t c = 0; c < fair::class_count; ++c) wait_[c] = waits.with({to_string(static_cast<Class>(c))});
  for (unsigned i = 0; i < std::max(1u, parts_.cores); ++i)
    cores_.push_back(std::make_unique<PerCore>(parts_.clock, parts_.options));
  for (std::size_t h = 0; h < hold_count; ++h) holds_[h].max = parts_.holds_max[h];
}

Fairness::~Fairness() = default;

void Fairness::stop() {
  for (auto& core : cores_) core->ticker = Background();
}

Fairness::PerCore& Fairness::at(Core& core) const {
  PerCore& found = *cores_.at(core.index());
  found.core = &core;
  return found;
}

void Fairness::show() {
  for (std::size_t c = 0; c < fair::class_count; ++c) {
    double in_use = 0, queued = 0;
    for (const auto& core : cores_) {
      in_use += core->shown[c].in_use.load(std::memory_order_relaxed);
      queued += core->shown[c].queued.load(std::memory_order_relaxed);
    }
    in_use_.with({to_string(static_cast<Class>(c))})->set(in_use);
    queued_.with({to_string(static_cast<Class>(c))})->set(queued);
  }
}

// --- seats ----------------------------------------------------------------------------------------------------------

Fairness::Seat& Fairness::Seat::operator=(Seat&& other) noexcept {
  if (this == &other) return *this;
  leave();
  core_ = other.core_;
  flow_ = std::exchange(other.flow_, nullptr);
  kind_ = other.kind_;
  since_ = other.since_;
  return *this;
}

void Fairness::Seat::leave() {
  if (flow_) leave(core_->clock.steady_now());
}

void Fairness::Seat::leave(Time now) {
  if (!flow_) return;
  const bool waits = kind_ == Kind::waits || kind_ == Kind::large || kind_ == Kind::heavy;
  const std::chrono::nanoseconds most =
      waits ? std::chrono::nanoseconds(budgets::waiting_request_cost_max) : budgets::read_cost_max;
  const Class cls = fair::Scheduler::class_of(*flow_);
  core_->scheduler.leave(*std::exchange(flow_, nullptr), std::min<std::chrono::nanoseconds>(now - since_, most));
  core_->publish(cls);
  if (core_->scheduler.waiting()) core_->call();
}

Fairness::Turn::~Turn() {
  if (core_) core_->scheduler.abandon(*this);
}

bool Fairness::Turn::await_ready() {
  if (!fairness_) return true;
  core_ = &fairness_->at(exchange_.core());
  const Time now = core_->clock.steady_now();
  before = now - std::exchange(since_, now);
  const auto entered = core_->scheduler.enter(cls_, kind_, user_, *this, now);
  core_->publish(cls_);
  return entered != fair::Scheduler::Entered::queued;
}

void Fairness::Turn::await_suspend(std::coroutine_handle<> coroutine) {
  coroutine_ = coroutine;
  waited_ = true;
  core_->wait_for_turns();
  // A server that stops serves those who come; a client that goes away frees its place.
  if (!exchange_.cancelled()) exchange_.on_cancel([this] { left(); });
}

void Fairness::Turn::left() {
  core_->scheduler.abandon(*this);
  core_->publish(cls_);
  left_ = true;
  go_on();
}

Result<Fairness::Seat> Fairness::Turn::await_resume() {
  if (!fairness_) return Seat();
  if (waited_) {
    exchange_.on_cancel({});
    core_->publish(cls_);
    const Time now = core_->clock.steady_now();
    fairness_->wait_[static_cast<std::size_t>(cls_)]->observe(std::chrono::duration<double>(now - since_).count());
    since_ = now;
  }
  if (left_) return fail(Status::unavailable("the client left or the server stopped while the request was queued"));
  if (state == State::runs) {
    state = State::outside;
    return Seat(*core_, *flow, kind_, since_);
  }
  return fail(fairness_->refuse(*this, exchange_.request()));
}

Status Fairness::refuse(const Turn& turn, const http::Request& request) {
  const fair::Scheduler::Flow& flow = *turn.flow;
  const Class cls = fair::Scheduler::class_of(flow);
  const std::string& user = fair::Scheduler::user_of(flow);
  const std::size_t own = fair::Scheduler::queued_of(flow);
  std::string what;
  switch (turn.reason) {
    case fair::Reason::flow_queue_full:
      what = fmt::format("user \"{}\" has {} requests queued", user, own);
      break;
    case fair::Reason::class_queue_full:
      what = fmt::format("the queue of class {} is full, {} of its requests are of user \"{}\"", to_string(cls), own,
                         user);
      break;
    case fair::Reason::waited_too_long:
      what = fmt::format("the request was queued for {} s behind {} others of user \"{}\" (class {})",
                         std::chrono::seconds(budgets::queue_wait_max).count(), turn.ahead, user, to_string(cls));
      break;
  }
  note_shed(cls, to_string(turn.reason), user, what, &request);
  return too_many(std::move(what));
}

void Fairness::note_shed(Class cls, std::string_view reason, std::string_view user, std::string_view what,
                         const http::Request* request) {
  shed_.with({to_string(cls), reason})->add();
  std::uint64_t count = 0;
  {
    const std::lock_guard lock(shed_mutex_);
    const Time now = parts_.clock.steady_now();
    if (noted_.size() >= budgets::shed_log_users_max && !noted_.contains(std::string(user)))
      std::erase_if(noted_, [&](const auto& entry) { return now - entry.second.last >= budgets::shed_log_interval; });
    if (noted_.size() >= budgets::shed_log_users_max && !noted_.contains(std::string(user))) return;
    auto [found, made] = noted_.try_emplace(std::string(user));
    Noted& noted = found->second;
    ++noted.since_then;
    if (!made && now - noted.last < budgets::shed_log_interval) return;
    noted.last = now;
    count = std::exchange(noted.since_then, 0);
  }
  log::warning("requests are refused with 429 to protect other users",
               {{"username", user},
                {"class", to_string(cls)},
                {"reason", reason},
                {"details", what},
                {"refusedSinceLastLine", count},
                {"requestId", request ? request->id : std::string_view("-")},
                {"method", request ? request->method : std::string_view("-")},
                {"url", request ? request->path : std::string_view("-")},
                {"remoteAddress", request ? address_of(*request) : std::string_view("-")}});
}

// --- what is held for long ------------------------------------------------------------------------------------------

Result<Fairness::Held> Fairness::hold(Hold hold, const fair::Scheduler::Flow& flow) {
  const Class cls = fair::Scheduler::class_of(flow);
  const std::string& user = fair::Scheduler::user_of(flow);
  const std::string_view name = hold_names[static_cast<std::size_t>(hold)];
  std::string what;
  {
    const std::lock_guard lock(holds_mutex_);
    Holding& holding = holds_[static_cast<std::size_t>(hold)];
    const auto found = holding.own.find(user);
    const std::size_t own = found == holding.own.end() ? 0 : found->second;
    if (fair::may_hold(cls, {.max = holding.max, .all = holding.all, .by_users = holding.by_users, .own = own})) {
      ++holding.all;
      if (is_user(cls)) ++holding.by_users;
      ++holding.own[user];
      return Held(*this, hold, cls, user);
    }
    what = fmt::format("user \"{}\" has {} {} open, and {} of {} are in use; close some", user, own, name, holding.all,
                       holding.max);
  }
  note_shed(cls, name, user, what, nullptr);
  return fail(too_many(std::move(what)));
}

bool Fairness::may_log(std::string_view who) {
  const auto line = log_allowance_.take(who, parts_.clock.steady_now());
  if (line && line->left_out > 0)
    log::warning("lines about requests were left out, since one user or address caused too many",
                 {{"username", std::string_view(line->who).substr(0, budgets::request_log_text_bytes_max)},
                  {"lines", line->left_out}});
  return line.has_value();
}

void Fairness::give_back(Hold hold, Class cls, const std::string& user) {
  const std::lock_guard lock(holds_mutex_);
  Holding& holding = holds_[static_cast<std::size_t>(hold)];
  --holding.all;
  if (is_user(cls)) --holding.by_users;
  if (const auto found = holding.own.find(user); --found->second == 0) holding.own.erase(found);
}

// --- wrong credentials ----------------------------------------------------------------------------------------------

bool Fairness::suspicious(http::Exchange& exchange) const {
  PerCore& core = at(exchange.core());
  if (core.calm) return false;
  const http::Request& request = exchange.request();
  const Time now = core.clock.steady_now();
  core.calm = core.failed.quiet(now);
  if (core.calm || (request.peer && request.peer->certificate)) return false;
  return core.failed.over(fair::source_of(address_of(request)), now) && auth::shown_secret(request) && !hint(exchange);
}

const Fairness::Hint* Fairness::hint(http::Exchange& exchange) const {
  const http::Request& request = exchange.request();
  if (request.peer && request.peer->certificate) return nullptr;
  const auto shown = auth::shown_secret(request);
  if (!shown) return nullptr;
  const std::size_t hash = hash_of(*shown);
  const Hint& found = at(exchange.core()).hints[hash / 2 % budgets::credential_hints_max];
  return found.hash == hash ? &found : nullptr;
}

Status Fairness::failed_login(http::Exchange& exchange, Status answer) {
  PerCore& core = at(exchange.core());
  const http::Request& request = exchange.request();
  const std::string source = fair::source_of(address_of(request));
  core.calm = false;
  if (!core.failed.add(source, core.clock.steady_now())) return answer;
  std::string what = fmt::format("too many invalid credentials were sent from {}; check them", source);
  note_shed(Class::unauthenticated, "failed-logins", source, what, &request);
  return too_many(std::move(what));
}

void Fairness::good_login(http::Exchange& exchange, Class cls, std::string_view user) {
  const http::Request& request = exchange.request();
  if (request.peer && request.peer->certificate) return;
  const auto shown = auth::shown_secret(request);
  if (!shown) return;
  const std::size_t hash = hash_of(*shown);
  Hint& kept = at(exchange.core()).hints[hash / 2 % budgets::credential_hints_max];
  if (kept.hash != hash) kept = {.hash = hash, .cls = cls, .user = std::string(user)};
}

}  // namespace vg::server
