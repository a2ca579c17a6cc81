#include "server/fair_scheduler.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/budgets.h"

namespace vg::server::fair {
namespace {

struct TextHash : std::hash<std::string_view> {
  using is_transparent = void;
};

// A level's part for one core. A few stay even where there are many cores.
std::size_t each(std::size_t all, unsigned cores, std::size_t least) { return std::max(least, all / cores); }

}  // namespace

std::string_view to_string(Class cls) {
  static constexpr std::array<std::string_view, class_count> names{"components", "administrators", "users", "webhooks",
                                                                   "unauthenticated"};
  return names[static_cast<std::size_t>(cls)];
}

std::string_view to_string(Reason reason) {
  static constexpr std::array<std::string_view, 3> names{"user-queue-full", "class-queue-full", "waited-too-long"};
  return names[static_cast<std::size_t>(reason)];
}

Options default_options(unsigned cores) { return default_options(cores, budgets::user_seats); }

Options default_options(unsigned cores, std::size_t user_seats) {
  cores = std::max(1u, cores);
  const auto levels = [&](std::size_t waiting_seats, std::size_t list_seats_each, unsigned weight) {
    const LevelOptions base{.seats = each(budgets::quick_seats, cores, 64),
                            .queue_max = budgets::queued_requests_max,
                            .flow_queue_max = budgets::queued_requests_of_user_max,
                            .weight = weight};
    std::array<LevelOptions, kind_count> made{base, base, base, base, base, base};
    made[static_cast<std::size_t>(Kind::large)].seats = each(budgets::large_body_seats, cores, 4);
    made[static_cast<std::size_t>(Kind::heavy)].seats = each(budgets::heavy_seats, cores, 2);
    made[static_cast<std::size_t>(Kind::list)].seats = list_seats_each;
    made[static_cast<std::size_t>(Kind::waits)].seats = each(waiting_seats, cores, 32);
    made[static_cast<std::size_t>(Kind::bulk)].seats = each(budgets::bulk_seats, cores, 2);
    return made;
  };
  Options options;
  options.levels = {levels(budgets::component_seats, budgets::component_list_seats_each, 4),
                    levels(budgets::administrator_seats, budgets::list_seats_each, 2),
                    levels(user_seats, budgets::list_seats_each, 4),
                    levels(budgets::webhook_seats, budgets::list_seats_each, 8),
                    levels(budgets::unauthenticated_seats, budgets::list_seats_each, 1)};
  options.wait_max = budgets::queue_wait_max;
  return options;
}

struct Scheduler::Flow {
  Flow(Level& in, std::string_view name) : level(in), user(name) {}
  Level& level;
  const std::string user;
  std::size_t held = 0;
  std::list<Waiter*> queue;
  std::list<Flow*>::iterator place{};  // among the active ones, while it has a queue
  std::int64_t window = 0;             // up to which credit was given
  Duration credit{};                   // of the core's time; below zero: a debt
};

struct Scheduler::Level {
  Level(Class c, const LevelOptions& o) : cls(c), options(o) {}
  const Class cls;
  const LevelOptions options;
  std::unordered_map<std::string, std::unique_ptr<Flow>, TextHash, std::equal_to<>> flows;
  std::list<Flow*> active;  // those with a queue, the next one first
  std::size_t in_use = 0;
  std::size_t queued = 0;
  double served = 0;  // time, by weight

  // As many as are free: the first may take a half, the next one a third, and nobody finds none.
  bool has_seat(const Flow& flow) const { return in_use < options.seats && flow.held < options.seats - in_use; }
};

Scheduler::Scheduler(const Options& options) : options_(options) {
  for (std::size_t c = 0; c < class_count; ++c)
    for (std::size_t k = 0; k < kind_count; ++k)
      levels_[c][k] = std::make_unique<Level>(static_cast<Class>(c), options.levels[c][k]);
}

Scheduler::~Scheduler() = default;

Class Scheduler::class_of(const Flow& flow) { return flow.level.cls; }
const std::string& Scheduler::user_of(const Flow& flow) { return flow.user; }
std::size_t Scheduler::queued_of(const Flow& flow) { return flow.queue.size(); }

Scheduler::Flow& Scheduler::find(Level& in, std::string_view user, Time now) {
  auto found = in.flows.find(user);
  if (found == in.flows.end()) {
    if (in.flows.size() >= budgets::idle_flows_max)
      std::erase_if(in.flows, [](const auto& entry) { return entry.second->held == 0 && entry.second->queue.empty(); });
    found = in.flows.emplace(std::string(user), std::make_unique<Flow>(in, user)).first;
  }
  Flow& flow = *found->second;
  if (last_ != &flow) {
    last_ = &flow;
    changed_ = now;
  }
  return flow;
}

void Scheduler::refill(Flow& flow, Time now) const {
  const std::int64_t window = now.time_since_epoch() / options_.window;
  if (window == flow.window) return;
  const bool contended = now - changed_ < options_.contended_for;
  const Duration share = contended ? options_.share_contended : options_.share_alone;
  // Longer than any debt lasts.
  const std::int64_t windows = std::min<std::int64_t>(window - flow.window, 1 + options_.debt_max / share);
  flow.window = window;
  flow.credit = std::min(flow.credit + share * windows, options_.share_alone);
}

void Scheduler::charge(Flow& flow, Duration cost) const {
  flow.credit = std::max(flow.credit - cost, -options_.debt_max);
}

Scheduler::Entered Scheduler::enter(Class cls, Kind kind, std::string_view user, Waiter& waiter, Time now) {
  Level& in = level(cls, kind);
  Flow& flow = find(in, user, now);
  waiter.flow = &flow;
  refill(flow, now);
  const bool has_credit = flow.credit > Duration(0);
  charge(flow, waiter.before);
  if (has_credit && flow.queue.empty() && in.has_seat(flow)) {
    ++flow.held;
    ++in.in_use;
    waiter.state = Waiter::State::runs;
    return Entered::runs;
  }
  return queue(in, flow, waiter, now) ? Entered::queued : Entered::refused;
}

bool Scheduler::queue(Level& in, Flow& flow, Waiter& waiter, Time now) {
  waiter.since = now;
  waiter.ahead = flow.queue.size();
  const auto refused = [&](Reason reason) {
    waiter.reason = reason;
    return false;
  };
  if (flow.queue.size() >= in.options.flow_queue_max) return refused(Reason::flow_queue_full);
  if (in.queued >= in.options.queue_max) {
    Flow* longest = *std::ranges::max_element(in.active, {}, [](const Flow* other) { return other->queue.size(); });
    if (longest->queue.size() <= flow.queue.size() + 1) return refused(Reason::class_queue_full);
    refuse(pop_oldest(*longest), Reason::class_queue_full);
  }
  if (flow.queue.empty()) {
    if (in.active.empty()) in.served = std::max(in.served, served_);
    flow.place = in.active.insert(in.active.end(), &flow);
  }
  waiter.place = flow.queue.insert(flow.queue.end(), &waiter);
  waiter.state = Waiter::State::queued;
  ++in.queued;
  ++queued_;
  return true;
}

// After one was taken from the flow's queue.
void Scheduler::taken_out(Flow& flow) {
  --flow.level.queued;
  --queued_;
  if (flow.queue.empty()) flow.level.active.erase(flow.place);
}

Scheduler::Waiter& Scheduler::pop_oldest(Flow& flow) {
  Waiter& oldest = *flow.queue.front();
  flow.queue.pop_front();
  taken_out(flow);
  oldest.state = Waiter::State::outside;
  return oldest;
}

void Scheduler::refuse(Waiter& waiter, Reason reason) {
  waiter.state = Waiter::State::refused;
  waiter.reason = reason;
  waiter.place = refused_.insert(refused_.end(), &waiter);
}

Scheduler::Waiter* Scheduler::take_refused() {
  if (refused_.empty()) return nullptr;
  Waiter* waiter = refused_.front();
  refused_.pop_front();
  waiter->state = Waiter::State::outside;
  return waiter;
}

void Scheduler::abandon(Waiter& waiter) {
  if (waiter.state == Waiter::State::refused) refused_.erase(waiter.place);
  if (waiter.state == Waiter::State::queued) {
    waiter.flow->queue.erase(waiter.place);
    taken_out(*waiter.flow);
  }
  waiter.state = Waiter::State::outside;
}

void Scheduler::leave(Flow& flow, Duration cost) {
  --flow.held;
  --flow.level.in_use;
  charge(flow, cost);
  flow.level.served += static_cast<double>(cost.count()) / flow.level.options.weight;
}

// Deficit round robin, except that what a request costs is known only afterwards: a flow goes on until it is in debt,
// and comes again when the others have had as much.
Scheduler::Flow* Scheduler::choose(Level& in, Duration quantum) {
  const auto ready = [&](const Flow* flow) { return in.has_seat(*flow); };
  const auto turn = std::ranges::find_if(in.active, [&](Flow* f) { return f->credit > Duration(0) && ready(f); });
  if (turn != in.active.end()) {
    Flow* chosen = *turn;
    // Whoever was passed over has no credit or no seat: they come after this one.
    in.active.splice(in.active.end(), in.active, in.active.begin(), turn);
    return chosen;
  }
  Duration best = Duration::min();
  for (const Flow* flow : in.active)
    if (ready(flow)) best = std::max(best, flow->credit);
  if (best == Duration::min()) return nullptr;
  // All are in debt: all get what the one with the least debt needs for a turn.
  for (Flow* flow : in.active) flow->credit = std::min(flow->credit + (quantum - best), quantum);
  return *std::ranges::find_if(in.active, [&](Flow* f) { return f->credit > Duration(0) && ready(f); });
}

Scheduler::Waiter* Scheduler::next() {
  if (queued_ == 0) return nullptr;
  std::array<Level*, class_count * kind_count> wanting;
  std::size_t count = 0;
  for (auto& kinds : levels_)
    for (auto& one : kinds)
      if (one->queued > 0) wanting[count++] = one.get();
  std::sort(wanting.begin(), wanting.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Level* a, const Level* b) { return a->served < b->served; });
  for (std::size_t i = 0; i < count; ++i) {
    Level& in = *wanting[i];
    Flow* flow = choose(in, options_.share_contended);
    if (!flow) continue;
    served_ = in.served;
    Waiter& waiter = pop_oldest(*flow);
    ++flow->held;
    ++in.in_use;
    waiter.state = Waiter::State::runs;
    return &waiter;
  }
  return nullptr;
}

void Scheduler::expire(Time now) {
  for (auto& kinds : levels_)
    for (auto& one : kinds)
      for (auto at = one->active.begin(); at != one->active.end();) {
        Flow& flow = **at++;  // the flow leaves the list with its last request
        while (!flow.queue.empty() && now - flow.queue.front()->since >= options_.wait_max)
          refuse(pop_oldest(flow), Reason::waited_too_long);
      }
}

std::size_t Scheduler::in_use(Class cls) const {
  std::size_t sum = 0;
  for (const auto& one : levels_[static_cast<std::size_t>(cls)]) sum += one->in_use;
  return sum;
}

std::size_t Scheduler::queued(Class cls) const {
  std::size_t sum = 0;
  for (const auto& one : levels_[static_cast<std::size_t>(cls)]) sum += one->queued;
  return sum;
}

std::size_t Scheduler::flows() const {
  std::size_t sum = 0;
  for (const auto& kinds : levels_)
    for (const auto& one : kinds) sum += one->flows.size();
  return sum;
}

}  // namespace vg::server::fair
