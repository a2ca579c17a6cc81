// Transactions that share one sync: each is checked against the newest state, with those before it in the batch, which
// is what settles their order. Nothing of a batch can be read before it is durable.
//
// Used by the writer's thread alone, so it reads the index without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ports/commit_guard.h"
#include "ports/object_store.h"
#include "store/kept_change.h"
#include "store/packer.h"
#include "store/prepared_write.h"
#include "store/versioned_index.h"

namespace vg::store {

class Batch {
 public:
  // An answer that is given once the batch is durable.
  struct Answer {
    Completion done;  // empty once it was called by somebody else
    Result<CommitOutcome> outcome;
  };

  // `guard` may be null. `disk_is_full`: what needs more room than it gives back is refused.
  struct Rules {
    CommitGuard* guard = nullptr;
    WriteBounds bounds;
    bool disk_is_full = false;
  };
  // Transactions that are refused are counted in `refused` before they are answered.
  Batch(const VersionedIndex& index, Packers& packers, const Rules& rules, std::atomic<std::uint64_t>& refused);

  // The transaction stays where it is until the batch is gone: the batch refers to its keys. One that is refused, or
  // changes nothing, is answered at once where that rests on nothing in the batch.
  void add(PreparedTransaction& transaction);

  Revision revision() const { return revision_; }                   // of the last change
  std::size_t transactions() const { return transactions_; }        // that change something
  const std::vector<Change>& changes() const { return changes_; }   // in order
  std::vector<KeptChange> take_kept() { return std::move(kept_); }  // the same changes, as they are kept
  std::vector<Answer>& answers() { return answers_; }

 private:
  class GuardView;

  KeptPtr newest(const ObjectKey& key) const;
  Result<void> check(const PreparedTransaction& transaction) const;
  bool needs_room(const PreparedTransaction& transaction) const;
  Result<void> ask_guard(PreparedTransaction& transaction);
  // False: an update that says what is there already, which is no new version.
  bool apply(PreparedWrite& write, CommitOutcome& outcome);

  const VersionedIndex& index_;
  Packers& packers_;
  const Rules rules_;
  std::atomic<std::uint64_t>& refused_;
  Revision revision_;
  std::size_t transactions_ = 0;
  std::vector<Change> changes_;
  std::vector<KeptChange> kept_;
  std::unordered_map<KeyView, KeptPtr, KeyHash> written_;  // the newest of each key in the batch; null: removed
  std::vector<Answer> answers_;
};

}  // namespace vg::store
