// What is legal but unwise. One row a warning: a pure function that looks at a manifest, and what people are told.
//
// To add one: a function and a row in the file of its subject under warnings/, with an example that it finds and one
// that it does not (warnings_test.cpp asks every row for both).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "offline/machine_place.h"
#include "ports/object_store.h"

namespace vg::offline {

// What there is to look at. The object is as it was written: fields may be missing, or of another type than their kind
// has.
struct Manifest {
  const json::Object& object;
  std::string_view kind, ns;
  MachineIn machine;          // of a kind that has none: nothing
  const ObjectStore& beside;  // the objects that exist beside it
};
Manifest manifest_of(const json::Object& object, std::string_view ns, const ObjectStore& beside);

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
  void (*look)(const Manifest& manifest, Remarks& found);
  std::string_view gate = {};  // the feature gate without which the server takes no such object
};

// All of them, by id.
std::span<const Warning> warnings();

}  // namespace vg::offline
