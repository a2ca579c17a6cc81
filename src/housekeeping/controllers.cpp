#include "housekeeping/controllers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/budgets.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/off_loop.h"
#include "base/time_rfc3339.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/commit.h"
#include "objects/deletion.h"
#include "objects/draft.h"
#include "objects/object_meta.h"
#include "objects/own_writes.h"
#include "objects/scan.h"
#include "objects/turn.h"
#include "objects/wakeup.h"

namespace vg::resources {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view namespace_finalizer = "kubernetes";
// The roles of the whole cluster, which may gather the rules of others.
constexpr std::string_view cluster_roles_prefix = "rbac.authorization.k8s.io/clusterroles";
constexpr std::size_t writes_at_once = 256;
// Of the objects that they are about: the store opens them all at once, and those that are marked are written again.
constexpr std::size_t write_bytes_at_once = 2 * limits::mib;
// Objects that are looked at before others get this core again: a few milliseconds.
constexpr std::size_t looks_at_once = 512;

// --- owners ----------------------------------------------------------------------------------------------------------

void not_looked_after(const StoredObject& object, const std::runtime_error& error) {
  log::error(
      "an object cannot be reconciled",
      {{"object", fmt::format("{} {}/{}", object.resource(), object.ns(), object.name())}, {"reason", error.what()}});
}

bool has_finalizer_text(const StoredObject& object, std::string_view name) {
  static constexpr std::array<std::string_view, 2> path = {"metadata", "finalizers"};
  const auto list = scan_value(object.json(), path);
  return list && list->contains(fmt::format("\"{}\"", name));
}

bool waits_for_dependents(const StoredObject& object) {
  return object.deleting() && has_finalizer_text(object, foreground_finalizer);
}

// What an object says of its owners. Nothing else of it is read: it may be large.
class OwnerReferences {
 public:
  explicit OwnerReferences(const StoredObject& object) {
    static constexpr std::array<std::string_view, 2> path = {"metadata", "ownerReferences"};
    const auto text = scan_value(object.json(), path);
    if (!text) return;
    auto parsed = json::Document::parse(*text, {.bytes_max = SIZE_MAX});
    if (!parsed || !parsed->root().is_array())
      throw std::runtime_error(fmt::format("the owners of the stored object {} {}/{} are not readable",
                                           object.resource(), object.ns(), object.name()));
    list_ = std::move(*parsed);
  }
  const json::Array& list() const {
    static const json::Array none;
    return list_ ? list_->root().get_array() : none;
  }

 private:
  std::optional<json::Document> list_;
};

bool is_owned(const StoredObject& object) {
  bool owned = false;
  object.for_each_owner([&](std::string_view) { owned = true; });
  return owned;
}

// As they stand in the text of an object that is owned: everything before them in metadata is numbers, or text, in
// which quotes are escaped (objects/draft.h), so the first place that looks like theirs is theirs.
std::string_view owners_text(const StoredObject& object) {
  static constexpr std::string_view name = R"("ownerReferences":[)";
  const std::string_view json = object.json();
  const void* found = ::memmem(json.data(), json.size(), name.data(), name.size());
  if (!found) return json;
  const std::string_view rest = json.substr(static_cast<std::size_t>(static_cast<const char*>(found) - json.data()));
  return rest.substr(0, end_of_value(rest, name.size() - 1));
}

// A change after which there is nothing to look at that there was not before: an object that stays, with the same
// owners. What becomes of these is seen at theirs.
bool keeps_owners(const Change& change) {
  return change.type == ChangeType::modified && change.previous && !change.object->deleting() &&
         is_owned(*change.object) && is_owned(*change.previous) &&
         owners_text(*change.object) == owners_text(*change.previous);
}

bool blocks_owner(const StoredObject& object, std::string_view owner_uid) {
  const OwnerReferences owners(object);
  return std::ranges::any_of(owners.list(), [&](const json::Value& owner) {
    return json::get_string_or(owner, "uid") == owner_uid && json::get_bool_or(owner, "blockOwnerDeletion", false);
  });
}

// Whoever only takes something away needs no time.
OwnWriter collector(std::string_view subresource = {}, std::string_view now = {}) {
  return {.manager = own_writers::controller_manager, .subresource = subresource, .now = now};
}

// The object without these owners.
Transaction disown(const StoredObject& object, const Resource& resource,
                   const std::set<std::string, std::less<>>& uids) {
  json::Document memory;
  const json::Value old = load_object(object, memory.storage());
  json::Value document(old, memory.storage());
  json::Object& metadata = metadata_of(document.get_object());
  json::Array kept(memory.storage());
  if (const json::Array* owners = json::get_array(metadata, "ownerReferences"))
    for (const json::Value& owner : *owners)
      if (!uids.contains(json::get_string_or(owner, "uid"))) kept.push_back(owner);
  if (kept.empty())
    json::erase(metadata, "ownerReferences");
  else
    metadata["ownerReferences"] = std::move(kept);
  note_own_write(document, &old, resource, collector());
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::update,
                                .key = object.key(),
                                .expected_revision = object.revision(),
                                .object = make_draft(document.get_object(), resource)});
  return transaction;
}

// The object without one finalizer, or no object when that was the last thing to wait for.
Transaction release(const StoredObject& object, const Resource& resource, std::string_view finalizer,
                    std::int64_t now_seconds) {
  json::Document memory;
  const json::Value old = load_object(object, memory.storage());
  json::Value document(old, memory.storage());
  json::Object& members = document.get_object();
  const bool of_namespace = resource.key == namespaces_key && finalizer == namespace_finalizer;
  if (of_namespace) {
    json::Array* finalizers = json::get_array(json::ensure_object(members, "spec"), "finalizers");
    if (finalizers)
      for (auto* at = finalizers->begin(); at != finalizers->end();)
        at = json::as_string(at) == std::optional(finalizer) ? finalizers->erase(at) : at + 1;
  } else {
    remove_finalizer(metadata_of(members), finalizer);
  }
  Transaction transaction;
  const bool goes = deletion_completes(members, resource);
  const std::string now = print_rfc3339({.seconds = now_seconds, .nanoseconds = 0});
  if (!goes) note_own_write(document, &old, resource, collector(of_namespace ? "finalize" : "", now));
  transaction.writes.push_back({.kind = goes ? WriteKind::remove : WriteKind::update,
                                .key = object.key(),
                                .expected_revision = object.revision(),
                                .object = goes ? ObjectDraft{} : make_draft(members, resource)});
  return transaction;
}

// Nothing when it is on its way out as far as it can be.
std::optional<Transaction> removal(const StoredObject& object, const Resource& resource, Propagation propagation,
                                   std::int64_t now_seconds) {
  json::Document memory;
  DeleteOptions options;
  options.propagation = propagation;
  auto plan = plan_deletion(object, resource, options, now_seconds, memory.storage());
  if (!plan || plan->removal == Removal::keep) return std::nullopt;
  return deletion_transaction(object, std::move(*plan));
}

// Lets an owner go that waits for what it owns.
Transaction release_owner(const StoredObject& owner, const Resource& resource, std::int64_t now_seconds) {
  return release(owner, resource, has_finalizer_text(owner, orphan_finalizer) ? orphan_finalizer : foreground_finalizer,
                 now_seconds);
}

// Whoever knows a uid can name it as owner. What belongs to a namespace owns nothing outside of it, so nobody out there
// keeps it from going.
bool owns(const StoredObject& owner, const StoredObject& dependent) {
  return dependent.owned_by(owner.uid()) && find_resource(dependent.resource()) &&
         (owner.ns().empty() || owner.ns() == dependent.ns());
}

// The last of those that were shown, in the order in which they are looked at, that holds its owner.
class LastThatBlocks {
 public:
  void show(const StoredObject& object, std::string_view owner_uid) {
    auto place = std::make_tuple(std::string(object.resource()), std::string(object.ns()), std::string(object.name()));
    if ((!uid_.empty() && place <= place_) || !blocks_owner(object, owner_uid)) return;
    place_ = std::move(place);
    uid_ = object.uid();
  }
  const std::string& uid() const { return uid_; }

 private:
  std::tuple<std::string, std::string, std::string> place_;
  std::string uid_;
};

// Owners by what is known of them.
struct OwnerStates {
  using Uids = std::set<std::string, std::less<>>;
  std::size_t solid = 0;  // there, or of a kind that is not known here
  Uids gone;              // those that are not there any more
  Uids waiting;           // those that wait for what they own to go first
  Uids orphaning;         // those that go once they own nothing any more
};

enum class OwnerIs : std::uint8_t { solid, orphaning, waiting };
struct Owner {
  std::string uid;  // empty: there is none
  OwnerIs is = OwnerIs::solid;
};

Owner look_at_owner(const ObjectPtr& owner) {
  if (!owner) return {};
  const OwnerIs is = owner->deleting() && has_finalizer_text(*owner, orphan_finalizer) ? OwnerIs::orphaning
                     : waits_for_dependents(*owner)                                    ? OwnerIs::waiting
                                                                                       : OwnerIs::solid;
  return {.uid = std::string(owner->uid()), .is = is};
}

Task<OwnerStates> owner_states(const ObjectStore& store, const StoredObject& object, Turn& turn) {
  OwnerStates states;
  const OwnerReferences owners(object);
  std::map<std::pair<const Resource*, std::string_view>, Owner> known;  // one may be named ten thousand times
  for (const json::Value& reference : owners.list()) {
    const std::string_view uid = json::get_string_or(reference, "uid");
    const std::string_view name = json::get_string_or(reference, "name");
    const Resource* kind =
        find_resource_of_kind(json::get_string_or(reference, "apiVersion"), json::get_string_or(reference, "kind"));
    // Nobody knows whether an owner of an unknown kind is there, nor where one of a namespace would be that something
    // of the whole cluster names.
    if (!kind || (kind->kind->namespaced && object.ns().empty())) {
      ++states.solid;
      continue;
    }
    auto [entry, unknown] = known.try_emplace({kind, name});
    if (unknown) {
      entry->second =
          look_at_owner(store.get(kind->key, kind->kind->namespaced ? object.ns() : std::string_view(), name));
      if (turn.over()) co_await turn.pass();
    }
    const Owner& owner = entry->second;
    if (owner.uid.empty() || owner.uid != uid)
      states.gone.emplace(uid);
    else if (owner.is == OwnerIs::orphaning)
      states.orphaning.emplace(uid);
    else if (owner.is == OwnerIs::waiting)
      states.waiting.emplace(uid);
    else
      ++states.solid;
  }
  co_return states;
}

Task<bool> owns_something(const ObjectStore& store, const StoredObject& owner, Turn& turn) {
  const ObjectList dependents = store.owned_by(owner.uid());
  for (const ObjectPtr& dependent : dependents) {
    if (dependent->owned_by(owner.uid())) co_return true;
    if (turn.over(*dependent)) co_await turn.pass();
  }
  co_return false;
}

std::int64_t seconds_now(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now().time_since_epoch()).count();
}

// --- the task --------------------------------------------------------------------------------------------------------

class DeletionController final : public Controller {
 public:
  DeletionController(ControllerParts parts, std::function<std::vector<Write>()> gather_roles)
      : parts_(parts), gather_roles_(std::move(gather_roles)), wakeup_(std::make_shared<Wakeup>(parts.core)) {}

  Task<void> run() override {
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

  // Writes that go to the store together.
  class Round {
   public:
    // A key may be written once in a round: the second plan for it would be about a version that is gone.
    void add(Transaction transaction, std::size_t object_bytes) {
      const Write& write = transaction.writes.front();
      const ObjectKey& key = write.key;
      if (!written_.emplace(key.resource, key.ns, key.name).second) return;
      bytes_ += object_bytes;
      writes_.push_back(std::move(transaction));
    }
    bool empty() const { return writes_.empty(); }
    bool full() const { return writes_.size() >= writes_at_once || bytes_ >= write_bytes_at_once; }
    std::vector<Transaction> take() {
      written_.clear();
      bytes_ = 0;
      return std::exchange(writes_, {});
    }

   private:
    std::vector<Transaction> writes_;
    std::set<Key> written_;
    std::size_t bytes_ = 0;
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

  // --- what there is to look at

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
          if (change.type == ChangeType::removed) co_await remember_dependents(*change.object, turn);
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
    if (removed) note_left(object);
    if (object.resource() == namespaces_key) note_namespace(object, removed);
    note_held(change);
    if (removed)
      held_.erase(std::string(object.uid()));
    else if (!keeps_owners(change))
      note_present(object);
  }

  // A namespace that waits looks again when the one is gone that it knows to be in it, and not for each of the others.
  void note_left(const StoredObject& object) {
    const std::string ns(object.ns());
    if (!terminating_.contains(ns)) return;
    const auto held = occupied_.find(ns);
    if (held != occupied_.end() && held->second != object.uid()) return;
    if (held != occupied_.end()) occupied_.erase(held);
    namespaces_.insert(ns);
  }

  void note_namespace(const StoredObject& ns, bool removed) {
    const std::string name(ns.name());
    if (removed) {
      terminating_.erase(name);
      occupied_.erase(name);
    } else if (ns.deleting()) {
      terminating_.insert(name);
      namespaces_.insert(name);
    }
  }

  void note_present(const StoredObject& object) {
    if (object.deleting() || is_owned(object)) remember(object.key());
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

  Task<void> remember_dependents(const StoredObject& owner, Turn& turn) {
    const ObjectList dependents = parts_.store.owned_by(owner.uid());
    for (const ObjectPtr& dependent : dependents) {
      if (dependent->owned_by(owner.uid())) remember(dependent->key());
      if (turn.over(*dependent)) co_await turn.pass();
    }
  }

  void remember(ObjectKey key) {
    if (objects_.size() >= budgets::garbage_remembered_max) {
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
      for (const ObjectPtr& object : page->objects) {
        if (key == namespaces_key) note_namespace(*object, false);
        note_present(*object);
        if (turn.over(*object)) co_await turn.pass();
      }
    }
  }

  // --- what to do about it

  // What `plan` makes of the object, made by a worker when the object is large: then it takes longer than a turn.
  template <class Plan>
  Task<std::invoke_result_t<Plan&>> made(const StoredObject& object, Plan plan) {
    while (true) {
      auto result = co_await off_loop(parts_.core, object.memory_bytes(),
                                      [&]() -> Result<std::invoke_result_t<Plan&>> { return plan(); });
      if (result) co_return std::move(*result);
      co_await parts_.core.sleep(retry_pause);  // users' requests have all workers
    }
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

  // The next write for an object that has owners or is on its way out.
  Task<void> look_at(const StoredObject& object, Round& round, Turn& turn) {
    held_.erase(std::string(object.uid()));
    const Resource* resource = find_resource(object.resource());
    if (!resource) co_return;
    OwnerStates states = co_await owner_states(parts_.store, object, turn);
    if (!states.orphaning.empty()) {
      round.add(co_await made(object, [&] { return disown(object, *resource, states.orphaning); }),
                object.memory_bytes());
    } else if (!object.deleting()) {
      co_await settle_owned(object, *resource, std::move(states), round, turn);
    } else if (has_finalizer_text(object, orphan_finalizer)) {
      co_await wait_or_release(object, *resource, co_await orphan_dependents(object, turn), round);
    } else if (has_finalizer_text(object, foreground_finalizer)) {
      co_await wait_or_release(object, *resource, co_await clear_dependents(object, turn), round);
    }
  }

  Task<void> settle_owned(const StoredObject& object, const Resource& resource, OwnerStates states, Round& round,
                          Turn& turn) {
    if (states.gone.empty() && states.waiting.empty()) co_return;
    if (states.solid > 0) {
      states.gone.merge(states.waiting);
      round.add(co_await made(object, [&] { return disown(object, resource, states.gone); }), object.memory_bytes());
      co_return;
    }
    // An owner that waits for this one waits for what it owns in turn as well.
    const bool waits = !states.waiting.empty() && co_await owns_something(parts_.store, object, turn);
    const Propagation propagation = waits ? Propagation::foreground : Propagation::background;
    const std::int64_t now = seconds_now(parts_.clock);
    if (auto write = co_await made(object, [&] { return removal(object, resource, propagation, now); }))
      round.add(std::move(*write), object.memory_bytes());
  }

  // Until what holds it has changed.
  Task<void> wait_or_release(const StoredObject& owner, const Resource& resource, std::string held_by, Round& round) {
    const std::int64_t now = seconds_now(parts_.clock);
    if (held_by.empty() || closes_circle(owner.uid(), held_by))
      round.add(co_await made(owner, [&] { return release_owner(owner, resource, now); }), owner.memory_bytes());
    else
      held_.insert_or_assign(std::string(owner.uid()), Held{.owner = owner.key(), .by = std::move(held_by)});
  }

  // What is owned goes in its own turn, and what of it is waited for goes first. Returns the uid of something that must
  // change before the owner can go on, if any: of many it is one that is likely to go last, and one that waits for
  // others itself only when all of them do.
  Task<std::string> clear_dependents(const StoredObject& owner, Turn& turn) {
    LastThatBlocks staying, leaving, waiting;
    const ObjectList dependents = parts_.store.owned_by(owner.uid());
    for (const ObjectPtr& dependent : dependents) {
      if (owns(owner, *dependent)) {
        if (!dependent->deleting()) remember(dependent->key());
        auto& group = !dependent->deleting() ? staying : waits_for_dependents(*dependent) ? waiting : leaving;
        group.show(*dependent, owner.uid());
      }
      if (turn.over(*dependent)) co_await turn.pass();
    }
    for (const auto* group : {&staying, &leaving, &waiting})
      if (!group->uid().empty()) co_return group->uid();
    co_return std::string();
  }

  // The same for an owner that goes once it owns nothing any more.
  Task<std::string> orphan_dependents(const StoredObject& owner, Turn& turn) {
    std::string held_by;
    const ObjectList dependents = parts_.store.owned_by(owner.uid());
    for (const ObjectPtr& dependent : dependents) {
      if (owns(owner, *dependent)) {
        remember(dependent->key());
        held_by = dependent->uid();
      }
      if (turn.over(*dependent)) co_await turn.pass();
    }
    co_return held_by;
  }

  // Deletes what is in a namespace that is on its way out; when nothing is left, lets it go.
  Task<void> empty_namespace(const std::string& name, Round& round, Turn& turn) {
    occupied_.erase(name);
    const auto ns = parts_.store.get(namespaces_key, "", name);
    if (!ns || !ns->deleting()) co_return;
    std::string stays;  // the uid of the last that does not go at once
    bool found = false;
    for (const Resource& resource : resources()) {
      if (!resource.kind->namespaced || !resource.stored || parts_.store.count(resource.key) == 0) continue;
      const auto page = parts_.store.list({.resource = resource.key, .ns = name});
      found = found || !page || !page->objects.empty();
      if (!page) continue;  // nobody knows
      for (const ObjectPtr& object : page->objects) {
        if (!co_await remove_content(*object, resource, round)) stays = object->uid();
        if (round.full()) co_await write(round);
        if (turn.over(*object)) co_await turn.pass();
      }
    }
    if (!stays.empty())
      occupied_.insert_or_assign(name, std::move(stays));
    else if (found)
      namespaces_.insert(name);
    else
      round.add(release(*ns, *find_resource(namespaces_key), namespace_finalizer, seconds_now(parts_.clock)),
                ns->memory_bytes());
  }

  // False when it is still there after that.
  Task<bool> remove_content(const StoredObject& object, const Resource& resource, Round& round) {
    if (object.deleting()) co_return false;
    const std::int64_t now = seconds_now(parts_.clock);
    try {
      auto write = co_await made(object, [&] { return removal(object, resource, Propagation::background, now); });
      if (!write) co_return false;
      const bool goes = write->writes.front().kind == WriteKind::remove;
      round.add(std::move(*write), object.memory_bytes());
      co_return goes;
    } catch (const std::runtime_error& error) {
      not_looked_after(object, error);
      co_return false;
    }
  }

  // True when something was written, or tried.
  Task<bool> one_round() {
    Round round;
    Turn turn(parts_.core);
    bool worked = false;
    for (std::set<std::string> names = std::exchange(namespaces_, {}); !names.empty();)
      co_await empty_namespace(names.extract(names.begin()).value(), round, turn);
    for (std::size_t looks = 0; !objects_.empty() && !round.full() && looks < looks_at_once; ++looks) {
      const Key key = std::move(objects_.extract(objects_.begin()).value());
      const auto object = parts_.store.get(std::get<0>(key), std::get<1>(key), std::get<2>(key));
      if (!object) continue;
      // Others must not wait for one that is not readable, and the server must not end over it at every start.
      try {
        co_await look_at(*object, round, turn);
      } catch (const std::runtime_error& error) {
        not_looked_after(*object, error);
      }
      if (turn.over(*object)) co_await turn.pass();
    }
    if (std::exchange(roles_changed_, false) && gather_roles_)
      for (Write& write : gather_roles_()) {
        Transaction transaction;
        transaction.writes.push_back(std::move(write));
        round.add(std::move(transaction), 0);
      }
    worked = !round.empty();
    co_await write(round);
    co_return worked;
  }

  Task<void> write(Round& round) {
    std::vector<Transaction> writes = round.take();
    if (writes.empty()) co_return;
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
    if (again) co_await parts_.core.sleep(failure.empty() ? retry_pause : failure_pause);
  }

  void look_again(const ObjectKey& key) {
    if (key.resource == namespaces_key) namespaces_.insert(key.name);
    if (terminating_.contains(key.ns)) namespaces_.insert(key.ns);
    if (key.resource.starts_with(cluster_roles_prefix)) roles_changed_ = true;
    objects_.emplace(key.resource, key.ns, key.name);
  }

  const ControllerParts parts_;
  const std::function<std::vector<Write>()> gather_roles_;
  std::shared_ptr<Wakeup> wakeup_;
  std::map<std::string, Followed> followed_;
  std::set<Key> objects_;                                  // to look at
  std::map<std::string, Held, std::less<>> held_;          // owners that wait, by uid
  std::set<std::string> namespaces_;                       // to go on with
  std::unordered_set<std::string> terminating_;            // that are on their way out
  std::unordered_map<std::string, std::string> occupied_;  // of these: the uid of something that is still in it
  bool overflowed_ = false;                                // look at everything
  bool roles_changed_ = false;
};

}  // namespace

std::unique_ptr<Controller> make_deletion_controller(ControllerParts parts,
                                                     std::function<std::vector<Write>()> gather_roles) {
  return std::make_unique<DeletionController>(parts, std::move(gather_roles));
}

}  // namespace vg::resources
