#include "store/object_index.h"

#include <algorithm>
#include <utility>

#include "base/store_limits.h"

namespace vg::store {
namespace {

using store_limits::chunk_objects_max;
// A chunk with fewer is joined with the next one, if that is small, too.
constexpr std::size_t chunk_objects_low = chunk_objects_max / 4;

// The chunk that holds `name` or would: the last one whose first object does not sort behind it.
template <class Chunks>
std::size_t chunk_for(const Chunks& chunks, NameView name) {
  const auto behind = std::upper_bound(chunks.begin(), chunks.end(), name, [](NameView wanted, const auto& chunk) {
    return wanted < name_of(*chunk->objects.front());
  });
  return behind == chunks.begin() ? 0 : static_cast<std::size_t>(behind - chunks.begin()) - 1;
}

std::size_t item_for(const std::vector<KeptPtr>& objects, NameView name) {
  const auto found = std::lower_bound(objects.begin(), objects.end(), name,
                                      [](const KeptPtr& object, NameView wanted) { return name_of(*object) < wanted; });
  return static_cast<std::size_t>(found - objects.begin());
}

}  // namespace

// --- places ---------------------------------------------------------------------------------------------------------

ObjectIndex::Position ObjectIndex::lower_bound(const Root& root, NameView name) {
  if (root.chunks.empty()) return end_of(root);
  const auto chunk = chunk_for(root.chunks, name);
  const auto item = item_for(root.chunks[chunk]->objects, name);
  return item < root.chunks[chunk]->objects.size() ? Position{chunk, item} : Position{chunk + 1, 0};
}

ObjectIndex::Position ObjectIndex::upper_bound(const Root& root, NameView name) {
  const auto position = lower_bound(root, name);
  if (position == end_of(root)) return position;
  const auto& found = *root.chunks[position.chunk_]->objects[position.item_];
  return name_of(found) == name ? next(root, position) : position;
}

ObjectIndex::Position ObjectIndex::namespace_end(const Root& root, std::string_view ns) {
  const auto& chunks = root.chunks;
  const auto behind = std::upper_bound(
      chunks.begin(), chunks.end(), ns,
      [](std::string_view wanted, const auto& chunk) { return wanted < chunk->objects.front()->ns(); });
  if (behind == chunks.begin()) return {};
  const auto chunk = static_cast<std::size_t>(behind - chunks.begin()) - 1;
  const auto& objects = chunks[chunk]->objects;
  const auto item = std::upper_bound(objects.begin(), objects.end(), ns,
                                     [](std::string_view wanted, const auto& object) { return wanted < object->ns(); });
  return item == objects.end() ? Position{chunk + 1, 0}
                               : Position{chunk, static_cast<std::size_t>(item - objects.begin())};
}

ObjectIndex::Position ObjectIndex::next(const Root& root, Position position) {
  if (position >= end_of(root)) return end_of(root);
  if (++position.item_ < root.chunks[position.chunk_]->objects.size()) return position;
  return {position.chunk_ + 1, 0};
}

// --- ranges ---------------------------------------------------------------------------------------------------------

ObjectIndex::Range ObjectIndex::Snapshot::all() const {
  return root_ ? Range(root_, Position(), end_of(*root_)) : Range();
}

ObjectIndex::Range ObjectIndex::Snapshot::of_namespace(std::string_view ns) const {
  return root_ ? Range(root_, lower_bound(*root_, {ns, {}}), namespace_end(*root_, ns)) : Range();
}

std::size_t ObjectIndex::Range::size() const {
  if (empty()) return 0;
  if (first_.chunk_ == last_.chunk_) return last_.item_ - first_.item_;
  auto count = root_->chunks[first_.chunk_]->objects.size() - first_.item_;
  for (auto chunk = first_.chunk_ + 1; chunk < last_.chunk_; ++chunk) count += root_->chunks[chunk]->objects.size();
  return count + last_.item_;
}

void ObjectIndex::Range::pop_front() {
  if (!empty()) first_ = next(*root_, first_);
}

ObjectIndex::Range ObjectIndex::Range::without_first(std::size_t objects) const {
  Range rest = *this;
  while (objects > 0 && !rest.empty()) {
    const auto in_chunk = root_->chunks[rest.first_.chunk_]->objects.size() - rest.first_.item_;
    if (objects < in_chunk) {
      rest.first_.item_ += objects;
      break;
    }
    objects -= in_chunk;
    rest.first_ = {rest.first_.chunk_ + 1, 0};
  }
  rest.first_ = std::min(rest.first_, last_);
  return rest;
}

ObjectIndex::Range ObjectIndex::Range::behind(NameView name) const {
  if (empty()) return *this;
  return {root_, std::clamp(upper_bound(*root_, name), first_, last_), last_};
}

const KeptPtr* ObjectIndex::Range::find(NameView name) const {
  if (empty()) return nullptr;
  const auto position = lower_bound(*root_, name);
  if (position < first_ || position >= last_) return nullptr;
  const auto& found = root_->chunks[position.chunk_]->objects[position.item_];
  return name_of(*found) == name ? &found : nullptr;
}

// --- the index ------------------------------------------------------------------------------------------------------

ObjectIndex::ObjectIndex() : root_(std::make_shared<Root>()) {}

ObjectIndex::Snapshot ObjectIndex::snapshot() const {
  // The owner's lock orders this before the next change, so the flag itself needs no order.
  snapshot_taken_.store(true, std::memory_order_relaxed);
  return Snapshot(root_);
}

KeptPtr ObjectIndex::get(NameView name) const {
  if (root_->size == 0) return nullptr;
  const auto& objects = root_->chunks[chunk_for(root_->chunks, name)]->objects;
  const auto item = item_for(objects, name);
  return item < objects.size() && name_of(*objects[item]) == name ? objects[item] : nullptr;
}

void ObjectIndex::make_root_own() {
  if (snapshot_taken_.exchange(false, std::memory_order_relaxed)) ++epoch_;
  if (root_->epoch == epoch_) return;
  auto copy = std::make_shared<Root>(*root_);
  copy->epoch = epoch_;
  root_ = std::move(copy);
}

ObjectIndex::Chunk& ObjectIndex::own_chunk(std::size_t at) {
  auto& chunk = root_->chunks[at];
  if (chunk->epoch != epoch_) {
    auto copy = std::make_shared<Chunk>(Chunk{epoch_, {}});
    copy->objects.reserve(chunk_objects_max);
    copy->objects = chunk->objects;
    chunk = std::move(copy);
  }
  return *chunk;
}

KeptPtr ObjectIndex::put(KeptPtr object) {
  make_root_own();
  auto& chunks = root_->chunks;
  const auto new_chunk = [this](auto first, auto last) {
    auto chunk = std::make_shared<Chunk>(Chunk{epoch_, {}});
    chunk->objects.reserve(chunk_objects_max);
    chunk->objects.assign(std::move_iterator(first), std::move_iterator(last));
    return chunk;
  };
  const auto name = name_of(*object);
  if (chunks.empty()) {
    chunks.push_back(new_chunk(&object, &object + 1));
    root_->size = 1;
    return nullptr;
  }
  const auto at = chunk_for(chunks, name);
  auto& objects = own_chunk(at).objects;
  const auto item = item_for(objects, name);
  if (item < objects.size() && name_of(*objects[item]) == name) return std::exchange(objects[item], std::move(object));
  ++root_->size;
  if (objects.size() < chunk_objects_max) {
    objects.insert(objects.begin() + static_cast<std::ptrdiff_t>(item), std::move(object));
    return nullptr;
  }
  // Names that come in order (vm-0001, vm-0002, ...) always land at a chunk's end; splitting in the middle there would
  // leave every chunk half empty for good.
  const auto split = item == objects.size() ? item : objects.size() / 2;
  const auto middle = objects.begin() + static_cast<std::ptrdiff_t>(split);
  if (item == objects.size()) {
    chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(at) + 1, new_chunk(&object, &object + 1));
    return nullptr;
  }
  auto upper = new_chunk(middle, objects.end());
  objects.erase(middle, objects.end());
  auto& target = item <= split ? objects : upper->objects;
  target.insert(target.begin() + static_cast<std::ptrdiff_t>(item <= split ? item : item - split), std::move(object));
  chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(upper));
  return nullptr;
}

KeptPtr ObjectIndex::erase(NameView name) {
  if (root_->size == 0) return nullptr;
  const auto at = chunk_for(root_->chunks, name);
  const auto item = item_for(root_->chunks[at]->objects, name);
  if (item == root_->chunks[at]->objects.size() || name_of(*root_->chunks[at]->objects[item]) != name) return nullptr;
  make_root_own();
  auto& chunks = root_->chunks;
  auto& objects = own_chunk(at).objects;
  auto gone = std::move(objects[item]);
  objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(item));
  --root_->size;
  if (objects.empty()) {
    chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (objects.size() < chunk_objects_low && at + 1 < chunks.size() &&
             objects.size() + chunks[at + 1]->objects.size() <= chunk_objects_max / 2) {
    const auto& following = chunks[at + 1]->objects;
    objects.insert(objects.end(), following.begin(), following.end());
    chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return gone;
}

}  // namespace vg::store
