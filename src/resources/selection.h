// Which objects a list or a watch is about: label and field selectors, asked of stored objects without parsing them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/selector.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "ports/stored_object.h"

namespace vg::resources {

class Selection {
 public:
  // 400 for a field by which objects of the kind cannot be selected.
  static Result<Selection> make(const Resource& resource, LabelSelector labels, FieldSelector fields);

  bool everything() const { return labels_.empty() && fields_.empty(); }
  bool matches(const StoredObject& object) const;
  // The one name that can match, if the selector says so.
  std::optional<std::string_view> exact_name() const { return fields_.exact("metadata.name"); }

 private:
  LabelSelector labels_;
  FieldSelector fields_;
  const Resource* resource_ = nullptr;
};

}  // namespace vg::resources
