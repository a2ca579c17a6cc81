// What became of a request: refused and why, or served, and how its object is now.
#pragma once

#include <string>
#include <string_view>

#include "base/time_rfc3339.h"
#include "journal/entry.h"
#include "ports/object_store.h"

namespace vg::journal {

struct Outcome {
  std::string says;  // one sentence
  std::string next;  // what happens by itself, or what to do; may be empty
};

// How much is looked at: what stands in a row of a list, or all that a verdict may need.
enum class Depth : std::uint8_t { row, whole };

Outcome follow(const Entry& entry, const ObjectStore& store, Timestamp now, Depth depth);

}  // namespace vg::journal
