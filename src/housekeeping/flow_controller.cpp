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

constexpr std::size_t changes_at_once = 256;
constexpr std::size_t schemas_at_once = 64;
// Changes that come together are looked at together: a level may be named by any number of schemas.
constexpr milliseconds round_pause{20};
constexpr milliseconds failure_pause{2000};

class FlowController final : public Controller {
 public:
  explicit FlowController(ControllerParts parts) : parts_(parts), wakeup_(std::make_shared<Wakeup>(parts.core)) {}

  Task<void> run() override {
    for (Followed& followed : followed_) follow(followed);
    while (true) {
      read_changes();
      if (std::exchange(some_may_lack_, false)) co_await bring_back();
      if (std::exchange(look_at_all_, false)) co_await look_at_everything();
      while (!pending_.empty()) co_await one_round();
      co_await parts_.core.sleep(failed_ ? failure_pause : round_pause);
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
    look_at_all_ = some_may_lack_ = true;
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
    if (change.type == ChangeType::removed) some_may_lack_ = true;
    if (change.object->resource() == flow_schemas_key)
      pending_.emplace(change.object->name());
    else if (change.type != ChangeType::modified)
      look_at_all_ = true;
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
  std::shared_ptr<Wakeup> wakeup_;
  std::array<Followed, 2> followed_ = {{{.resource = priority_levels_key}, {.resource = flow_schemas_key}}};
  std::set<std::string, std::less<>> pending_;  // schemas to look at
  bool look_at_all_ = false, some_may_lack_ = false;
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<Controller> make_flow_controller(ControllerParts parts) {
  return std::make_unique<FlowController>(parts);
}

}  // namespace vg::resources
