#include "resources/controllers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "json/access.h"
#include "json/document.h"
#include "resources/catalog.h"
#include "resources/commit.h"
#include "resources/deletion.h"
#include "resources/draft.h"
#include "resources/object_meta.h"
#include "resources/scan.h"
#include "resources/turn.h"
#include "resources/wakeup.h"

namespace vg::resources {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view namespaces_key = "namespaces";
constexpr std::string_view namespace_finalizer = "kubernetes";
// The roles of the whole cluster, which may gather the rules of others.
constexpr std::string_view cluster_roles_prefix = "rbac.authorization.k8s.io/clusterroles";
constexpr std::size_t changes_at_once = 512;
constexpr std::size_t writes_at_once = 256;
// Objects that are looked at before others get this core again: a few milliseconds.
constexpr std::size_t looks_at_once = 512;
// Objects to look at that are remembered one by one; when there are more, everything is looked at instead.
constexpr std::size_t remembered_max = 100'000;
// After a write that somebody else got in the way of, and while a disk refuses.
constexpr std::chrono::milliseconds retry_pause{20};
constexpr std::chrono::seconds failure_pause{2};

// --- owners ----------------------------------------------------------------------------------------------------------

// What the plan says, or nothing when it cannot be made because a stored object is not readable. Others must not wait
// for that one, and the server must not end over it at every start.
template <class Plan>
auto plan_if_readable(const StoredObject& object, Plan plan) -> decltype(plan()) {
  try {
    return plan();
  } catch (const std::runtime_error& error) {
    log::error(
        "an object cannot be reconciled",
        {{"object", fmt::format("{} {}/{}", object.resource(), object.ns(), object.name())}, {"reason", error.what()}});
    return {};
  }
}

bool has_finalizer_text(const StoredObject& object, std::string_view name) {
  static constexpr std::array<std::string_view, 2> path = {"metadata", "finalizers"};
  const auto list = scan_value(object.json(), path);
  return list && list->contains(fmt::format("\"{}\"", name));
}

bool waits_for_dependents(const StoredObject& object) {
  return object.deleting() && has_finalizer_text(object, foreground_finalizer);
}

const json::Array* owners_of(const json::Value& document) {
  return json::get_array(metadata_of(document.get_object()), "ownerReferences");
}

bool blocks_owner(const StoredObject& object, std::string_view owner_uid) {
  static constexpr std::array<std::string_view, 2> path = {"metadata", "ownerReferences"};
  const auto references = scan_value(object.json(), path);
  if (!references || !references->contains("\"blockOwnerDeletion\":true")) return false;
  json::Document memory;
  const json::Value document = load_object(object, memory.storage());
  const json::Array* owners = owners_of(document);
  return owners && std::ranges::any_of(*owners, [&](const json::Value& owner) {
           return json::get_string_or(owner, "uid") == owner_uid &&
                  json::get_bool_or(owner, "blockOwnerDeletion", false);
         });
}

// The object without these owners.
Transaction disown(const StoredObject& object, const Resource& resource, const std::vector<std::string>& uids) {
  json::Document memory;
  json::Value document = load_object(object, memory.storage());
  json::Object& metadata = metadata_of(document.get_object());
  json::Array kept(memory.storage());
  if (const json::Array* owners = owners_of(document))
    for (const json::Value& owner : *owners)
      if (std::ranges::find(uids, json::get_string_or(owner, "uid")) == uids.end()) kept.push_back(owner);
  metadata["ownerReferences"] = std::move(kept);
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::update,
                                .key = object.key(),
                                .expected_revision = object.revision(),
                                .object = make_draft(document.get_object(), resource)});
  return transaction;
}

// The object without one finalizer, or no object when that was the last thing to wait for.
Transaction release(const StoredObject& object, const Resource& resource, std::string_view finalizer) {
  json::Document memory;
  json::Value document = load_object(object, memory.storage());
  json::Object& members = document.get_object();
  if (resource.key == namespaces_key && finalizer == namespace_finalizer) {
    json::Array* finalizers = json::get_array(json::ensure_object(members, "spec"), "finalizers");
    if (finalizers)
      for (auto* at = finalizers->begin(); at != finalizers->end();)
        at = json::as_string(at) == std::optional(finalizer) ? finalizers->erase(at) : at + 1;
  } else {
    remove_finalizer(metadata_of(members), finalizer);
  }
  Transaction transaction;
  const bool goes = deletion_completes(members, resource);
  transaction.writes.push_back({.kind = goes ? WriteKind::remove : WriteKind::update,
                                .key = object.key(),
                                .expected_revision = object.revision(),
                                .object = goes ? ObjectDraft{} : make_draft(members, resource)});
  return transaction;
}

std::optional<Transaction> removal(const StoredObject& object, const Resource& resource, Propagation propagation,
                                   std::int64_t now_seconds) {
  json::Document memory;
  DeleteOptions options;
  options.propagation = propagation;
  auto plan = plan_deletion(object, resource, options, now_seconds, memory.storage());
  if (!plan || plan->removal == Removal::keep) return std::nullopt;
  return deletion_transaction(object, std::move(*plan));
}

// The last of them, in the order in which they are looked at, that holds its owner.
ObjectPtr last_that_blocks(const std::vector<ObjectPtr>& dependents, std::string_view owner_uid) {
  const auto order = [](const StoredObject& object) {
    return std::make_tuple(object.resource(), object.ns(), object.name());
  };
  ObjectPtr last;
  for (const ObjectPtr& object : dependents)
    if ((!last || order(*last) < order(*object)) && blocks_owner(*object, owner_uid)) last = object;
  return last;
}

// Whoever knows a uid can name it as owner. What belongs to a namespace owns nothing outside of it, so nobody out there
// keeps it from going.
bool can_own(const StoredObject& owner, const StoredObject& dependent) {
  return owner.ns().empty() || owner.ns() == dependent.ns();
}

// What is owned goes in its own turn, and what of it is waited for goes first.
Collection clear_dependents(const ObjectStore& store, const StoredObject& owner, const Resource& resource) {
  Collection result;
  std::vector<ObjectPtr> staying, leaving, waiting;
  for (auto& dependent : store.owned_by(owner.uid())) {
    if (!find_resource(dependent->resource()) || !can_own(owner, *dependent)) continue;
    if (!dependent->deleting()) result.look_at.push_back(dependent->key());
    auto& kept = !dependent->deleting() ? staying : waits_for_dependents(*dependent) ? waiting : leaving;
    kept.push_back(std::move(dependent));
  }
  for (const auto* dependents : {&staying, &leaving, &waiting})
    if (const ObjectPtr holder = last_that_blocks(*dependents, owner.uid())) {
      result.held_by = holder->uid();
      return result;
    }
  result.writes.push_back(release(owner, resource, foreground_finalizer));
  return result;
}

Collection orphan_dependents(const ObjectStore& store, const StoredObject& owner, const Resource& resource) {
  Collection result;
  for (const auto& dependent : store.owned_by(owner.uid())) {
    if (!find_resource(dependent->resource()) || !can_own(owner, *dependent)) continue;
    result.look_at.push_back(dependent->key());
    result.held_by = dependent->uid();
  }
  if (result.look_at.empty()) result.writes.push_back(release(owner, resource, orphan_finalizer));
  return result;
}

Collection settle_owned(const ObjectStore& store, const StoredObject& object, const Resource& resource,
                        OwnerStates states, std::int64_t now_seconds) {
  Collection result;
  if (states.gone.empty() && states.waiting.empty()) return result;
  if (states.solid > 0) {
    std::ranges::move(states.waiting, std::back_inserter(states.gone));
    result.writes.push_back(disown(object, resource, states.gone));
    return result;
  }
  // An owner that waits for this one waits for what it owns in turn as well.
  const bool waits = !states.waiting.empty() && !store.owned_by(object.uid()).empty();
  if (auto write = removal(object, resource, waits ? Propagation::foreground : Propagation::background, now_seconds))
    result.writes.push_back(std::move(*write));
  return result;
}

std::int64_t seconds_now(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now().time_since_epoch()).count();
}

}  // namespace

OwnerStates owner_states(const ObjectStore& store, const StoredObject& object) {
  OwnerStates states;
  json::Document memory;
  const json::Value document = load_object(object, memory.storage());
  const json::Array* owners = owners_of(document);
  if (!owners) return states;
  for (const json::Value& reference : *owners) {
    const std::string_view uid = json::get_string_or(reference, "uid");
    const Resource* kind =
        find_resource_of_kind(json::get_string_or(reference, "apiVersion"), json::get_string_or(reference, "kind"));
    // Nobody knows whether an owner of an unknown kind is there, nor where one of a namespace would be that something
    // of the whole cluster names.
    if (!kind || (kind->kind->namespaced && object.ns().empty())) {
      ++states.solid;
      continue;
    }
    const auto owner = store.get(kind->key, kind->kind->namespaced ? object.ns() : std::string_view(),
                                 json::get_string_or(reference, "name"));
    if (!owner || owner->uid() != uid)
      states.gone.emplace_back(uid);
    else if (owner->deleting() && has_finalizer_text(*owner, orphan_finalizer))
      states.orphaning.emplace_back(uid);
    else if (waits_for_dependents(*owner))
      states.waiting.emplace_back(uid);
    else
      ++states.solid;
  }
  return states;
}

Collection plan_collection(const ObjectStore& store, const StoredObject& object, std::int64_t now_seconds) {
  const Resource* resource = find_resource(object.resource());
  if (!resource) return {};
  OwnerStates states = owner_states(store, object);
  if (!states.orphaning.empty()) {
    Collection result;
    result.writes.push_back(disown(object, *resource, states.orphaning));
    return result;
  }
  if (!object.deleting()) return settle_owned(store, object, *resource, std::move(states), now_seconds);
  if (has_finalizer_text(object, orphan_finalizer)) return orphan_dependents(store, object, *resource);
  if (has_finalizer_text(object, foreground_finalizer)) return clear_dependents(store, object, *resource);
  return {};
}

Transaction plan_release(const StoredObject& owner) {
  return release(owner, *find_resource(owner.resource()),
                 has_finalizer_text(owner, orphan_finalizer) ? orphan_finalizer : foreground_finalizer);
}

std::vector<Transaction> plan_namespace(const ObjectStore& store, const StoredObject& ns, std::int64_t now_seconds,
                                        std::size_t writes_max) {
  std::vector<Transaction> writes;
  if (!ns.deleting()) return writes;
  bool empty = true;
  for (const Resource& resource : resources()) {
    if (!resource.kind->namespaced || !resource.stored || store.count(resource.key) == 0) continue;
    // Only as many as can be written now: the rest is found the next time.
    const auto page = store.list({.resource = resource.key,
                                  .ns = ns.name(),
                                  .limit = writes_max - writes.size(),
                                  .matches = [](const StoredObject& object) { return !object.deleting(); }});
    if (!page) {
      empty = false;  // nobody knows
      continue;
    }
    for (const auto& object : page->objects)
      if (auto write = plan_if_readable(
              *object, [&] { return removal(*object, resource, Propagation::background, now_seconds); }))
        writes.push_back(std::move(*write));
    if (writes.size() >= writes_max) return writes;
    if (!empty || !page->objects.empty()) {
      empty = false;
    } else {
      const auto held = store.list({.resource = resource.key, .ns = ns.name(), .limit = 1});
      empty = held && held->objects.empty();
    }
  }
  if (empty) writes.push_back(release(ns, *find_resource(namespaces_key), namespace_finalizer));
  return writes;
}

// --- the task --------------------------------------------------------------------------------------------------------

class Controllers::Work {
 public:
  explicit Work(const Parts& parts) : parts_(parts), wakeup_(std::make_shared<Wakeup>(parts.core)) {}

  Task<void> run() {
    if (!follow()) co_return;
    co_await look_at_everything();
    roles_changed_ = true;
    while (true) {
      co_await read_changes();
      // Not before there is room again: what did not fit would not fit a second time either.
      if (overflowed_ && objects_.empty()) {
        overflowed_ = false;
        co_await look_at_everything();
      }
      const bool worked = co_await one_round();
      if (worked) continue;
      if (objects_.empty() && namespaces_.empty() && !overflowed_ && !roles_changed_)
        co_await wakeup_->wait();
      else
        co_await parts_.core.sleep(milliseconds(0));  // others want this core too
    }
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Held {
    ObjectKey owner;
    std::string by;  // uid
  };
  struct Followed {
    std::unique_ptr<Watch> watch;
    std::shared_ptr<std::atomic<bool>> changed = std::make_shared<std::atomic<bool>>(true);
  };

  bool follow() {
    const Revision from = parts_.store.revision();
    for (const Resource& resource : resources()) {
      if (resource.stored && !follow(resource.key, from)) return false;
    }
    return true;
  }

  bool follow(const std::string& key, Revision from) {
    Followed followed;
    auto watch = parts_.store.watch({.resource = key, .ns = {}, .name = {}, .from_revision = from},
                                    [changed = followed.changed, wakeup = wakeup_] {
                                      changed->store(true, std::memory_order_release);
                                      wakeup->signal();
                                    });
    if (!watch) {
      log::error("deletions cannot be processed", {{"resource", key}, {"reason", watch.error().message}});
      return false;
    }
    followed.watch = std::move(*watch);
    followed_.insert_or_assign(key, std::move(followed));
    return true;
  }

  Task<void> read_changes() {
    Turn turn(parts_.core);
    for (auto& [key, followed] : followed_) {
      if (!followed.changed->exchange(false, std::memory_order_acquire)) continue;
      while (true) {
        auto batch = followed.watch->next(changes_at_once);
        if (!batch) {
          // Fell behind: what was missed is found by looking at everything.
          follow(key, parts_.store.revision());
          overflowed_ = true;
          break;
        }
        for (const auto& change : batch->changes) {
          note(change);
          if (turn.over(*change.object)) co_await turn.pass();
        }
        if (!batch->more) break;
      }
    }
  }

  void note(const Change& change) {
    const StoredObject& object = *change.object;
    if (object.resource().starts_with(cluster_roles_prefix)) roles_changed_ = true;
    const bool removed = change.type == ChangeType::removed;
    if (removed && terminating_.contains(std::string(object.ns()))) namespaces_.insert(std::string(object.ns()));
    if (object.resource() == namespaces_key) note_namespace(object, removed);
    note_held(change);
    if (removed) {
      held_.erase(std::string(object.uid()));
      for (const auto& dependent : parts_.store.owned_by(object.uid())) remember(*dependent);
    } else {
      note_present(object);
    }
  }

  void note_namespace(const StoredObject& ns, bool removed) {
    const std::string name(ns.name());
    if (removed) {
      terminating_.erase(name);
    } else if (ns.deleting()) {
      terminating_.insert(name);
      namespaces_.insert(name);
    }
  }

  void note_present(const StoredObject& object) {
    bool owned = false;
    object.for_each_owner([&](std::string_view) { owned = true; });
    if (owned || object.deleting()) remember(object);
  }

  // An owner that waits looks again when the one changes that it knows to hold it, and not for each of perhaps a
  // hundred thousand others.
  void note_held(const Change& change) {
    if (held_.empty()) return;
    const StoredObject& before = change.previous ? *change.previous : *change.object;
    before.for_each_owner([&](std::string_view owner) {
      const auto held = held_.find(owner);
      if (held == held_.end() || held->second.by != change.object->uid()) return;
      remember(held->second.owner);
      held_.erase(held);
    });
  }

  // True when the owner that is now held waits for itself in the end. Who waits waits for one, so this is a walk along
  // a line; and a circle that is there now came with the newest step, since every one is broken when it comes.
  bool closes_circle(std::string_view owner_uid, std::string_view holder) const {
    for (std::size_t steps = 0; steps <= held_.size(); ++steps) {
      if (holder == owner_uid) return true;
      const auto next = held_.find(holder);
      if (next == held_.end()) return false;
      holder = next->second.by;
    }
    return false;
  }

  // The next writes for one object.
  std::vector<Transaction> plan_object(const StoredObject& object, std::int64_t now) {
    std::string uid(object.uid());
    held_.erase(uid);
    Collection planned = plan_collection(parts_.store, object, now);
    for (ObjectKey& key : planned.look_at) remember(std::move(key));
    if (planned.held_by.empty()) return std::move(planned.writes);
    if (closes_circle(uid, planned.held_by)) {
      planned.writes.push_back(plan_release(object));
      return std::move(planned.writes);
    }
    held_.insert_or_assign(std::move(uid), Held{.owner = object.key(), .by = std::move(planned.held_by)});
    return std::move(planned.writes);
  }

  void remember(const StoredObject& object) { remember(object.key()); }
  void remember(ObjectKey key) {
    if (objects_.size() >= remembered_max) {
      overflowed_ = true;
      return;
    }
    objects_.emplace(std::move(key.resource), std::move(key.ns), std::move(key.name));
  }

  // One object after another: unlike the memory of single objects this can be resumed, so it needs no bound.
  Task<void> look_at_everything() {
    Turn turn(parts_.core);
    for (const std::string& key : parts_.store.resources()) {
      if (!find_resource(key)) continue;
      auto page = parts_.store.list({.resource = key});
      if (!page) continue;
      for (const auto& object : page->objects) {
        if (key == namespaces_key) note_namespace(*object, false);
        note_present(*object);
        if (turn.over(*object)) co_await turn.pass();
      }
    }
  }

  // True when something was written, or tried.
  Task<bool> one_round() {
    std::vector<Transaction> writes = plan_round();
    if (writes.empty()) co_return false;
    std::vector<ObjectKey> keys;
    keys.reserve(writes.size());
    for (const auto& transaction : writes) keys.push_back(transaction.writes.front().key);
    const auto results = co_await Commit(parts_.commits, parts_.core, std::move(writes));
    bool again = false;
    std::string failure;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] || results[i].error().code == 404) continue;
      // Whoever was faster made a change that may decide otherwise.
      again = true;
      look_again(keys[i]);
      if (results[i].error().code != 409) failure = results[i].error().message;
    }
    if (!failure.empty())
      log::error("a deletion could not be completed; it will be tried again", {{"reason", failure}});
    if (again) co_await parts_.core.sleep(failure.empty() ? retry_pause : milliseconds(failure_pause));
    co_return true;
  }

  void look_again(const ObjectKey& key) {
    if (key.resource == namespaces_key) namespaces_.insert(key.name);
    if (terminating_.contains(key.ns)) namespaces_.insert(key.ns);
    if (key.resource.starts_with(cluster_roles_prefix)) roles_changed_ = true;
    objects_.emplace(key.resource, key.ns, key.name);
  }

  std::vector<Transaction> plan_round() {
    std::vector<Transaction> writes;
    std::set<Key> written;
    // A key may be written once in a round: the second plan for it would be about a version that is gone.
    const auto add = [&](std::vector<Transaction> planned) {
      for (auto& transaction : planned) {
        const ObjectKey& key = transaction.writes.front().key;
        if (written.emplace(key.resource, key.ns, key.name).second) writes.push_back(std::move(transaction));
      }
    };
    const std::int64_t now = seconds_now(parts_.clock);
    while (!namespaces_.empty() && writes.size() < writes_at_once) {
      const std::string name = std::move(namespaces_.extract(namespaces_.begin()).value());
      const auto ns = parts_.store.get(namespaces_key, "", name);
      if (!ns) continue;
      auto planned = plan_namespace(parts_.store, *ns, now, writes_at_once);
      const bool full = planned.size() >= writes_at_once;
      add(std::move(planned));
      if (full) {
        namespaces_.insert(name);
        break;
      }
    }
    for (std::size_t looks = 0; !objects_.empty() && writes.size() < writes_at_once && looks < looks_at_once; ++looks) {
      const Key key = std::move(objects_.extract(objects_.begin()).value());
      if (const auto object = parts_.store.get(std::get<0>(key), std::get<1>(key), std::get<2>(key)))
        add(plan_if_readable(*object, [&] { return plan_object(*object, now); }));
    }
    if (std::exchange(roles_changed_, false) && parts_.gather_roles)
      for (Write& write : parts_.gather_roles()) {
        Transaction transaction;
        transaction.writes.push_back(std::move(write));
        writes.push_back(std::move(transaction));
      }
    return writes;
  }

  const Parts& parts_;
  std::shared_ptr<Wakeup> wakeup_;
  std::map<std::string, Followed> followed_;
  std::set<Key> objects_;                          // to look at
  std::map<std::string, Held, std::less<>> held_;  // owners that wait, by uid
  std::set<std::string> namespaces_;               // to go on with
  std::unordered_set<std::string> terminating_;    // that are on their way out
  bool overflowed_ = false;                        // look at everything
  bool roles_changed_ = false;
};

Controllers::Controllers(Parts parts) : parts_(std::move(parts)), work_(std::make_unique<Work>(parts_)) {}
Controllers::~Controllers() = default;
Task<void> Controllers::run() { return work_->run(); }

}  // namespace vg::resources
