#include "store/versioned_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>

#include "base/phrases.h"
#include "base/store_limits.h"
#include "store/list_pages.h"

namespace vg::store {
namespace {

std::uint32_t now_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  return static_cast<std::uint32_t>(
      duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::size_t open_bytes(const Change& change) {
  return sizeof(Change) + change.object->memory_bytes() + (change.previous ? change.previous->memory_bytes() : 0);
}

}  // namespace

// --- opening --------------------------------------------------------------------------------------------------------

void VersionedIndex::begin(Revision revision, const std::map<std::string, Revision, std::less<>>& compacted) {
  revision_ = revision;
  if (const auto all = compacted.find(every_resource); all != compacted.end()) floor_ = all->second;
  for (const auto& [resource, gone] : compacted) {
    if (resource == every_resource) continue;
    auto& state = *resource_entry(resource).second;
    state.compacted = std::max(state.compacted, gone);
  }
}

bool VersionedIndex::replay(const Record& record, KeptPtr object, std::vector<Obsolete>& obsolete) {
  auto& entry = resource_entry(record.object.resource);
  auto& state = *entry.second;
  const auto& stamp = record.object.stamp;
  KeptChange change{.revision = stamp.revision, .at_ms = now_ms(), .ordinal = stamp.ordinal};
  if (record.tombstone) {
    change.type = ChangeType::removed;
    change.previous = state.index.erase({record.object.ns, record.object.name});
    change.object = change.previous;
    if (!change.object) return false;
  } else {
    change.object = std::move(object);
    change.previous = state.index.put(change.object);
    change.type = change.previous ? ChangeType::modified : ChangeType::added;
  }
  index_owners(change);
  revision_ = std::max(revision_, stamp.revision);
  append(state, std::move(change));
  // A change that was compacted when the store closed may still have rows; leaving the log again removes them.
  Leaving leaving;
  while (is_full(state)) drop_oldest(entry, leaving, obsolete);
  return true;
}

// --- changing -------------------------------------------------------------------------------------------------------

VersionedIndex::Resources::value_type& VersionedIndex::resource_entry(std::string_view resource) {
  const auto found = resources_.find(resource);
  if (found != resources_.end()) return *found;
  auto& entry = *resources_.emplace(std::string(resource), std::make_unique<ResourceState>()).first;
  entry.second->compacted = floor_;
  return entry;
}

void VersionedIndex::index_owners(const KeptChange& change, const Change* open) {
  const std::hash<std::string_view> hash;
  if (change.previous && change.previous->has_owners()) {
    const ObjectPtr previous = open ? open->previous : change.previous->open();
    previous->for_each_owner([&](std::string_view owner) { owners_.erase({hash(owner), change.previous}); });
  }
  if (change.type != ChangeType::removed && change.object->has_owners()) {
    const ObjectPtr object = open ? open->object : change.object->open();
    object->for_each_owner([&](std::string_view owner) { owners_.emplace(hash(owner), change.object); });
  }
}

void VersionedIndex::append(ResourceState& state, KeptChange entry) {
  state.log_bytes += entry.cost_bytes();
  if (entry.type != ChangeType::removed) state.live_bytes += entry.object->open_bytes();
  if (entry.previous) state.live_bytes -= entry.previous->open_bytes();
  state.log.push_back(std::move(entry));
}

void VersionedIndex::append_recent(ResourceState& state, const Change& change, Leaving& leaving) {
  state.recent_bytes += open_bytes(change);
  state.recent.push_back(change);
  while (state.recent_bytes > window_.recent_bytes_max) {
    state.recent_bytes -= open_bytes(state.recent.front());
    leaving.changes.push_back(std::move(state.recent.front()));
    state.recent.pop_front();
  }
}

bool VersionedIndex::is_full(const ResourceState& state) const {
  if (state.log.empty()) return false;
  // What shares a revision (see Stamp) also leaves together.
  return state.log.front().revision <= state.compacted || state.log.size() > window_.changes_max ||
         state.log_bytes > window_.bytes_max;
}

bool VersionedIndex::is_aged(const ResourceState& state, std::uint32_t now, bool tight) const {
  if (state.log.empty()) return false;
  const auto age = std::chrono::milliseconds(now - state.log.front().at_ms);
  const bool costly = state.log_bytes > std::max(window_.bytes_least, state.live_bytes);
  if (tight && age > store_limits::full_window_age_max) return true;
  return age > window_.age_max || (costly && age > window_.age_least);
}

void VersionedIndex::drop_oldest(Resources::value_type& entry, Leaving& leaving, std::vector<Obsolete>& obsolete) {
  auto& [resource, state] = entry;
  auto& change = state->log.front();
  state->compacted = std::max(state->compacted, change.revision);
  state->log_bytes -= change.cost_bytes();
  if (change.previous) {
    obsolete.push_back({.resource = resource,
                        .compacted = change.revision,
                        .ids = {record_id(change.previous->revision(), change.previous->ordinal()),
                                change.type == ChangeType::removed ? record_id(change.revision, change.ordinal) : 0},
                        .bytes = change.previous->open_bytes()});
  }
  leaving.entries.push_back(std::move(change));
  state->log.pop_front();
  ++state->log_start;
}

std::vector<Obsolete> VersionedIndex::publish(const std::vector<Change>& changes, std::vector<KeptChange> kept,
                                              Revision revision) {
  std::vector<Obsolete> obsolete;
  const auto now = now_ms();
  {
    Leaving leaving;
    const std::unique_lock lock(mutex_);
    Resources::value_type* entry = nullptr;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const auto resource = changes[i].object->resource();
      if (entry == nullptr || entry->first != resource) entry = &resource_entry(resource);
      auto& state = *entry->second;
      if (kept[i].type == ChangeType::removed) {
        state.index.erase(name_of(*kept[i].object));
      } else {
        state.index.put(kept[i].object);
      }
      index_owners(kept[i], &changes[i]);
      kept[i].at_ms = now;
      append(state, std::move(kept[i]));
      append_recent(state, changes[i], leaving);
      while (is_full(state)) drop_oldest(*entry, leaving, obsolete);
    }
    revision_ = revision;
  }
  hub_.notify(changes);
  return obsolete;
}

std::vector<Obsolete> VersionedIndex::age(bool quiet, bool tight) {
  std::vector<Obsolete> obsolete;
  Leaving leaving;
  const auto now = now_ms();
  const std::unique_lock lock(mutex_);
  for (auto& entry : resources_) {
    auto& state = *entry.second;
    while (leaving.entries.size() < store_limits::aged_changes_max && (is_full(state) || is_aged(state, now, tight)))
      drop_oldest(entry, leaving, obsolete);
    if (!quiet) continue;
    // Everybody who kept up has seen them.
    std::ranges::move(state.recent, std::back_inserter(leaving.changes));
    state.recent.clear();
    state.recent_bytes = 0;
  }
  return obsolete;
}

// --- reading --------------------------------------------------------------------------------------------------------

const VersionedIndex::ResourceState* VersionedIndex::find(std::string_view resource) const {
  const auto found = resources_.find(resource);
  return found == resources_.end() ? nullptr : found->second.get();
}

KeptPtr VersionedIndex::newest(const ObjectKey& key) const {
  const auto* state = find(key.resource);
  return state == nullptr ? nullptr : state->index.get({key.ns, key.name});
}

Revision VersionedIndex::revision() const {
  const std::shared_lock lock(mutex_);
  return revision_;
}

ObjectPtr VersionedIndex::get(std::string_view resource, std::string_view ns, std::string_view name) const {
  KeptPtr kept;
  {
    const std::shared_lock lock(mutex_);
    if (const auto* state = find(resource)) kept = state->index.get({ns, name});
  }
  return kept ? kept->open() : nullptr;
}

std::vector<std::string> VersionedIndex::resources() const {
  std::vector<std::string> names;
  const std::shared_lock lock(mutex_);
  for (const auto& [name, state] : resources_) {
    if (state->index.size() > 0) names.push_back(name);
  }
  return names;
}

std::size_t VersionedIndex::count(std::string_view resource) const {
  const std::shared_lock lock(mutex_);
  const auto* state = find(resource);
  return state == nullptr ? 0 : state->index.size();
}

Revision VersionedIndex::oldest_revision(std::string_view resource) const {
  const std::shared_lock lock(mutex_);
  const auto* state = find(resource);
  return state == nullptr ? floor_ : state->compacted;
}

Result<void> VersionedIndex::check_revision(const ResourceState* state, Revision revision) const {
  if (revision > revision_) {
    return fail(Status::timeout(phrases::too_large_version(fmt::to_string(revision), fmt::to_string(revision_)), 1));
  }
  if (const auto oldest = state == nullptr ? floor_ : state->compacted; revision < oldest) {
    return fail(Status::expired(phrases::too_old_version(fmt::to_string(revision), fmt::to_string(oldest))));
  }
  return {};
}

ObjectList VersionedIndex::owned_by(std::string_view owner_uid) const {
  const auto hash = std::hash<std::string_view>()(owner_uid);
  auto found = std::make_unique<Page>();
  const std::shared_lock lock(mutex_);
  for (auto entry = owners_.lower_bound({hash, nullptr}); entry != owners_.end() && entry->first == hash; ++entry)
    found->add(entry->second);
  return ObjectList(std::move(found));
}

Result<ListPage> VersionedIndex::list(const ListQuery& query) const {
  ListPage page;
  ObjectIndex::Snapshot snapshot;
  std::vector<KeptChange> later;
  const NameView after{query.after_ns, query.after_name};
  const bool continued = !after.name.empty();
  const auto concerned = [&](NameView name) {
    return (query.ns.empty() || name.ns == query.ns) && (!continued || after < name);
  };
  {
    const std::shared_lock lock(mutex_);
    const auto* state = find(query.resource);
    page.revision = query.at_revision == 0 ? revision_ : query.at_revision;
    if (auto possible = check_revision(state, page.revision); !possible) return fail(std::move(possible.error()));
    if (state == nullptr) return page;
    snapshot = state->index.snapshot();
    for (auto entry = state->log.rbegin(); entry != state->log.rend() && entry->revision > page.revision; ++entry) {
      if (concerned(name_of(*entry->object))) later.push_back(*entry);
    }
  }
  // From here on nothing is locked.
  auto range = query.ns.empty() ? snapshot.all() : snapshot.of_namespace(query.ns);
  if (continued) range = range.behind(after);
  Walk walk(std::move(range), std::move(later));
  if (!query.matches && query.limit == 0) {
    page.objects = ObjectList(std::make_unique<LongPage>(walk));
    return page;
  }
  auto found = std::make_unique<Page>();
  const auto available = query.matches ? 0 : walk.left();
  found->reserve(std::min(query.limit, available));
  KeptObject::Reader reader;
  while (query.limit == 0 || found->size() < query.limit) {
    auto object = walk.next();
    if (!object) break;
    if (!query.matches || query.matches(reader.open(*object))) found->add(std::move(object));
  }
  page.remaining = query.matches ? walk.left() : available - found->size();
  page.objects = ObjectList(std::move(found));
  return page;
}

// --- watching -------------------------------------------------------------------------------------------------------

class VersionedIndex::Cursor final : public Watch {
 public:
  Cursor(VersionedIndex& index, WatchQuery query, Waker waker)
      : index_(index), query_(std::move(query)), subscription_(query_, std::move(waker)) {
    index_.hub_.add(subscription_);
  }
  ~Cursor() override { index_.hub_.remove(subscription_); }

  // With the index's lock held.
  void start(std::uint64_t place) { place_ = place; }

  Result<WatchBatch> next(std::size_t max_changes) override {
    std::vector<KeptChange> older;
    auto batch = take(max_changes, older);
    if (!batch || older.empty()) return batch;
    // Opened without the lock. They come first, since the recent ones are the newest.
    std::vector<Change> changes;
    changes.reserve(older.size() + batch->changes.size());
    for (const auto& entry : older) changes.push_back(entry.open());
    std::ranges::move(batch->changes, std::back_inserter(changes));
    batch->changes = std::move(changes);
    return batch;
  }

 private:
  // What is not recent goes to `older`.
  Result<WatchBatch> take(std::size_t max_changes, std::vector<KeptChange>& older) {
    WatchBatch batch;
    const std::shared_lock lock(index_.mutex_);
    const auto* state = index_.find(query_.resource);
    const auto end = state == nullptr ? 0 : state->log_start + state->log.size();
    if (state != nullptr && place_ < state->log_start) {
      return fail(Status::expired(
          fmt::format("{}: the watch fell behind, changes before {} are gone; list again and watch from the version of "
                      "that list",
                      phrases::version_too_old, state->compacted)));
    }
    const auto stop = std::min(end, place_ + store_limits::changes_scanned_max);
    const auto recent_start = state == nullptr ? 0 : end - state->recent.size();
    const auto taken = [&] { return older.size() + batch.changes.size(); };
    std::size_t bytes = 0;
    for (; place_ < stop && taken() < std::max<std::size_t>(max_changes, 1); ++place_) {
      const auto& change = state->log[place_ - state->log_start];
      if (!takes(*change.object)) continue;
      bytes += change.open_bytes();
      if (taken() > 0 && bytes > store_limits::watch_batch_bytes) break;
      if (place_ >= recent_start) {
        batch.changes.push_back(state->recent[place_ - recent_start]);
      } else {
        older.push_back(change);
      }
    }
    batch.more = place_ < end;
    if (batch.more) {
      batch.progress = state->log[place_ - state->log_start].revision - 1;
    } else {
      batch.progress = index_.revision_;
      // Under the lock: a change that is not in this batch is published after this and finds the watch armed.
      subscription_.arm();
    }
    return batch;
  }

  bool takes(const KeptObject& object) const {
    return (query_.ns.empty() || query_.ns == object.ns()) && (query_.name.empty() || query_.name == object.name());
  }

  VersionedIndex& index_;
  const WatchQuery query_;
  WatchHub::Subscription subscription_;
  std::uint64_t place_ = 0;
};

Result<std::unique_ptr<Watch>> VersionedIndex::watch(WatchQuery query, Waker waker) {
  const auto resource = query.resource;
  const auto from = query.from_revision;
  auto cursor = std::make_unique<Cursor>(*this, std::move(query), std::move(waker));
  const std::shared_lock lock(mutex_);
  const auto* state = find(resource);
  if (auto possible = check_revision(state, from); !possible) return fail(std::move(possible.error()));
  if (state != nullptr) {
    const auto first =
        std::upper_bound(state->log.begin(), state->log.end(), from,
                         [](Revision revision, const KeptChange& entry) { return revision < entry.revision; });
    cursor->start(state->log_start + static_cast<std::uint64_t>(first - state->log.begin()));
  }
  return cursor;
}

}  // namespace vg::store
