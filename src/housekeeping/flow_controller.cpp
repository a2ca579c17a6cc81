#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "housekeeping/flow_objects.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"
#include "objects/turn.h"
#include "objects/wakeup.h"

namespace vg::resources {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t schemas_at_once = 64;
// Changes that come together are looked at together: a level may be named by any number of schemas.
constexpr milliseconds round_pause{20};

class FlowController final : public Controller {
 public:
  FlowController(ControllerParts parts, FlowOutputs outputs, FlowWrites writes)
      : parts_(parts), outputs_(outputs), writes_(writes), wakeup_(std::make_shared<Wakeup>(parts.core)) {}

  Task<void> run() override {
    for (Followed& followed : followed_) follow(followed);
    while (true) {
      milliseconds pause = round_pause;
      read_changes();
      if (std::exchange(table_is_old_, false)) pause = std::max(pause, co_await classify_anew());
      if (writes_ == FlowWrites::all) co_await write_what_follows();
      co_await parts_.core.sleep(failed_ ? failure_pause : pause);
      if (!std::exchange(failed_, false)) co_await wakeup_->wait();
    }
  }

 private:
  struct Followed {
    std::string_view resource;
    std::unique_ptr<Watch> watch = nullptr;
  };

  // What may have been missed is found by looking at everything.
  void follow(Followed& followed) {
    look_at_all_ = some_may_lack_ = table_is_old_ = true;
    auto watch =
        parts_.store.watch({.resource = std::string(followed.resource), .from_revision = parts_.store.revision()},
                           [wakeup = wakeup_] { wakeup->signal(); });
    if (watch)
      followed.watch = std::move(*watch);
    else
      log::error("flow schemas are not followed", {{"reason", watch.error().message}});
  }

  void read_changes() {
    for (Followed& followed : followed_) {
      while (followed.watch) {
        auto batch = followed.watch->next(changes_at_once);
        if (!batch) {
          followed.watch.reset();
          follow(followed);
          break;
        }
        for (const Change& change : batch->changes) note(change);
        if (!batch->more) break;
      }
    }
  }

  void note(const Change& change) {
    table_is_old_ = true;
    if (writes_ == FlowWrites::none) return;
    if (change.type == ChangeType::removed) some_may_lack_ = true;
    if (change.object->resource() == flow_schemas_key)
      pending_.emplace(change.object->name());
    else if (change.type != ChangeType::modified)
      look_at_all_ = true;
  }

  // What requests are classified by from now on. Returns how long to leave it at that: it takes all objects, of which
  // there may be many, so it has a tenth of the core's time.
  Task<milliseconds> classify_anew() {
    const auto began = parts_.clock.steady_now();
    flowcontrol::TableBuilder builder;
    co_await read_all(priority_levels_key,
                      [&](const json::Value& object) { builder.add(flowcontrol::read_level(object)); });
    co_await read_all(flow_schemas_key,
                      [&](const json::Value& object) { builder.add(flowcontrol::read_schema(object)); });
    if (builder.left_some_out() && !std::exchange(told_of_too_many_, true))
      log::warning("there are too many flow schemas or priority levels; requests are not classified by the last ones");
    const auto table = std::move(builder).build();
    outputs_.classification.publish(table);
    show_seats(*table);
    co_return std::chrono::ceil<milliseconds>(9 * (parts_.clock.steady_now() - began));
  }

  Task<void> write_what_follows() {
    if (std::exchange(some_may_lack_, false)) co_await bring_back();
    if (std::exchange(look_at_all_, false)) co_await look_at_everything();
    while (!pending_.empty()) co_await one_round();
  }

  // visit(object) for each that can be read.
  template <class Visit>
  Task<void> read_all(std::string_view resource, Visit visit) {
    const auto page = parts_.store.list({.resource = resource});
    if (!page) co_return;
    Turn turn(parts_.core);
    for (const ObjectPtr& stored : page->objects) {
      try {
        json::Document memory;
        visit(load_object(*stored, memory.storage()));
      } catch (const std::runtime_error& error) {
        log::error("requests are not classified by an object that cannot be read",
                   {{"resource", resource}, {"name", stored->name()}, {"reason", error.what()}});
      }
      if (turn.over()) co_await turn.pass();
    }
  }

  void show_seats(const flowcontrol::Table& table) {
    if (!outputs_.seats) return;
    std::set<std::string, std::less<>> shown;
    for (const auto& [level, seats] : table.nominal_limits()) {
      outputs_.seats->with({level})->set(static_cast<double>(seats));
      shown_.erase(level);
      shown.insert(level);
    }
    for (const std::string& gone : shown_) outputs_.seats->remove({gone});
    shown_ = std::move(shown);
  }

  Task<void> bring_back() {
    PlannedWrites planner(parts_.store, parts_.clock);
    plan_flow_objects(planner);
    std::vector<Transaction> transactions;
    for (Write& write : planner.take()) transactions.emplace_back().writes.push_back(std::move(write));
    if (!co_await carry_out(std::move(transactions))) some_may_lack_ = true;
  }

  Task<void> look_at_everything() {
    const auto page = parts_.store.list({.resource = flow_schemas_key});
    if (!page) co_return;
    Turn turn(parts_.core);
    for (const ObjectPtr& schema : page->objects) {
      pending_.emplace(schema->name());
      if (turn.over(*schema)) co_await turn.pass();
    }
  }

  void plan(PlannedWrites& planner, std::string_view name) const {
    const ObjectPtr stored = parts_.store.get(flow_schemas_key, "", name);
    if (!stored) return;
    try {
      json::Document memory;
      json::Value object = load_object(*stored, memory.storage());
      const auto level = json::as_string(json::find_path(object, {"spec", "priorityLevelConfiguration", "name"}));
      const bool exists = parts_.store.get(priority_levels_key, "", level.value_or("")) != nullptr;
      if (settle_dangling(object.get_object(), exists, planner.now()))
        planner.update(*stored, std::move(object), flow_consumer, "status");
    } catch (const std::runtime_error& error) {
      log::error("a flow schema is not kept", {{"name", name}, {"reason", error.what()}});
    }
  }

  Task<void> one_round() {
    PlannedWrites planner(parts_.store, parts_.clock);
    Turn turn(parts_.core);
    std::vector<std::string> names;
    while (!pending_.empty() && names.size() < schemas_at_once) {
      names.push_back(std::move(pending_.extract(pending_.begin()).value()));
      plan(planner, names.back());
      if (turn.over()) co_await turn.pass();
    }
    std::vector<Transaction> transactions;
    for (Write& write : planner.take()) transactions.emplace_back().writes.push_back(std::move(write));
    if (!co_await carry_out(std::move(transactions))) look_at_all_ = true;
  }

  // False when the store could not take some. Whoever was faster changed the object, which is seen as a change.
  Task<bool> carry_out(std::vector<Transaction> transactions) {
    if (transactions.empty()) co_return true;
    const auto results = co_await Commit(parts_.commits, parts_.core, std::move(transactions));
    for (const auto& result : results) {
      if (result || result.error().code == 404 || result.error().code == 409) continue;
      log::warning("flow schemas could not be written; they are tried again", {{"reason", result.error().message}});
      failed_ = true;
      co_return false;
    }
    co_return true;
  }

  const ControllerParts parts_;
  const FlowOutputs outputs_;
  const FlowWrites writes_;
  std::shared_ptr<Wakeup> wakeup_;
  std::array<Followed, 2> followed_ = {{{.resource = priority_levels_key}, {.resource = flow_schemas_key}}};
  std::set<std::string, std::less<>> pending_;  // schemas to look at
  std::set<std::string, std::less<>> shown_;    // levels that have a series
  bool table_is_old_ = false, look_at_all_ = false, some_may_lack_ = false;
  bool told_of_too_many_ = false;
  bool failed_ = false;
};

}  // namespace

metrics::Family<metrics::Gauge>& nominal_seats(metrics::Registry& registry) {
  return registry.gauges("apiserver_flowcontrol_nominal_limit_seats",
                         "What a priority level would have of kube-apiserver's seats; requests are not limited by it.",
                         {"priority_level"});
}

std::unique_ptr<Controller> make_flow_controller(ControllerParts parts, FlowOutputs outputs, FlowWrites writes) {
  return std::make_unique<FlowController>(parts, outputs, writes);
}

}  // namespace vg::resources
