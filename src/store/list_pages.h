// Lists of objects as they were at one revision, read without a lock.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ports/object_store.h"
#include "store/kept_change.h"
#include "store/kept_object.h"
#include "store/object_index.h"

namespace vg::store {

// The objects of a range as they were at an earlier revision: what changed since then is undone where it comes along.
class Walk {
 public:
  // `later`: all changes in the range since then, in any order.
  Walk(ObjectIndex::Range range, std::vector<KeptChange> later);

  // Null at the end.
  KeptPtr next();
  void skip(std::size_t objects);
  std::size_t left() const;

 private:
  std::size_t undone_size() const { return undone_ ? undone_->size() : 0; }

  ObjectIndex::Range range_;
  std::shared_ptr<const std::vector<KeptChange>> undone_;  // by name, each once
  std::size_t undo_ = 0;
};

// What a list found.
class Page final : public ObjectList::Source {
 public:
  void reserve(std::size_t objects) { objects_.reserve(objects); }
  void add(KeptPtr object);
  std::size_t size() const override { return objects_.size(); }
  ObjectPtr open(std::size_t at) const override { return objects_[at]->open(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::vector<KeptPtr> objects_;
  std::size_t bytes_ = 0;
};

// A list of everything, which may be long: nothing is looked at before its turn comes. Made to be read from the
// beginning to the end.
class LongPage final : public ObjectList::Source {
 public:
  explicit LongPage(const Walk& walk) : size_(walk.left()), start_(walk), walk_(walk) {}
  std::size_t size() const override { return size_; }
  ObjectPtr open(std::size_t at) const override;
  std::size_t bytes() const override;

 private:
  const std::size_t size_;
  const Walk start_;
  mutable Walk walk_;
  mutable std::size_t at_ = 0;  // which one walk_ gives next
};

}  // namespace vg::store
