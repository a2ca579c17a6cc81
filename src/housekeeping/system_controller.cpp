#include "housekeeping/system_controller.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/limits.h"
#include "base/log.h"
#include "catalog/catalog.h"
#include "objects/turn.h"
#include "objects/wakeup.h"

namespace vg::resources {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t namespaces_at_once = 64;
// After something was mended: whoever insists on something else (a kube-controller-manager with other authorities)
// costs ten writes a second, and not all that the disk can do.
constexpr milliseconds mend_pause{100};

// Which changes of a followed object are a reason to look. What was just added is there.
bool is_reason(const Change& change) {
  if (change.object->resource() == namespaces_key) return change.type == ChangeType::added;
  return change.type != ChangeType::added;
}

std::string_view namespace_of(const StoredObject& object) {
  return object.resource() == namespaces_key ? object.name() : object.ns();
}

class SystemController final : public Controller {
 public:
  SystemController(ControllerParts parts, SystemFacts facts)
      : parts_(parts), facts_(std::move(facts)), wakeup_(std::make_shared<Wakeup>(parts.core)) {}

  Task<void> run() override {
    follow_all();
    look_at_all_ = true;
    while (true) {
      co_await read_changes();
      if (std::exchange(look_at_all_, false)) co_await look_at_everything();
      take_due();
      if (pending_.empty())
        co_await wait();
      else
        co_await one_round();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Later {
    bool wanted = false;  // there is a reason to look at it
    Clock::time_point at;
  };
  struct Followed {
    WatchQuery query;
    std::unique_ptr<Watch> watch = nullptr;
  };

  void follow_all() {
    followed_.clear();  // of a run before this one
    followed_.push_back({.query = {.resource = std::string(namespaces_key)}});
    for (const SystemObject& row : system_objects()) {
      if (!find_resource(row.resource)) continue;
      followed_.push_back(
          {.query = {.resource = std::string(row.resource), .ns = std::string(row.ns), .name = std::string(row.name)}});
    }
    for (const HandlerPlace& place : facts_.handlers)
      followed_.push_back({.query = {.resource = "pods", .ns = "kubevirt", .name = handler_pod_name(place.node)}});
    for (Followed& followed : followed_) follow(followed);
  }

  void follow(Followed& followed) {
    followed.query.from_revision = parts_.store.revision();
    auto watch = parts_.store.watch(followed.query, [wakeup = wakeup_] { wakeup->signal(); });
    if (watch)
      followed.watch = std::move(*watch);
    else
      log::error("system objects are not kept",
                 {{"resource", followed.query.resource}, {"reason", watch.error().message}});
  }

  Task<void> read_changes() {
    Turn turn(parts_.core);
    for (Followed& followed : followed_) {
      while (followed.watch) {
        auto batch = followed.watch->next(changes_at_once);
        if (!batch) {
          // Fell behind: what was missed is found by looking at everything.
          followed.watch.reset();
          follow(followed);
          look_at_all_ = true;
          break;
        }
        for (const Change& change : batch->changes) {
          if (is_reason(change)) look_at(namespace_of(*change.object));
          if (turn.over(*change.object)) co_await turn.pass();
        }
        if (!batch->more) break;
      }
    }
  }

  // Their names only, so memory is bounded by the namespaces that there are.
  Task<void> look_at_everything() {
    const auto page = parts_.store.list({.resource = namespaces_key});
    if (!page) co_return;
    Turn turn(parts_.core);
    for (const auto& ns : page->objects) {
      look_at(ns->name());
      if (turn.over(*ns)) co_await turn.pass();
    }
  }

  void look_at(std::string_view ns) {
    if (const auto found = later_.find(ns); found != later_.end())
      found->second.wanted = true;
    else
      pending_.emplace(ns);
  }

  void look_later(const std::string& ns, bool wanted, milliseconds pause) {
    later_.insert_or_assign(ns, Later{.wanted = wanted, .at = Clock::now() + pause});
  }

  void take_due() {
    const auto now = Clock::now();
    std::erase_if(later_, [&](const auto& each) {
      if (each.second.at > now) return false;
      if (each.second.wanted) pending_.insert(each.first);
      return true;
    });
  }

  // For a change, or until a namespace is due.
  Task<void> wait() {
    Background alarm;
    const auto first = std::ranges::min_element(later_, {}, [](const auto& each) { return each.second.at; });
    if (first != later_.end()) alarm = Background(ring(first->second.at));
    co_await wakeup_->wait();
  }
  Task<void> ring(Clock::time_point at) {
    co_await parts_.core.sleep(std::max(milliseconds(1), std::chrono::ceil<milliseconds>(at - Clock::now())));
    wakeup_->signal();
  }

  // Together or not at all, and only while the namespace takes new objects.
  Transaction plan(const std::string& name) const {
    const auto ns = parts_.store.get(namespaces_key, "", name);
    if (!ns || ns->deleting()) return {};
    PlannedWrites writes(parts_.store, parts_.clock);
    plan_system_objects(writes, name, facts_);
    return {.writes = writes.take(),
            .preconditions = {{.key = ns->key(), .uid = std::string(ns->uid()), .not_deleting = true}}};
  }

  Task<void> one_round() {
    std::vector<Transaction> transactions;
    std::vector<std::string> names;
    Turn turn(parts_.core);
    while (!pending_.empty() && names.size() < namespaces_at_once) {
      std::string name = std::move(pending_.extract(pending_.begin()).value());
      Transaction transaction = plan(name);
      if (transaction.writes.empty()) {
        failed_.erase(name);
      } else {
        transactions.push_back(std::move(transaction));
        names.push_back(std::move(name));
      }
      if (turn.over()) co_await turn.pass();
    }
    if (transactions.empty()) co_return;
    std::vector<bool> mended;
    for (const Transaction& transaction : transactions)
      mended.push_back(
          std::ranges::any_of(transaction.writes, [](const Write& one) { return one.kind == WriteKind::update; }));
    const auto results = co_await Commit(parts_.commits, parts_.core, std::move(transactions));
    bool told = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i]) {
        failed_.erase(names[i]);
        if (mended[i]) look_later(names[i], false, mend_pause);
        continue;
      }
      const Status& status = results[i].error();
      if (status.code == 404 || status.code == 409) {
        look_later(names[i], true, retry_pause);
        continue;
      }
      if (!std::exchange(told, true))
        log::error("system objects could not be written; they are tried again",
                   {{"namespace", names[i]}, {"reason", status.message}});
      milliseconds& pause = failed_.try_emplace(names[i], failure_pause).first->second;
      look_later(names[i], true, pause);
      pause = std::min(2 * pause, limits::namespace_failure_pause_max);
    }
    co_await parts_.core.sleep(milliseconds(0));  // others want this core too
  }

  const ControllerParts parts_;
  const SystemFacts facts_;
  std::shared_ptr<Wakeup> wakeup_;
  std::vector<Followed> followed_;
  std::set<std::string, std::less<>> pending_;               // namespaces to look at
  std::map<std::string, Later, std::less<>> later_;          // and those not to look at before that time
  std::map<std::string, milliseconds, std::less<>> failed_;  // how long to wait after the next failure
  bool look_at_all_ = false;
};

}  // namespace

std::unique_ptr<Controller> make_system_controller(ControllerParts parts, SystemFacts facts) {
  return std::make_unique<SystemController>(parts, std::move(facts));
}

}  // namespace vg::resources
