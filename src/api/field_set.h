// A set of paths into an object: what a manager of fields owns (FieldsV1 of metadata.managedFields). It is a tree, and
// an element of a path is kept as Kubernetes writes it: "f:name" a member, "k:{...}" a list element by its keys,
// "v:..." an element of a set, "i:3" an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace vg::api {

class FieldSet {
 public:
  struct Child;

  FieldSet();
  FieldSet(const FieldSet&);
  FieldSet(FieldSet&&) noexcept;
  FieldSet& operator=(const FieldSet&);
  FieldSet& operator=(FieldSet&&) noexcept;
  ~FieldSet();

  bool member = false;          // the path to here is in the set; means nothing at the root
  std::vector<Child> children;  // by element

  bool empty() const;
  bool operator==(const FieldSet& other) const;
  // Null when nothing starts with this element.
  const FieldSet* find(std::string_view element) const;
  // Makes the way there; what is left empty in the end is dropped by trim(). For a few elements: each new one moves
  // those behind it.
  FieldSet& at(std::string_view element);
  void trim();
  // For many: children are pushed in any order, each element once, and put in order at the end.
  void sort_children();
  // What FieldsV1 will at least take as text.
  std::size_t written_bytes_min() const;

  FieldSet united_with(const FieldSet& other) const;
  FieldSet without(const FieldSet& other) const;
  FieldSet common_with(const FieldSet& other) const;
  bool intersects(const FieldSet& other) const;
  // united_with() and without() in place: nothing is copied that stays.
  void unite(FieldSet other);
  void subtract(const FieldSet& other);
  // All of them together. Two by two: one after the other would copy the first as often as there are sets.
  static FieldSet union_of(std::span<const FieldSet* const> sets);

  // Every path, as Kubernetes prints it in a conflict: .spec.disks[name="root"].bootOrder; at most so many.
  std::vector<std::string> paths(std::size_t most = SIZE_MAX) const;

  // FieldsV1. Reading refuses what is not one, and passes over kinds of elements that are not known yet.
  json::Value to_fields_v1(const json::StoragePtr& storage) const;
  static Result<FieldSet> from_fields_v1(const json::Value& fields);
  // Whether the set that FieldsV1 stands for has something in common with this one; nothing is made of it for that.
  bool intersects_fields_v1(const json::Value& fields) const;
};

struct FieldSet::Child {
  std::string element;
  FieldSet below;
};

}  // namespace vg::api
