// Objects in order, each of which is opened when its turn comes: a store keeps them packed, and a list of a hundred
// thousand must not hold them all opened beside the text that is made of them.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "ports/stored_object.h"

namespace vg {

class ObjectList {
 public:
  // Where the objects come from. Any thread may ask, one at a time.
  class Source {
   public:
    virtual ~Source() = default;
    virtual std::size_t size() const = 0;
    virtual ObjectPtr open(std::size_t at) const = 0;
    virtual std::size_t bytes() const = 0;
  };

  ObjectList() = default;
  explicit ObjectList(std::unique_ptr<const Source> source) : source_(std::move(source)) {}
  explicit ObjectList(std::vector<ObjectPtr> objects)
      : source_(std::make_unique<const OpenObjects>(std::move(objects))) {}

  std::size_t size() const { return source_ ? source_->size() : 0; }
  bool empty() const { return size() == 0; }
  // Memory that all of them take when they are open: somewhat more than their JSON has bytes.
  std::size_t bytes() const { return source_ ? source_->bytes() : 0; }
  ObjectPtr operator[](std::size_t at) const { return source_->open(at); }
  ObjectPtr back() const { return source_->open(size() - 1); }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = ObjectPtr;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = ObjectPtr;

    Iterator(const ObjectList& list, std::size_t at) : list_(&list), at_(at) {}
    ObjectPtr operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const ObjectList* list_;
    std::size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  class OpenObjects final : public Source {
   public:
    explicit OpenObjects(std::vector<ObjectPtr> objects) : objects_(std::move(objects)) {}
    std::size_t size() const override { return objects_.size(); }
    ObjectPtr open(std::size_t at) const override { return objects_[at]; }
    std::size_t bytes() const override {
      std::size_t bytes = 0;
      for (const auto& object : objects_) bytes += object->memory_bytes();
      return bytes;
    }

   private:
    std::vector<ObjectPtr> objects_;
  };

  std::unique_ptr<const Source> source_;
};

}  // namespace vg
