// What can be read: the present version of every object, and the window of changes that led to it.
//
// It knows nothing of files or of who may write what. Each resource has an index by name (object_index.h) and its
// newest changes in order; with these a watch resumes, and a list shows an earlier revision by undoing what came later.
//
// Who may call what, and which lock that takes: `mutex_` guards everything but the hub.
// - Any thread reads; it holds the lock shared, and for a bounded amount of work only: a lookup, taking a snapshot,
//   copying some pointers. Objects are opened and compared without it.
// - The writer alone changes the state, and holds the lock exclusively meanwhile. So the writer itself reads without
//   any lock: newest() and newest_revision() are for its thread only.
// - Before the writer runs, the thread that opens the store is alone, and locks nothing: begin() and replay().
// - The hub has a lock of its own, for who watches what; nobody holds it together with this one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ports/object_store.h"
#include "store/kept_change.h"
#include "store/object_index.h"
#include "store/row.h"
#include "store/watch_hub.h"

namespace vg::store {

class VersionedIndex {
 public:
  // How many changes each resource keeps; see base/store_limits.h.
  struct Window {
    std::size_t changes_max;
    std::size_t bytes_max;
    std::chrono::steady_clock::duration age_max;
    // Beyond this age no more than `bytes_least`, or than there is of present objects.
    std::chrono::steady_clock::duration age_least;
    std::size_t bytes_least;
    std::size_t recent_bytes_max;
  };
  explicit VersionedIndex(const Window& window) : window_(window) {}
  VersionedIndex(const VersionedIndex&) = delete;
  VersionedIndex& operator=(const VersionedIndex&) = delete;

  // --- any thread ---------------------------------------------------------------------------------------------------

  Revision revision() const;
  ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const;
  Result<ListPage> list(const ListQuery& query) const;
  ObjectList owned_by(std::string_view owner_uid) const;
  std::vector<std::string> resources() const;
  std::size_t count(std::string_view resource) const;
  Revision oldest_revision(std::string_view resource) const;
  // The watch refers to the index, and must be gone before it.
  Result<std::unique_ptr<Watch>> watch(WatchQuery query, Waker waker);
  std::size_t watches() const { return hub_.size(); }

  // --- the writer's thread ------------------------------------------------------------------------------------------

  KeptPtr newest(const ObjectKey& key) const;
  Revision newest_revision() const { return revision_; }
  // A batch becomes readable, at once and in order, and those who watch are woken. `kept` are the same changes, as they
  // are kept. Returns what has left the window.
  std::vector<Obsolete> publish(const std::vector<Change>& changes, std::vector<KeptChange> kept, Revision revision);
  // Some of what is too old leaves the window, returned. `quiet`: nobody writes, so no change stays open either.
  // `tight`: room is short, and much less is too old.
  std::vector<Obsolete> age(bool quiet, bool tight);

  // --- opening ------------------------------------------------------------------------------------------------------

  // `compacted`: for each resource, or `every_resource`, the revision up to which changes are gone.
  void begin(Revision revision, const std::map<std::string, Revision, std::less<>>& compacted);
  // In the order of revisions. `object` is null for a tombstone. False: it removes what was never there.
  bool replay(const Record& record, KeptPtr object, std::vector<Obsolete>& obsolete);

 private:
  class Cursor;
  struct ResourceState {
    ObjectIndex index;
    std::deque<KeptChange> log;
    std::uint64_t log_start = 0;  // the place in the stream of log.front(); places only grow
    std::size_t log_bytes = 0;
    std::size_t live_bytes = 0;  // of the present objects
    Revision compacted = 0;      // changes up to here are gone
    // The newest changes of the log as their writers handed them in: whoever keeps up with them, and there may be
    // hundreds, need not open them again.
    std::deque<Change> recent;
    std::size_t recent_bytes = 0;
  };
  using Resources = std::map<std::string, std::unique_ptr<ResourceState>, std::less<>>;
  // Ordered by the owner's hash, then by address: no strings to keep, and an object that many share an owner with is
  // found as fast as any.
  using OwnerEntry = std::pair<std::size_t, KeptPtr>;
  // What leaves the state is freed after the lock is given back.
  struct Leaving {
    std::vector<KeptChange> entries;
    std::vector<Change> changes;
  };

  // With the lock held exclusively, or before the writer runs.
  Resources::value_type& resource_entry(std::string_view resource);
  // `open`: the same change, where it is open already.
  void index_owners(const KeptChange& change, const Change* open = nullptr);
  void append(ResourceState& state, KeptChange entry);
  void append_recent(ResourceState& state, const Change& change, Leaving& leaving);
  bool is_full(const ResourceState& state) const;
  bool is_aged(const ResourceState& state, std::uint32_t now, bool tight) const;
  static void drop_oldest(Resources::value_type& entry, Leaving& leaving, std::vector<Obsolete>& obsolete);
  // With the lock held, or on the writer's thread.
  const ResourceState* find(std::string_view resource) const;
  Result<void> check_revision(const ResourceState* state, Revision revision) const;

  const Window window_;
  mutable std::shared_mutex mutex_;
  Revision revision_ = 0;
  Revision floor_ = 0;   // of every resource, also of those that are not known yet: see ResourceState::compacted
  Resources resources_;  // an entry stays for good, so that it can be pointed to
  std::set<OwnerEntry> owners_;
  WatchHub hub_;
};

}  // namespace vg::store
