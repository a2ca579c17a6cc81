#include "store/object_index.h"

#include <algorithm>
#include <utility>

namespace vg::store {
namespace {

// Small enough that copying one for a snapshot's sake is cheap, large enough to keep the root short.
constexpr std::size_t chunk_objects_max = 64;
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

ObjectIndex::Snapshot::Position ObjectIndex::Snapshot::lower_bound(NameView name) const {
  if (size() == 0) return end();
  const auto chunk = chunk_for(root_->chunks, name);
  const auto item = item_for(root_->chunks[chunk]->objects, name);
  return item < root_->chunks[chunk]->objects.size() ? Position{chunk, item} : Position{chunk + 1, 0};
}

ObjectIndex::Snapshot::Position ObjectIndex::Snapshot::upper_bound(NameView name) const {
  const auto position = lower_bound(name);
  return position != end() && name_of(*at(position)) == name ? next(position) : position;
}

ObjectIndex::Snapshot::Position ObjectIndex::Snapshot::namespace_end(std::string_view ns) const {
  if (size() == 0) return end();
  const auto& chunks = root_->chunks;
  const auto behind = std::upper_bound(
      chunks.begin(), chunks.end(), ns,
      [](std::string_view wanted, const auto& chunk) { return wanted < chunk->objects.front()->ns(); });
  if (behind == chunks.begin()) return begin();
  const auto chunk = static_cast<std::size_t>(behind - chunks.begin()) - 1;
  const auto& objects = chunks[chunk]->objects;
  const auto item = std::upper_bound(objects.begin(), objects.end(), ns,
                                     [](std::string_view wanted, const auto& object) { return wanted < object->ns(); });
  return item == objects.end() ? Position{chunk + 1, 0}
                               : Position{chunk, static_cast<std::size_t>(item - objects.begin())};
}

ObjectIndex::Snapshot::Position ObjectIndex::Snapshot::next(Position position) const {
  if (++position.item < root_->chunks[position.chunk]->objects.size()) return position;
  return {position.chunk + 1, 0};
}

std::size_t ObjectIndex::Snapshot::distance(Position from, Position to) const {
  if (from.chunk == to.chunk) return to.item > from.item ? to.item - from.item : 0;
  if (from.chunk > to.chunk) return 0;
  auto count = root_->chunks[from.chunk]->objects.size() - from.item;
  for (auto chunk = from.chunk + 1; chunk < to.chunk; ++chunk) count += root_->chunks[chunk]->objects.size();
  return count + to.item;
}

const KeptPtr* ObjectIndex::Snapshot::find(NameView name) const {
  const auto position = lower_bound(name);
  return position != end() && name_of(*at(position)) == name ? &at(position) : nullptr;
}

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
