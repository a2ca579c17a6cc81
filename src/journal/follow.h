// What became of a request: refused and why, or served, and how its object is now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time_rfc3339.h"
#include "journal/entry.h"
#include "json/value.h"
#include "ports/object_store.h"
#include "story/verdict.h"

namespace vg::journal {

struct Outcome {
  std::string says;  // one sentence
  std::string next;  // what happens by itself, or what to do; may be empty
};

// How much is looked at: what stands in a row of a list, or all that a verdict may need.
enum class Depth : std::uint8_t { row, whole };

// The object whose state tells what became of a request.
struct Target {
  story::Subject subject;
  std::string ns, name;
};
std::optional<Target> target_of(const Entry& entry);
// What can be told without a look at any object; nothing where target_of() has to be looked at.
std::optional<Outcome> told_at_once(const Entry& entry);
// From objects as story::Facts reads them.
Outcome told_by(const Target& target, const json::Value& facts, Timestamp now);

// With everything from a store.
Outcome follow(const Entry& entry, const ObjectStore& store, Timestamp now, Depth depth);

}  // namespace vg::journal
