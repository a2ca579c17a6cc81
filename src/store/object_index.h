// The objects of one resource, ordered by namespace and name, with snapshots that cost nothing to take.
//
// A list may take long to write out and must neither hold up the writer nor see half of a change. So the index is
// copy on write: a two-level tree (a root that lists chunks, chunks that list objects) whose nodes are never touched
// once a snapshot may refer to them. When no snapshot was taken since the last change, nodes are edited in place, and
// a change costs what it costs in any sorted array of a few dozen entries.
//
// Two levels are enough: with 100,000 objects the root has some 2,000 entries.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "store/kept_object.h"

namespace vg::store {

// Sorts before every object of `ns` when name is empty, as names never are.
struct NameView {
  std::string_view ns;
  std::string_view name;
  auto operator<=>(const NameView&) const = default;
};
inline NameView name_of(const KeptObject& object) { return {object.ns(), object.name()}; }

class ObjectIndex {
  struct Chunk {
    std::uint64_t epoch;
    std::vector<KeptPtr> objects;  // never empty
  };
  struct Root {
    std::uint64_t epoch = 0;
    std::size_t size = 0;
    std::vector<std::shared_ptr<Chunk>> chunks;
  };

 public:
  // Everything as it was when the snapshot was taken. Any thread may read it, without a lock, for as long as it likes.
  class Snapshot {
   public:
    struct Position {
      std::size_t chunk = 0;
      std::size_t item = 0;
      bool operator==(const Position&) const = default;
    };
    Snapshot() = default;
    std::size_t size() const { return root_ ? root_->size : 0; }
    Position begin() const { return {}; }
    Position end() const { return {root_ ? root_->chunks.size() : 0, 0}; }
    // The first object that does not sort before `name`.
    Position lower_bound(NameView name) const;
    // The first object behind `name`.
    Position upper_bound(NameView name) const;
    // The first object behind all of this namespace.
    Position namespace_end(std::string_view ns) const;
    const KeptPtr& at(Position position) const { return root_->chunks[position.chunk]->objects[position.item]; }
    Position next(Position position) const;
    std::size_t distance(Position from, Position to) const;
    const KeptPtr* find(NameView name) const;

   private:
    friend class ObjectIndex;
    explicit Snapshot(std::shared_ptr<const Root> root) : root_(std::move(root)) {}
    std::shared_ptr<const Root> root_;
  };

  ObjectIndex();

  // With the owner's lock held, shared.
  Snapshot snapshot() const;
  KeptPtr get(NameView name) const;
  std::size_t size() const { return root_->size; }

  // With the owner's lock held, exclusively. Both return what was there before.
  KeptPtr put(KeptPtr object);
  KeptPtr erase(NameView name);

 private:
  void make_root_own();
  Chunk& own_chunk(std::size_t at);

  std::shared_ptr<Root> root_;
  // A node may be edited when it was made in the present epoch; taking a snapshot ends the epoch. Unlike reference
  // counts this needs no guess about who else might be looking.
  std::uint64_t epoch_ = 0;
  mutable std::atomic<bool> snapshot_taken_ = false;
};

}  // namespace vg::store
