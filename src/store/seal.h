// What a store says of itself after a commit: enough to tell whether everything that was there is still there.
#pragma once

#include <cstdint>

#include "ports/stored_object.h"
#include "store/set_hash.h"

namespace vg::store {

struct Seal {
  std::uint64_t sequence = 0;  // of commits, also of those that change no object; 0: nothing was ever committed
  Revision revision = 0;       // the highest that was ever given out
  std::uint64_t rows = 0;
  SetHash contents = {};  // of all rows, and of what is known of the rows that are gone
  bool operator==(const Seal&) const = default;
};

}  // namespace vg::store
