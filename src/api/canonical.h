// Canonical form: what an object looks like after upstream has decoded it into its Go type and encoded it again.
//
// Every mutation that replaces a subtree sends it in this form, and every rule reads it: unknown fields are gone, names
// have their proper spelling, quantities, times and durations are written one way only, what Go leaves out when empty
// is absent and what it always writes is there. Fields come in the order of the Go struct, the keys of maps sorted.
//
// Knowing differences from Go's encoding/json, all of them in input that no client sends:
// - A quantity given as a bare number is known to us only by its value: 1e3 becomes "1k" and not "1e3".
// - A time outside the years 0 to 9999 is refused; Go prints what it could not read back.
// - A pointer to Go's zero time, the first second of the year 1, is left out; Go writes null once and then leaves it
// out.
// - If a list occurs twice under names that differ in letter case, its second occurrence replaces the first as a whole.
#pragma once

#include <cstdint>

#include "api/canonical_place.h"
#include "api/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::api {

// Some rules of upstream look at what Go has in memory, where more can be told apart than in what it writes.
enum class Empties : std::uint8_t {
  left_out,  // as Go writes
  kept,      // as Go has it: an empty list or map is not nil, and a struct embedded by pointer is there once one of its
             // members was given, though all are empty
};

// Brings `value` into canonical form in place; new parts are made in the memory that `value` lives in. A null becomes
// the zero value of the type. Refusals are 400 and name the field, what it takes and what it got; `value` is then
// somewhere between both forms and good for nothing but a message. Applying it twice changes nothing.
// `place` says where in the document the value stands, for messages.
Result<void> canonicalize(json::Value& value, const Type& type, const Place& place = {},
                          Empties empties = Empties::left_out);

}  // namespace vg::api
