#include "resources/controllers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <set>
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
// Objects to look at that are remembered one by one; when there are more, everything is looked at instead.
constexpr std::size_t remembered_max = 100'000;
// After a write that somebody else got in the way of, and while a disk refuses.
constexpr std::chrono::milliseconds retry_pause{20};
constexpr std::chrono::seconds failure_pause{2};

// --- owners ----------------------------------------------------------------------------------------------------------

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

// What is owned, and waited for, goes first; what it owns in turn is waited for as well.
std::vector<Transaction> clear_dependents(const ObjectStore& store, const StoredObject& owner, const Resource& resource,
                                          std::int64_t now_seconds) {
  std::vector<Transaction> writes;
  bool blocked = false;
  for (const auto& dependent : store.owned_by(owner.uid())) {
    const Resource* kind = find_resource(dependent->resource());
    if (!kind) continue;
    blocked = blocked || blocks_owner(*dependent, owner.uid());
    if (dependent->deleting()) continue;
    const OwnerStates states = owner_states(store, *dependent);
    if (states.solid > 0) {
      writes.push_back(disown(*dependent, *kind, {std::string(owner.uid())}));
      continue;
    }
    const bool owns = !store.owned_by(dependent->uid()).empty();
    if (auto write = removal(*dependent, *kind, owns ? Propagation::foreground : Propagation::background, now_seconds))
      writes.push_back(std::move(*write));
  }
  if (!blocked && writes.empty()) writes.push_back(release(owner, resource, foreground_finalizer));
  return writes;
}

std::vector<Transaction> orphan_dependents(const ObjectStore& store, const StoredObject& owner,
                                           const Resource& resource) {
  std::vector<Transaction> writes;
  for (const auto& dependent : store.owned_by(owner.uid()))
    if (const Resource* kind = find_resource(dependent->resource()))
      writes.push_back(disown(*dependent, *kind, {std::string(owner.uid())}));
  if (writes.empty()) writes.push_back(release(owner, resource, orphan_finalizer));
  return writes;
}

std::vector<Transaction> settle_owned(const ObjectStore& store, const StoredObject& object, const Resource& resource,
                                      std::int64_t now_seconds) {
  OwnerStates states = owner_states(store, object);
  std::vector<Transaction> writes;
  if (states.gone.empty() && states.waiting.empty()) return writes;
  if (states.solid > 0) {
    std::ranges::move(states.waiting, std::back_inserter(states.gone));
    writes.push_back(disown(object, resource, states.gone));
  } else if (states.waiting.empty()) {
    if (auto write = removal(object, resource, Propagation::background, now_seconds))
      writes.push_back(std::move(*write));
  }
  // With an owner that waits, the owner's own turn deletes this.
  return writes;
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
    else if (waits_for_dependents(*owner))
      states.waiting.emplace_back(uid);
    else
      ++states.solid;
  }
  return states;
}

std::vector<Transaction> plan_collection(const ObjectStore& store, const StoredObject& object,
                                         std::int64_t now_seconds) {
  const Resource* resource = find_resource(object.resource());
  if (!resource) return {};
  if (object.deleting()) {
    if (has_finalizer_text(object, orphan_finalizer)) return orphan_dependents(store, object, *resource);
    if (has_finalizer_text(object, foreground_finalizer))
      return clear_dependents(store, object, *resource, now_seconds);
    return {};
  }
  return settle_owned(store, object, *resource, now_seconds);
}

std::vector<Transaction> plan_namespace(const ObjectStore& store, const StoredObject& ns, std::int64_t now_seconds,
                                        std::size_t writes_max) {
  std::vector<Transaction> writes;
  if (!ns.deleting()) return writes;
  bool empty = true;
  for (const Resource& resource : resources()) {
    if (!resource.kind->namespaced || !resource.stored || store.count(resource.key) == 0) continue;
    const auto page = store.list({.resource = resource.key, .ns = ns.name()});
    if (!page) continue;
    for (const auto& object : page->objects) {
      empty = false;
      if (writes.size() >= writes_max) return writes;
      if (object->deleting()) continue;
      if (auto write = removal(*object, resource, Propagation::background, now_seconds))
        writes.push_back(std::move(*write));
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
    look_at_everything();
    roles_changed_ = true;
    while (true) {
      read_changes();
      if (std::exchange(overflowed_, false)) look_at_everything();
      const bool worked = co_await one_round();
      if (!worked && objects_.empty() && namespaces_.empty() && !roles_changed_) co_await wakeup_->wait();
    }
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
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
      log::error("deletions are not followed up", {{"resource", key}, {"reason", watch.error().message}});
      return false;
    }
    followed.watch = std::move(*watch);
    followed_.insert_or_assign(key, std::move(followed));
    return true;
  }

  void read_changes() {
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
        for (const auto& change : batch->changes) note(change);
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
    if (removed) {
      for (const auto& dependent : parts_.store.owned_by(object.uid())) remember(*dependent);
      remember_owners(object);
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
    // Also its blocking may have ended.
    if (owned && object.deleting()) remember_owners(object);
  }

  // Owners that wait for this one may go on.
  void remember_owners(const StoredObject& object) {
    bool owned = false;
    object.for_each_owner([&](std::string_view) { owned = true; });
    if (!owned) return;
    json::Document memory;
    const json::Value document = load_object(object, memory.storage());
    const json::Array* owners = owners_of(document);
    if (!owners) return;
    for (const json::Value& reference : *owners) {
      const Resource* kind =
          find_resource_of_kind(json::get_string_or(reference, "apiVersion"), json::get_string_or(reference, "kind"));
      if (!kind) continue;
      const auto owner = parts_.store.get(kind->key, kind->kind->namespaced ? object.ns() : std::string_view(),
                                          json::get_string_or(reference, "name"));
      if (owner && owner->deleting()) remember(*owner);
    }
  }

  void remember(const StoredObject& object) {
    if (objects_.size() >= remembered_max) {
      overflowed_ = true;
      return;
    }
    objects_.emplace(std::string(object.resource()), std::string(object.ns()), std::string(object.name()));
  }

  // One object after another: unlike the memory of single objects this can be resumed, so it needs no bound.
  void look_at_everything() {
    for (const std::string& key : parts_.store.resources()) {
      if (!find_resource(key)) continue;
      auto page = parts_.store.list({.resource = key});
      if (!page) continue;
      for (const auto& object : page->objects) {
        if (key == namespaces_key) note_namespace(*object, false);
        note_present(*object);
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
    if (!failure.empty()) log::error("a deletion could not be completed; it is tried again", {{"reason", failure}});
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
    std::vector<Key> waiting;
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
    while (!objects_.empty() && writes.size() < writes_at_once) {
      Key key = std::move(objects_.extract(objects_.begin()).value());
      const auto object = parts_.store.get(std::get<0>(key), std::get<1>(key), std::get<2>(key));
      if (!object) continue;
      auto planned = plan_collection(parts_.store, *object, now);
      // An owner that waits goes on once its turn leaves nothing to write for what it owns.
      if (object->deleting() && !planned.empty()) waiting.push_back(std::move(key));
      add(std::move(planned));
    }
    for (Key& key : waiting) objects_.insert(std::move(key));
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
  std::set<Key> objects_;                        // to look at
  std::set<std::string> namespaces_;             // to go on with
  std::unordered_set<std::string> terminating_;  // that are on their way out
  bool overflowed_ = false;                      // look at everything
  bool roles_changed_ = false;
};

Controllers::Controllers(Parts parts) : parts_(std::move(parts)), work_(std::make_unique<Work>(parts_)) {}
Controllers::~Controllers() = default;
Task<void> Controllers::run() { return work_->run(); }

}  // namespace vg::resources
