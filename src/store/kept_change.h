// A change as the store keeps it in memory, and what is left of it on disk when it is no longer kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ports/object_store.h"
#include "store/kept_object.h"

namespace vg::store {

// There is one for nearly every object, so it is small.
struct KeptChange {
  KeptPtr object = {};    // of a removal: what was removed
  KeptPtr previous = {};  // null for the first version of a key
  Revision revision = 0;
  std::uint32_t at_ms = 0;    // of a clock that goes round in 49 days; only differences count
  std::uint16_t ordinal = 0;  // see Stamp
  ChangeType type = ChangeType::added;

  // What it costs to keep it: an object's present version is kept anyway.
  std::size_t cost_bytes() const { return sizeof(KeptChange) + (previous ? previous->open_bytes() : 0); }
  std::size_t open_bytes() const {
    return object->open_bytes() + (previous && previous != object ? previous->open_bytes() : 0);
  }
  Change open() const {
    Change change{.revision = revision, .type = type, .object = object->open()};
    if (previous) change.previous = previous == object ? change.object : previous->open();
    return change;
  }
};

// A change has left the window: the rows that only it needed may go from the file.
struct Obsolete {
  std::string_view resource = {};  // a name that the index keeps for good
  Revision compacted = 0;          // changes of the resource up to here are gone
  std::uint64_t ids[2] = {0, 0};   // of rows; 0: none
  std::size_t bytes = 0;           // about as large as they are
};

}  // namespace vg::store
