// The abstract side of "where objects are kept": durable, ordered by one revision, with optimistic concurrency,
// consistent lists and watches that resume.
//
// Reading never waits for the disk. A write is answered once it is durable, and until then nobody can read it.
// Every call may come from any thread. The store knows nothing of cores: it calls back on a thread of its own, and
// callers post to where they want to go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ports/object_list.h"
#include "ports/stored_object.h"

namespace vg {

enum class WriteKind : std::uint8_t { create, update, remove };

struct Write {
  WriteKind kind = WriteKind::create;
  ObjectKey key = {};
  Revision expected_revision = 0;  // update and remove: the version that must be the newest; 0 takes any
  std::string expected_uid = {};   // update and remove: the object that must bear the name; empty takes any
  ObjectDraft object = {};         // create and update
};

// Something that must hold at commit about an object that the transaction does not write.
struct Precondition {
  ObjectKey key = {};
  bool exists = true;
  Revision revision = 0;      // with exists: its newest version; 0 takes any
  std::string uid = {};       // with exists; empty takes any
  bool not_deleting = false;  // with exists: it must not be on its way out (a namespace that takes new objects)
};

// All of it happens at once, or none of it: nobody reads a part of it. Each object that it changes gets a revision of
// its own, in the order of the writes, so that a watch can be cut between any two and go on. A key may occur once.
struct Transaction {
  std::vector<Write> writes = {};
  std::vector<Precondition> preconditions = {};
};

struct CommitOutcome {
  // The last of the transaction's revisions. When nothing changed (every write was an update to the same bytes) no
  // revision is used and this is the store's revision at that moment.
  Revision revision = 0;
  std::vector<ObjectPtr> objects = {};  // one for each write: as stored; for a removal, the version that went
};

// Called exactly once, on the store's own thread, or before submit returns when the store refuses to queue. It must
// not block, throw, or wait for another write.
using Completion = std::move_only_function<void(Result<CommitOutcome>)>;

struct ListQuery {
  std::string_view resource = {};
  std::string_view ns = {};                               // empty: all namespaces
  Revision at_revision = 0;                               // exactly this revision; 0: now
  std::string_view after_ns = {};                         // with after_name: only keys that sort behind this one
  std::string_view after_name = {};                       // empty: from the beginning
  std::size_t limit = 0;                                  // 0: no limit
  std::function<bool(const StoredObject&)> matches = {};  // empty takes every object; asked without any lock held
};

struct ListPage {
  Revision revision = 0;      // what the page shows, and where a watch goes on
  ObjectList objects = {};    // by namespace, then name
  std::size_t remaining = 0;  // keys behind the page that were not looked at, whether they match or not
};

enum class ChangeType : std::uint8_t { added, modified, removed };

struct Change {
  Revision revision = 0;
  ChangeType type = ChangeType::added;
  ObjectPtr object = {};    // removed: the last version
  ObjectPtr previous = {};  // modified and removed: the version before, so that leaving a selector can be seen
};

struct WatchQuery {
  std::string resource = {};
  std::string ns = {};         // empty: all namespaces
  std::string name = {};       // empty: all names
  Revision from_revision = 0;  // changes after this one
};

struct WatchBatch {
  std::vector<Change> changes = {};  // in order of revision
  Revision progress = 0;  // every change up to here that the query takes was handed out: what a bookmark may say
  bool more = false;      // ask again now; when false, the waker will be called once there is something new
};

// A place in the stream of changes. It holds no queue: the changes stay in the store's bounded window, and a watch
// that falls behind it gets 410 Expired. One thread at a time; destroying it from within its waker is not allowed.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual Result<WatchBatch> next(std::size_t max_changes) = 0;
};

// Called on the store's own thread, once for each time that next() said there was no more; it may turn out that
// nothing in the query changed. It must not block or call the store: it posts to the watch's own core. It is not
// called any more once the watch is destroyed.
using Waker = std::move_only_function<void()>;

struct StoreHealth {
  bool ok = true;
  std::string message = {};  // why not
  std::string shown = {};    // the same in a few words that anybody may read; empty: nothing but that it is so
  bool operator==(const StoreHealth&) const = default;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // already_exists, not_found or conflict when the newest state says so; 429 when too much waits; 413 for an object
  // over the limit; 503 when the disk refuses; 500 when it failed, and 504 when it is silent, so that nobody can say
  // whether the write happened.
  virtual void submit(Transaction transaction, Completion done) = 0;
  // Whether somebody was told so (500 or 504) of a write to this object, and it is not settled yet: until it is, the
  // object as it can be read may be neither absent nor the newest. Without a name: to any object of the namespace;
  // without a namespace: of any.
  virtual bool unsettled(std::string_view /*resource*/, std::string_view /*ns*/, std::string_view /*name*/) const {
    return false;
  }

  virtual Revision revision() const = 0;
  virtual ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const = 0;
  // 410 for a revision older than the window; 504 for one that is not there yet.
  virtual Result<ListPage> list(const ListQuery& query) const = 0;
  // Every object that names this uid as an owner, of any resource; for the collector of what owners leave behind. There
  // may be a hundred thousand, so each is opened when it is looked at, and only then it can be asked whether it really
  // is one (StoredObject::owned_by): the list may hold others besides.
  virtual ObjectList owned_by(std::string_view owner_uid) const = 0;
  // The resources of which there are objects, in order.
  virtual std::vector<std::string> resources() const = 0;
  virtual std::size_t count(std::string_view resource) const = 0;

  // The oldest revision at which a list of this resource can be made and from which a watch can resume.
  virtual Revision oldest_revision(std::string_view resource) const = 0;
  // Ask next() first: the waker comes only after it said that there is no more. Statuses as for list.
  virtual Result<std::unique_ptr<Watch>> watch(WatchQuery query, Waker waker) = 0;

  // Whether writes can be expected to work. Reading goes on either way.
  virtual StoreHealth health() const = 0;
};

}  // namespace vg
