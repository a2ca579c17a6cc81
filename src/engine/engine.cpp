#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "base/background.h"
#include "base/controller_limits.h"
#include "base/engine_limits.h"
#include "base/log.h"
#include "base/random.h"
#include "engine/carry_out.h"
#include "engine/index.h"
#include "engine/opened.h"
#include "engine/store_world.h"
#include "engine/work_queue.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "objects/turn.h"
#include "objects/wakeup.h"
#include "tracing/hand_over.h"

namespace vg::engine {
namespace {

using controllers::Controller;
using controllers::Pass;
using std::chrono::milliseconds;

// Of the trace that the object's present state belongs to; nothing where there is none, or it is long ago.
tracing::Span pass_span(const Controller& controller, const Key& key, const json::Object* object, Clock::Wall now) {
  if (!tracing::Tracer::active() || !object) return {};
  const json::Object* metadata = json::get_object(*object, "metadata");
  const json::Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  if (!annotations) return {};
  const auto trace = tracing::stored_context(json::get_string_or(*annotations, tracing::traceparent_annotation),
                                             json::get_string_or(*annotations, tracing::tracestate_annotation), now);
  if (!trace) return {};
  tracing::Span span = tracing::Span::below(*trace, "controller pass", tracing::SpanKind::consumer);
  span.set("virtgate.controller", controller.name);
  span.set("k8s.namespace.name", key.ns);
  span.set("virtgate.name", key.name);
  return span;
}

// Many numbers with one system call; none is given twice, or stays.
class Randomness {
 public:
  std::uint64_t next() {
    if (left_ == 0) {
      fill_random({reinterpret_cast<std::uint8_t*>(drawn_.data()), sizeof(drawn_)});
      left_ = drawn_.size();
    }
    return std::exchange(drawn_[--left_], 0);
  }

 private:
  std::array<std::uint64_t, 64> drawn_ = {};
  std::size_t left_ = 0;
};

constexpr double pass_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5};

}  // namespace

// One controller with its queue.
struct Loop {
  const Controller* controller = nullptr;
  WorkQueue queue = {};
  // Whether it keeps up: what was queued before the last look must have had its pass at the next one.
  std::uint64_t turn_then = 0;
  std::shared_ptr<std::atomic<bool>> behind = std::make_shared<std::atomic<bool>>(false);
  std::set<Key> waiting = {};                    // objects that found no node
  std::map<Key, WorkQueue::Instant> asked = {};  // when their last pass wanted to look again
  // What settled passes have written, and no change has shown yet.
  std::map<Key, std::vector<Revision>> written = {};
  // Changes that came while the object had its pass: which of them are its own is known at the end of it.
  std::map<Key, std::vector<std::pair<Revision, int>>> held = {};
  std::shared_ptr<metrics::Gauge> depth = {}, without_node = {};
  std::shared_ptr<metrics::Counter> succeeded = {}, failed = {}, lost_races = {};
  std::shared_ptr<metrics::Histogram> seconds = {};
};

class Engine::Work {
 public:
  explicit Work(Parts parts)
      : parts_(parts),
        wakeup_(std::make_shared<resources::Wakeup>(parts.core)),
        carrier_({.backend = parts.backend,
                  .core = parts.core,
                  .events = events_,
                  .nodes = parts.nodes,
                  .sink = parts.events,
                  .elsewhere = parts.elsewhere}) {
    add_loops();
    add_sources();
    if (parts.disks) parts.disks->on_change([wakeup = wakeup_] { wakeup->signal(); });
  }
  ~Work() {
    if (parts_.disks) parts_.disks->on_change(nullptr);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  Task<void> run();
  bool at_rest() const { return at_rest_.load(std::memory_order_acquire); }
  std::optional<std::string> problem() const;

 private:
  // The changes of one resource, and what they mean to whom.
  struct Source {
    std::string resource;
    std::unique_ptr<Watch> watch = {};
    bool more = true;             // next() may have something
    std::vector<Loop*> own = {};  // whose objects these are
    std::vector<std::pair<Loop*, const controllers::Trigger*>> triggers = {};
    bool finds_missing = false;  // one of the triggers is of a controller that looks at what is not there
  };

  ObjectStore& store() { return parts_.backend.store; }
  void add_loops();
  void add_sources();
  Source& source_of(std::string_view resource);
  void open(Source& source);
  void look_at_all(Source& source);
  bool follow(Source& source);
  void follow(Source& source, const vg::Change& change);
  void see(Source& source, const vg::Change& change);
  void queue(Loop& loop, const Key& key, int priority);
  void queue_own(Loop& loop, const Key& key, Revision revision, int priority);
  void look_later(Loop& loop, const Key& key) { loop.queue.add_by(key, now() + limits::controller_settled_look); }
  void note_written(Loop& loop, const Key& key, const Pass& pass, const Done& done);
  void release_held(Loop& loop, const Key& key);
  void trigger(Source& source, const controllers::Change& seen, const StoreWorld& world, bool only_missing);
  bool has_room(const Loop& loop) const;
  bool start_passes(Loop& loop);
  Task<void> look_at(Loop& loop, Key key);
  Task<bool> pass(Loop& loop, const Key& key);
  bool time_is_up(Loop& loop, const Key& key);
  bool finished(Loop& loop, const Key& key, const Pass& pass, const Done& done);
  void note_waiting(Loop& loop, const Key& key, bool waits);
  bool wake_waiting();
  const DiskView& disks() const { return parts_.disks ? static_cast<const DiskView&>(*parts_.disks) : no_disks_; }
  void hand_over(Loop& loop, const Key& key, const Pass& pass, const Done& done);
  bool follow_disks();
  void see_claim(const DiskClaimName& claim);
  std::size_t without_node() const;
  void look_whether_behind();
  std::optional<WorkQueue::Instant> next_instant() const;
  Task<void> wake_after(milliseconds time);
  WorkQueue::Instant now() const { return parts_.backend.clock.steady_now(); }

  Parts parts_;
  std::shared_ptr<resources::Wakeup> wakeup_;
  EventRecorder events_;
  Carrier carrier_;
  Opened opened_;
  Randomness random_;
  Index index_{parts_.backend.store, parts_.config, parts_.backend.clock, opened_};
  std::uint64_t nodes_then_ = 0;  // when those that wait for one were last woken
  WorkQueue::Instant may_wake_ = {};
  const NoDisks no_disks_;
  std::map<std::string, std::vector<std::pair<Loop*, Key>>, std::less<>> askers_;  // of jobs, by id
  std::list<Loop> loops_;
  std::list<Source> sources_;
  std::list<Background> passes_;
  Background timer_;
  std::atomic<bool> at_rest_ = false;
};

Engine::Engine(Parts parts) : work_(std::make_unique<Work>(parts)) {}
Engine::~Engine() = default;
Task<void> Engine::run() { return work_->run(); }
bool Engine::at_rest() const { return work_->at_rest(); }
std::optional<std::string> Engine::problem() const { return work_->problem(); }

void Engine::Work::add_loops() {
  auto& depth = parts_.metrics.gauges("virtgate_controller_queue_depth",
                                      "Objects that wait for a pass of a controller.", {"controller"});
  auto& passes = parts_.metrics.counters("virtgate_controller_passes_total", "Passes of a controller, by result.",
                                         {"controller", "result"});
  auto& seconds = parts_.metrics.histograms("virtgate_controller_pass_seconds",
                                            "How long passes of a controller took, writes included.", {"controller"},
                                            {std::begin(pass_bounds), std::end(pass_bounds)});
  auto& without_node = parts_.metrics.gauges("virtgate_controller_waiting_for_nodes",
                                             "Objects that wait for a node that has room for them.", {"controller"});
  for (const Controller& controller : parts_.controllers)
    loops_.push_back({.controller = &controller,
                      .queue = {},
                      .depth = depth.with({controller.name}),
                      .without_node = without_node.with({controller.name}),
                      .succeeded = passes.with({controller.name, "success"}),
                      .failed = passes.with({controller.name, "error"}),
                      .lost_races = passes.with({controller.name, "conflict"}),
                      .seconds = seconds.with({controller.name})});
}

Engine::Work::Source& Engine::Work::source_of(std::string_view resource) {
  for (Source& source : sources_)
    if (source.resource == resource) return source;
  return sources_.emplace_back(Source{.resource = std::string(resource)});
}

void Engine::Work::add_sources() {
  // What is indexed comes first, so that a pass never sees a world without it.
  source_of(controllers::kinds::node);
  source_of(controllers::kinds::vmi);
  source_of(controllers::kinds::migration);
  source_of(controllers::kinds::vm);
  for (Loop& loop : loops_) {
    source_of(loop.controller->resource).own.push_back(&loop);
    for (const controllers::Trigger& trigger : loop.controller->triggers) {
      Source& source = source_of(trigger.resource);
      source.triggers.emplace_back(&loop, &trigger);
      source.finds_missing = source.finds_missing || loop.controller->looks_at_missing;
    }
  }
}

// --- what happens ----------------------------------------------------------------------------------------------------

void Engine::Work::open(Source& source) {
  const Revision from = store().revision();
  auto watch =
      store().watch({.resource = source.resource, .from_revision = from}, [wakeup = wakeup_] { wakeup->signal(); });
  // Only an old revision can be refused, and this one is not.
  if (watch) source.watch = std::move(*watch);
  source.more = true;
  look_at_all(source);
}

void Engine::Work::look_at_all(Source& source) {
  const auto page = store().list({.resource = source.resource});
  if (!page) return;
  for (const ObjectPtr object : page->objects) {
    const Key key{.ns = std::string(object->ns()), .name = std::string(object->name())};
    for (Loop* loop : source.own) loop->queue.add(key);
    try {
      index_.see(*object);
      if (source.finds_missing) {
        const OpenedPtr opened = opened_.open(*object);
        trigger(source,
                {.happened = controllers::Happened::added, .before = nullptr, .after = opened->root().if_object()},
                StoreWorld(store(), index_.kept(), disks(), opened_), true);
      }
    } catch (const std::exception& error) {
      log::error("an object cannot be counted",
                 {{"object", fmt::format("{} {}/{}", source.resource, key.ns, key.name)}, {"reason", error.what()}});
    }
  }
}

// False when there was nothing.
bool Engine::Work::follow(Source& source) {
  if (!source.watch) open(source);
  if (!source.watch) return false;
  auto batch = source.watch->next(limits::controller_changes_at_once);
  if (!batch) {  // it fell behind the store's window
    source.watch = nullptr;
    for (Loop* loop : source.own) loop->written.clear();
    index_.drop_gone();
    open(source);
    return true;
  }
  source.more = batch->more;
  for (const vg::Change& change : batch->changes) follow(source, change);
  return batch->more || !batch->changes.empty();
}

// One object that cannot be read does not keep the others from being looked at.
void Engine::Work::follow(Source& source, const vg::Change& change) {
  try {
    see(source, change);
  } catch (const std::exception& error) {
    log::error("a change of an object cannot be followed",
               {{"object", fmt::format("{} {}/{}", source.resource, change.object->ns(), change.object->name())},
                {"reason", error.what()}});
  }
}

void Engine::Work::see(Source& source, const vg::Change& change) {
  index_.see(*change.object);
  const Key key{.ns = std::string(change.object->ns()), .name = std::string(change.object->name())};
  OpenedPtr before, after;
  const auto open_both = [&] {
    if (before || after) return;
    if (change.previous) before = opened_.open(*change.previous);
    (change.type == ChangeType::removed ? before : after) = opened_.open(*change.object);
  };
  for (Loop* loop : source.own) {
    int priority = 0;
    if (loop->controller->priority && change.type != ChangeType::removed) {
      open_both();
      priority = loop->controller->priority(after->root().get_object());
    }
    queue_own(*loop, key, change.type == ChangeType::removed ? 0 : change.object->revision(), priority);
  }
  if (source.triggers.empty()) return;
  open_both();
  using controllers::Happened;
  const controllers::Change seen{.happened = change.type == ChangeType::added      ? Happened::added
                                             : change.type == ChangeType::modified ? Happened::changed
                                                                                   : Happened::removed,
                                 .before = before ? before->root().if_object() : nullptr,
                                 .after = after ? after->root().if_object() : nullptr};
  trigger(source, seen, StoreWorld(store(), index_.kept(), disks(), opened_), false);
}

// `only_missing`: for the controllers that look at what is not there; the others look at everything at the start.
void Engine::Work::trigger(Source& source, const controllers::Change& seen, const StoreWorld& world,
                           bool only_missing) {
  for (const auto& [loop, trigger] : source.triggers)
    if (!only_missing || loop->controller->looks_at_missing)
      for (const Key& concerned : trigger->keys(seen, world)) {
        if (trigger->can_wait && trigger->can_wait(seen))
          loop->queue.add_by(concerned, now() + limits::controller_patience);
        else
          queue(*loop, concerned, 0);
      }
}

// --- what passes have written themselves -----------------------------------------------------------------------------

// `revision`: 0 for an object that is gone.
void Engine::Work::queue_own(Loop& loop, const Key& key, Revision revision, int priority) {
  if (revision != 0 && loop.queue.is_working(key)) {
    auto& held = loop.held[key];
    if (held.size() >= limits::held_changes_max) return queue(loop, key, priority);
    held.emplace_back(revision, priority);
    return;
  }
  if (const auto written = loop.written.find(key); written != loop.written.end()) {
    const bool is_own = std::ranges::find(written->second, revision) != written->second.end();
    std::erase_if(written->second, [&](Revision own) { return revision == 0 || own <= revision; });
    if (written->second.empty()) loop.written.erase(written);
    if (is_own) return look_later(loop, key);
  }
  queue(loop, key, priority);
}

void Engine::Work::note_written(Loop& loop, const Key& key, const Pass& pass, const Done& done) {
  if (!pass.settled || done.hard || done.carried.error) return;
  for (const auto& [effect, revision] : done.written)
    if (effect->resource == loop.controller->resource && effect->ns == key.ns && effect->name == key.name)
      loop.written[key].push_back(revision);
}

// The pass is over.
void Engine::Work::release_held(Loop& loop, const Key& key) {
  const auto held = loop.held.extract(key);
  if (held.empty()) return;
  for (const auto& [revision, priority] : held.mapped()) queue_own(loop, key, revision, priority);
}

void Engine::Work::queue(Loop& loop, const Key& key, int priority) {
  if (loop.controller->delay == milliseconds::zero())
    loop.queue.add(key, priority);
  else
    loop.queue.add_at(key, now() + loop.controller->delay);
}

// --- those that found no node ----------------------------------------------------------------------------------------

void Engine::Work::note_waiting(Loop& loop, const Key& key, bool waits) {
  if (waits)
    loop.waiting.insert(key);
  else
    loop.waiting.erase(key);
  loop.without_node->set(static_cast<double>(loop.waiting.size()));
}

std::size_t Engine::Work::without_node() const {
  std::size_t sum = 0;
  for (const Loop& loop : loops_) sum += loop.waiting.size();
  return sum;
}

// Tries them again once something has changed; the more there are, the less often, for most changes help nobody.
bool Engine::Work::wake_waiting() {
  const std::size_t count = without_node();
  if (count == 0 || index_.kept().nodes.version() == nodes_then_ || now() < may_wake_) return false;
  nodes_then_ = index_.kept().nodes.version();
  may_wake_ = now() + limits::controller_wake_interval + limits::controller_wake_pause * count;
  for (Loop& loop : loops_)
    for (const Key& key : loop.waiting) loop.queue.add(key);
  return true;
}

// --- disks -----------------------------------------------------------------------------------------------------------

void Engine::Work::hand_over(Loop& loop, const Key& key, const Pass& pass, const Done& done) {
  if (!parts_.disks) return;
  // What waits for its turn was allowed once, and is not any more.
  if (const auto refused = disks().job(done.refused_job); refused && refused->state == DiskJobState::waiting) {
    askers_.erase(done.refused_job);
    parts_.disks->cancel(done.refused_job);
  }
  if (done.hard || done.carried.error) return;
  for (const std::string& id : pass.unwanted_jobs) {
    askers_.erase(id);
    parts_.disks->cancel(id);
  }
  for (const auto& [identity, job] : pass.jobs) {
    auto& askers = askers_[job.id];
    if (const auto asker = std::make_pair(&loop, key); std::ranges::find(askers, asker) == askers.end())
      askers.push_back(asker);
    parts_.disks->start(job);
  }
}

// What changed behind a claim counts as a change of the claim.
void Engine::Work::see_claim(const DiskClaimName& claim) {
  const ObjectPtr object = store().get(controllers::kinds::claim, claim.ns, claim.name);
  if (!object) return;
  Source& source = source_of(controllers::kinds::claim);
  for (Loop* loop : source.own) queue(*loop, {.ns = claim.ns, .name = claim.name}, 0);
  const OpenedPtr opened = opened_.open(*object);
  const json::Object* value = opened->root().if_object();
  trigger(source, {.happened = controllers::Happened::changed, .before = value, .after = value},
          StoreWorld(store(), index_.kept(), disks(), opened_), false);
}

// False when there was nothing.
bool Engine::Work::follow_disks() {
  if (!parts_.disks) return false;
  const std::vector<DiskChange> changes = parts_.disks->take_changes();
  for (const DiskChange& change : changes) {
    if (change.job.empty() && change.claim.name.empty())
      for (Source& source : sources_) look_at_all(source);
    if (!change.claim.name.empty()) see_claim(change.claim);
    const auto asked = askers_.find(change.job);
    if (asked == askers_.end()) continue;
    for (const auto& [loop, key] : asked->second) loop->queue.add(key);
    const auto job = disks().job(change.job);
    if (!job || job->state == DiskJobState::succeeded) askers_.erase(asked);
  }
  return !changes.empty();
}

// --- how it goes -----------------------------------------------------------------------------------------------------

void Engine::Work::look_whether_behind() {
  for (Loop& loop : loops_) {
    const auto oldest = loop.queue.oldest_turn();
    loop.behind->store(oldest && *oldest < loop.turn_then, std::memory_order_relaxed);
    loop.turn_then = loop.queue.next_turn();
  }
}

std::optional<std::string> Engine::Work::problem() const {
  for (const Loop& loop : loops_)
    if (loop.behind->load(std::memory_order_relaxed))
      return fmt::format("objects have waited for more than {} s for a pass of the controller {}",
                         limits::controller_lag.count(), loop.controller->name);
  return std::nullopt;
}

// --- passes ----------------------------------------------------------------------------------------------------------

bool Engine::Work::finished(Loop& loop, const Key& key, const Pass& pass, const Done& done) {
  if (pass.again) {
    const auto when = now() + *pass.again;
    loop.queue.add_at(key, when);
    loop.asked.insert_or_assign(key, when);
  }
  if (!done.hard) return (!done.carried.error || done.left_to_finish) && !pass.try_again;
  if (is_lost_race(*done.hard)) {
    loop.lost_races->add();
  } else if (done.hard->code != 404) {
    log::warning("a pass of a controller failed and is tried again",
                 {{"controller", loop.controller->name},
                  {"object", fmt::format("{}/{}", key.ns, key.name)},
                  {"reason", done.hard->message}});
  }
  return false;
}

// Asked once a pass: the next one has to ask anew.
bool Engine::Work::time_is_up(Loop& loop, const Key& key) {
  const auto asked = loop.asked.find(key);
  if (asked == loop.asked.end()) return false;
  const bool is_up = asked->second <= now();
  loop.asked.erase(asked);
  return is_up;
}

// True when it went well.
Task<bool> Engine::Work::pass(Loop& loop, const Key& key) {
  const Controller& controller = *loop.controller;
  const config::ConfigPtr config = parts_.config.current();
  json::LeasedArena arena;
  const StoreWorld world(store(), index_.kept(), disks(), opened_);
  const json::Object* object = world.get(controller.resource, key.ns, key.name);
  if (!object && !controller.looks_at_missing) {
    note_waiting(loop, key, false);
    loop.asked.erase(key);
    co_return true;
  }
  const controllers::Turn turn{.world = world,
                               .key = key,
                               .config = *config,
                               .now = parts_.backend.clock.wall_now(),
                               .steady = now(),
                               .random = random_.next(),
                               .storage = arena.storage(),
                               .secret = {random_.next(), random_.next()},
                               .place = &parts_.place,
                               .guests = parts_.guests,
                               .time_is_up = time_is_up(loop, key)};
  tracing::Span span = pass_span(controller, key, object, turn.now);
  const Pass first = controller.sync(turn);
  if (first.effects.empty() && first.jobs.empty()) span.forget();  // it only looked
  note_waiting(loop, key, first.waits_for_nodes);
  Index::Reservation reserved(index_);
  reserved.add(first);
  const controllers::EventObject involved = object ? controllers::event_object(*object) : controllers::EventObject();
  const EventSource source{.component = controller.component, .host = first.host};
  const tracing::HandOver handed(span.context());
  const Done done = co_await carrier_.carry_out(first, involved, source);
  reserved.end(!done.hard && !done.carried.error);
  if (done.hard) span.fail(done.hard->reason);
  note_written(loop, key, first, done);
  bool good = finished(loop, key, first, done);
  hand_over(loop, key, first, done);
  if (done.hard || !controller.finish || (first.complete && !done.carried.error)) co_return good;

  json::LeasedArena later_arena;
  const StoreWorld later(store(), index_.kept(), disks(), opened_);
  if (!later.get(controller.resource, key.ns, key.name)) co_return good;
  const controllers::Turn ending{.world = later,
                                 .key = key,
                                 .config = *config,
                                 .now = parts_.backend.clock.wall_now(),
                                 .steady = now(),
                                 .random = turn.random,
                                 .storage = later_arena.storage(),
                                 .time_is_up = turn.time_is_up};
  const Pass second = controller.finish(ending, first, done.carried);
  reserved.add(second);
  const tracing::HandOver handed_again(span.context());
  const Done ended = co_await carrier_.carry_out(second, involved, source);
  reserved.end(!ended.hard && !ended.carried.error);
  note_written(loop, key, second, ended);
  good = finished(loop, key, second, ended) && good;
  hand_over(loop, key, second, ended);
  co_return good;
}

Task<void> Engine::Work::look_at(Loop& loop, Key key) {
  const auto began = now();
  bool good = false;
  try {
    good = co_await pass(loop, key);
  } catch (const std::exception& error) {
    log::error("a controller cannot work on an object", {{"controller", loop.controller->name},
                                                         {"object", fmt::format("{}/{}", key.ns, key.name)},
                                                         {"reason", error.what()}});
  }
  loop.seconds->observe(std::chrono::duration<double>(now() - began).count());
  (good ? loop.succeeded : loop.failed)->add();
  if (good)
    loop.queue.succeeded(key);
  else
    loop.queue.failed(key, now());
  loop.queue.done(key);
  release_held(loop, key);
  wakeup_->signal();
}

bool Engine::Work::has_room(const Loop& loop) const {
  const std::size_t own = loop.queue.working();
  if (own < limits::passes_each_min) return true;
  if (own >= limits::controller_passes_max) return false;
  std::size_t all = 0;
  for (const Loop& one : loops_) all += one.queue.working();
  return all < limits::passes_at_once_max;
}

// True when at least one began.
bool Engine::Work::start_passes(Loop& loop) {
  bool any = false;
  while (has_room(loop)) {
    auto key = loop.queue.take(now());
    if (!key) break;
    passes_.emplace_back(look_at(loop, std::move(*key)));
    any = true;
    if (!passes_.back().done()) continue;
    passes_.pop_back();
    break;  // it had nothing to wait for; others have their turn
  }
  loop.depth->set(static_cast<double>(loop.queue.waiting()));
  return any;
}

std::optional<WorkQueue::Instant> Engine::Work::next_instant() const {
  std::optional<WorkQueue::Instant> first;
  if (without_node() != 0 && index_.kept().nodes.version() != nodes_then_) first = may_wake_;
  for (const Loop& loop : loops_)
    if (const auto instant = loop.queue.next_instant(); instant && (!first || *instant < *first)) first = instant;
  return first;
}

Task<void> Engine::Work::wake_after(milliseconds time) {
  co_await parts_.core.sleep(time);
  wakeup_->signal();
}

Task<void> Engine::Work::run() {
  std::optional<resources::Turn> turn(parts_.core);
  auto resync = now() + limits::controller_resync;
  auto lag_look = now() + limits::controller_lag;
  while (true) {
    bool busy = false;
    for (Source& source : sources_) busy = follow(source) || busy;
    busy = follow_disks() || busy;
    busy = wake_waiting() || busy;
    if (now() >= lag_look) {
      look_whether_behind();
      lag_look = now() + limits::controller_lag;
    }
    if (now() >= resync) {
      for (Source& source : sources_) look_at_all(source);
      resync = now() + limits::controller_resync;
    }
    for (Loop& loop : loops_) busy = start_passes(loop) || busy;
    passes_.remove_if([](const Background& pass) { return pass.done(); });
    at_rest_.store(!busy && passes_.empty(), std::memory_order_release);
    if (busy) {
      if (turn->over()) co_await turn->pass();
      continue;
    }
    const auto instant = next_instant().value_or(resync);
    const auto wait = std::chrono::ceil<milliseconds>(std::min({instant, resync, lag_look}) - now());
    timer_ = Background(wake_after(std::max(wait, milliseconds(1))));
    co_await wakeup_->wait();
    turn.emplace(parts_.core);
  }
}

}  // namespace vg::engine
