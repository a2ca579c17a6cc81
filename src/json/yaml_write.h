// Values as YAML for people: block style, quotes only where they are needed. What is written is read back as the same.
#pragma once

#include <string>

#include "json/value.h"

namespace vg::json {

// With a line break at its end.
std::string to_yaml(const Value& value);

}  // namespace vg::json
