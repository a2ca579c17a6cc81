// What is legal but unwise. One row a warning: a pure function that looks at an object, and what people are told.
//
// To add one: a function and a row in warnings.cpp, with an example that it finds and one that it does not
// (warnings_test.cpp asks every row for both).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace vg::offline {

struct Remark {
  std::string field;    // its path from the root of the object
  std::string message;  // what is unwise about this one
};
using Remarks = std::vector<Remark>;

struct Warning {
  std::string_view id;
  std::string_view title;  // what should hold, as a sentence without its full stop
  std::string_view field;  // where it points
  std::string_view why;
  std::string_view advice;
  std::string_view good, bad;  // objects, as JSON
  // `object` is as it was written. Fields may be missing, or of another type than their kind has.
  void (*look)(const json::Object& object, Remarks& found);
};

std::span<const Warning> warnings();

}  // namespace vg::offline
