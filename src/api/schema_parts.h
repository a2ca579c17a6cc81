// Pieces of a JSON schema that CRDs and OpenAPI documents write alike.
#pragma once

#include <span>
#include <string_view>

#include "api/schema.h"
#include "json/value.h"

namespace vg::api {

inline json::Array strings(std::span<const std::string_view> values, const json::StoragePtr& storage) {
  json::Array result(storage);
  result.reserve(values.size());
  for (std::string_view value : values) result.emplace_back(value);
  return result;
}

inline void put_type(json::Object& schema, std::string_view type, std::string_view format = {}) {
  schema["type"] = type;
  if (!format.empty()) schema["format"] = format;
}

inline void put_range(json::Object& schema, const Range& range, std::string_view min_name, std::string_view max_name) {
  if (range.has_min()) schema[min_name] = range.min;
  if (range.has_max()) schema[max_name] = range.max;
}

}  // namespace vg::api
