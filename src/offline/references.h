// Names in an object that other objects must answer to, as far as nobody looks them up while it is judged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "offline/known_objects.h"

namespace vg::offline {

struct Reference {
  std::string field;  // its path
  Missing to;
  std::string_view or_to = {};  // another resource whose object of the same name answers as well; empty: none
};

// Of a machine, in whichever kind it stands; in the order of a table.
std::vector<Reference> references_of(const json::Object& object, std::string_view ns);

// Where in the object a name stands that was looked for: the path of the first string that is this name, but for the
// object's own name; empty for none.
std::string field_with_value(const json::Object& object, std::string_view name);

}  // namespace vg::offline
