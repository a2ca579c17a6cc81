// Which shapes are structs in Go. Go's encoder never finds one empty, and OpenAPI refers to it by its definition.
#pragma once

#include "api/schema.h"

namespace vg::api {

constexpr bool is_go_struct(Shape shape) {
  switch (shape) {
    case Shape::structure:
    case Shape::quantity:
    case Shape::time:
    case Shape::micro_time:
    case Shape::duration:
    case Shape::int_or_string:
    case Shape::raw:
    case Shape::fields:
      return true;
    default:
      return false;
  }
}

}  // namespace vg::api
