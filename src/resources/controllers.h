// What happens by itself when objects are deleted: the content of a namespace goes before the namespace, and what an
// owner leaves behind goes after it, before it, or stays, as the deletion asked.
//
// One task on one core. It follows the changes of every resource, remembers which objects to look at, and decides from
// what the store holds at that moment: looking twice does no harm, and a start looks at everything that could be
// unfinished.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "http/core.h"
#include "ports/object_store.h"
#include "resources/commit.h"

namespace vg::resources {

// --- the decisions: pure but for reading the store
// --------------------------------------------------------------------

// Owners by what is known of them.
struct OwnerStates {
  std::size_t solid = 0;                    // there, or of a kind that is not known here
  std::vector<std::string> gone = {};       // uids of those that are not there any more
  std::vector<std::string> waiting = {};    // uids of those that wait for what they own to go first
  std::vector<std::string> orphaning = {};  // uids of those that go once they own nothing any more
};
OwnerStates owner_states(const ObjectStore& store, const StoredObject& object);

// What to do about an object that has owners or is on its way out.
struct Collection {
  std::vector<Transaction> writes = {};
  std::vector<ObjectKey> look_at = {};  // what it owns, whose own turn has come
  // The uid of something that it owns and that must change before this one can go on; empty when nothing must. Of many
  // it is one that is likely to go last, and one that waits for others itself only when all of them do.
  std::string held_by = {};
};
Collection plan_collection(const ObjectStore& store, const StoredObject& object, std::int64_t now_seconds);
// Lets an owner go that waits for what it owns, although that is still there: they wait for each other.
Transaction plan_release(const StoredObject& owner);
// The next deletions inside a namespace that is on its way out, at most so many; when nothing is left in it, the write
// that lets it go.
std::vector<Transaction> plan_namespace(const ObjectStore& store, const StoredObject& ns, std::int64_t now_seconds,
                                        std::size_t writes_max);

// --- the task
// ---------------------------------------------------------------------------------------------------------

class Controllers {
 public:
  struct Parts {
    ObjectStore& store;
    Commits& commits;  // to the same store
    http::Core& core;
    const Clock& clock;
    // Asked after roles changed: the writes that bring gathered rules up to date. May be empty.
    std::function<std::vector<Write>()> gather_roles = {};
  };
  explicit Controllers(Parts parts);
  ~Controllers();
  Controllers(const Controllers&) = delete;
  Controllers& operator=(const Controllers&) = delete;

  // Runs for ever, on the core. Throwing the task away ends it; this object must live longer.
  Task<void> run();

 private:
  class Work;
  Parts parts_;
  std::unique_ptr<Work> work_;
};

}  // namespace vg::resources
