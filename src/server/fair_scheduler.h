// Whose request runs next on one core: pure bookkeeping, without I/O, clock or threads.
//
// Requests belong to a level (class of users, and what kind of request it is) and in it to a flow: one user. A flow
// that has not used up its share runs at once; others wait in the flow's own queue, and whoever takes the next one goes
// from flow to flow. What is free can be used by anybody; a flow that is alone is never held back.
//
//   share of the core   A flow that has run for a while gives others a turn before its next request.
//   seats               Requests that wait for something hold one. A flow holds at most as many as are still free, so a
//                       newcomer always finds some, however greedy the others are and however long theirs take.
//   queues              Bounded for a flow, for a level and in time. When a level's queue is full, the flow with the
//                       longest queue loses the request that has waited longest.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace vg::server::fair {

// Whom a request is for. No class can starve another one.
enum class Class : std::uint8_t { components, administrators, users, webhooks, unauthenticated };
inline constexpr std::size_t class_count = 5;
std::string_view to_string(Class cls);

enum class Kind : std::uint8_t {
  quick,  // runs to its end: reads of one object
  list,   // runs for long, in slices, and while its client reads: lists, and what watches begin with
  waits,  // waits for the store, a node, a body: writes and actions
  large,  // the same with a large body, or for a large object, which few threads read
  heavy,  // the same with so much that memory is short of it
  bulk,   // many writes at once: the deletion of a collection
};
inline constexpr std::size_t kind_count = 6;

enum class Reason : std::uint8_t { flow_queue_full, class_queue_full, waited_too_long };
std::string_view to_string(Reason reason);

struct LevelOptions {
  std::size_t seats = 1;
  std::size_t queue_max = 1;       // all flows together
  std::size_t flow_queue_max = 1;  // one flow
  unsigned weight = 1;             // of the core's time, while others want it too
};

struct Options {
  using Duration = std::chrono::nanoseconds;
  std::array<std::array<LevelOptions, kind_count>, class_count> levels;
  // What a flow may use of a core in every window without giving others a turn in between: all of it while it is alone,
  // less while others are there. What it used beyond that is a debt, up to a bound.
  Duration window{std::chrono::milliseconds(2)};
  Duration share_alone{std::chrono::milliseconds(2)};
  Duration share_contended{std::chrono::microseconds(500)};
  Duration debt_max{std::chrono::milliseconds(50)};
  // Others are there for so long after they last asked.
  Duration contended_for{std::chrono::milliseconds(100)};
  Duration wait_max{std::chrono::seconds(10)};
};

// What budgets.h says, for each of so many cores.
Options default_options(unsigned cores);
Options default_options(unsigned cores, std::size_t user_seats);

class Scheduler {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;
  struct Level;
  struct Flow;

  // A request that wants to run. Lives where the request waits, which calls abandon() when it goes before its turn.
  struct Waiter {
    Flow* flow = nullptr;
    Time since{};
    Duration before{};      // what the request has cost already: finding out who asks
    std::size_t ahead = 0;  // requests of the same flow in its queue when it came
    enum class State : std::uint8_t { outside, queued, refused, runs } state = State::outside;
    Reason reason{};
    std::list<Waiter*>::iterator place{};  // in the queue, or among the refused
  };

  explicit Scheduler(const Options& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  enum class Entered : std::uint8_t { runs, queued, refused };
  // `runs`: leave() ends it. `queued`: next(), take_refused() or abandon() take it out.
  Entered enter(Class cls, Kind kind, std::string_view user, Waiter& waiter, Time now);
  // A request that ran is complete and has cost so much since it entered.
  void leave(Flow& flow, Duration cost);
  // The request whose turn it is; from now on it runs. Null when none can.
  Waiter* next();
  // Refuses everybody who has waited too long.
  void expire(Time now);
  // One that was refused while it waited. Null when there is none.
  Waiter* take_refused();
  // Nobody waits for this one any more.
  void abandon(Waiter& waiter);

  bool waiting() const { return queued_ > 0 || !refused_.empty(); }
  std::size_t in_use(Class cls) const;
  std::size_t queued(Class cls) const;
  std::size_t flows() const;

  static Class class_of(const Flow& flow);
  static const std::string& user_of(const Flow& flow);
  static std::size_t queued_of(const Flow& flow);

 private:
  Level& level(Class cls, Kind kind) { return *levels_[static_cast<std::size_t>(cls)][static_cast<std::size_t>(kind)]; }
  Flow& find(Level& level, std::string_view user, Time now);
  void refill(Flow& flow, Time now) const;
  void charge(Flow& flow, Duration cost) const;
  bool queue(Level& level, Flow& flow, Waiter& waiter, Time now);
  Waiter& pop_oldest(Flow& flow);
  void taken_out(Flow& flow);
  void refuse(Waiter& waiter, Reason reason);
  static Flow* choose(Level& level, Duration quantum);

  const Options options_;
  std::array<std::array<std::unique_ptr<Level>, kind_count>, class_count> levels_;
  std::list<Waiter*> refused_;
  std::size_t queued_ = 0;
  const Flow* last_ = nullptr;  // who entered last; compared, never followed
  Time changed_{};              // when that was last somebody else
  double served_ = 0;           // the weighted time at which the last level was served
};

}  // namespace vg::server::fair
