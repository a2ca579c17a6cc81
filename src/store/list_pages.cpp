#include "store/list_pages.h"

#include <algorithm>
#include <compare>
#include <utility>

namespace vg::store {

Walk::Walk(ObjectIndex::Range range, std::vector<KeptChange> later) : range_(std::move(range)) {
  if (later.empty()) return;
  // Going back in time, the oldest change of a name has the last word.
  std::ranges::sort(later, [](const KeptChange& a, const KeptChange& b) {
    const auto order = name_of(*a.object) <=> name_of(*b.object);
    return order != 0 ? order < 0 : a.revision < b.revision;
  });
  const auto same = [](const KeptChange& a, const KeptChange& b) { return name_of(*a.object) == name_of(*b.object); };
  later.erase(std::unique(later.begin(), later.end(), same), later.end());
  undone_ = std::make_shared<const std::vector<KeptChange>>(std::move(later));
}

KeptPtr Walk::next() {
  while (!range_.empty() || undo_ < undone_size()) {
    const auto order = range_.empty()           ? std::strong_ordering::greater
                       : undo_ == undone_size() ? std::strong_ordering::less
                                                : name_of(*range_.front()) <=> name_of(*(*undone_)[undo_].object);
    KeptPtr object = order < 0 ? range_.front() : (*undone_)[undo_].previous;  // null: it was not there
    if (order <= 0) range_.pop_front();
    if (order >= 0) ++undo_;
    if (object) return object;
  }
  return nullptr;
}

void Walk::skip(std::size_t objects) {
  if (objects > 0 && undo_ == undone_size()) {
    range_ = range_.without_first(objects);
    return;
  }
  for (; objects > 0 && next(); --objects) continue;
}

std::size_t Walk::left() const {
  auto count = range_.size();
  for (auto undo = undo_; undo < undone_size(); ++undo) {
    const auto& change = (*undone_)[undo];
    const bool now = range_.find(name_of(*change.object)) != nullptr;
    if (now && !change.previous) --count;
    if (!now && change.previous) ++count;
  }
  return count;
}

void Page::add(KeptPtr object) {
  bytes_ += object->open_bytes();
  objects_.push_back(std::move(object));
}

ObjectPtr LongPage::open(std::size_t at) const {
  if (at < at_) {
    walk_ = start_;
    at_ = 0;
  }
  walk_.skip(at - at_);
  at_ = at + 1;
  return walk_.next()->open();
}

std::size_t LongPage::bytes() const {
  std::size_t bytes = 0;
  auto walk = start_;
  while (const auto object = walk.next()) bytes += object->open_bytes();
  return bytes;
}

}  // namespace vg::store
