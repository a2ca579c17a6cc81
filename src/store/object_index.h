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
#include <compare>
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
  // A place between two objects, of one snapshot. Nobody outside can make one or move it: there are only ranges.
  class Position {
   public:
    auto operator<=>(const Position&) const = default;

   private:
    friend class ObjectIndex;
    Position() = default;
    Position(std::size_t chunk, std::size_t item) : chunk_(chunk), item_(item) {}
    std::size_t chunk_ = 0;
    std::size_t item_ = 0;  // always one of the chunk's, so that every place has one name; 0 behind the last chunk
  };

  // Neighbouring objects of a snapshot, which stays as long as the range does. A range can only become smaller:
  // whatever names its parts are cut by, a reader of one namespace never comes to an object of another, nor past the
  // end.
  class Range {
   public:
    Range() = default;
    bool empty() const { return first_ >= last_; }
    // Takes a look at each chunk, not at each object.
    std::size_t size() const;
    // Of a range that is not empty.
    const KeptPtr& front() const { return root_->chunks[first_.chunk_]->objects[first_.item_]; }
    void pop_front();
    // Without so many objects at its beginning; empty when it has no more than that.
    Range without_first(std::size_t objects) const;
    // What of the range sorts behind `name`, which need not be in it or anywhere near.
    Range behind(NameView name) const;
    const KeptPtr* find(NameView name) const;

   private:
    friend class ObjectIndex;
    Range(std::shared_ptr<const Root> root, Position first, Position last)
        : root_(std::move(root)), first_(first), last_(last) {}
    std::shared_ptr<const Root> root_;
    Position first_, last_;
  };

  // Everything as it was when the snapshot was taken. Any thread may read it, without a lock, for as long as it likes.
  class Snapshot {
   public:
    Snapshot() = default;
    std::size_t size() const { return root_ ? root_->size : 0; }
    Range all() const;
    Range of_namespace(std::string_view ns) const;

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
  static Position end_of(const Root& root) { return {root.chunks.size(), 0}; }
  // The first object that does not sort before `name`.
  static Position lower_bound(const Root& root, NameView name);
  // The first object behind `name`.
  static Position upper_bound(const Root& root, NameView name);
  // The first object behind all of this namespace.
  static Position namespace_end(const Root& root, std::string_view ns);
  static Position next(const Root& root, Position position);

  void make_root_own();
  Chunk& own_chunk(std::size_t at);

  std::shared_ptr<Root> root_;
  // A node may be edited when it was made in the present epoch; taking a snapshot ends the epoch. Unlike reference
  // counts this needs no guess about who else might be looking.
  std::uint64_t epoch_ = 0;
  mutable std::atomic<bool> snapshot_taken_ = false;
};

}  // namespace vg::store
