// Somebody who looks at every transaction at the moment its place among all others is settled, and completes or refuses
// it there: what an object takes of a quota is counted in the transaction that writes the object, so there is no
// version of the store in which the two disagree, and nobody has to try again because somebody else counted meanwhile.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "ports/object_store.h"

namespace vg {

class CommitGuard {
 public:
  // The newest state, with every transaction that was taken before this one.
  class View {
   public:
    virtual ~View() = default;
    virtual ObjectPtr newest(const ObjectKey& key) const = 0;
  };
  struct Item {
    WriteKind kind = WriteKind::create;
    const ObjectKey& key;
    ObjectPtr before;                     // null for a create
    const StoredObject* after = nullptr;  // null for a removal; its revision is not known yet
  };

  virtual ~CommitGuard() = default;

  // All of this is called on the store's own thread, one call at a time, and must be short.
  // Whether a write to this key must be shown to complete().
  virtual bool concerns(const ObjectKey& key) const = 0;
  // For a transaction that can be carried out: further writes that belong to it, which nobody is asked about again. One
  // of a key that the transaction writes itself replaces that object. `revision` is the first that the
  // transaction will get.
  virtual Result<std::vector<Write>> complete(std::span<const Item> items, const View& view, Revision revision) = 0;
  // The disk refused: of what complete() was called for since the last revision that can be read, nothing happened.
  virtual void undone() = 0;
};

}  // namespace vg
