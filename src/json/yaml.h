// YAML bodies: one document, read into the same values that JSON is read into.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/budgets.h"
#include "base/limits.h"
#include "base/status.h"
#include "json/places.h"
#include "json/value.h"

namespace vg::json {

struct YamlOptions {
  std::size_t bytes_max = limits::object_body_bytes_max;
  std::size_t values_max = budgets::yaml_values_max;
  std::vector<std::string>* duplicate_fields = nullptr;
  TextProblem* problem = nullptr;  // receives what is wrong with a text that is refused
};

// Plain scalars are resolved as Kubernetes' own reader does (YAML 1.1: yes and no are booleans, 0777 is octal).
// Aliases and merge keys work; what they expand to is bounded. `duplicate_fields` receives the names of keys that occur
// twice in one mapping, of which the last counts. 400 with line and column when the text is not YAML, has no or several
// documents, or holds what JSON cannot.
Result<json::Value> parse_yaml(std::string_view text, const json::StoragePtr& storage,
                               std::vector<std::string>* duplicate_fields = nullptr);
Result<json::Value> parse_yaml(std::string_view text, const json::StoragePtr& storage, const YamlOptions& options);

// Where everything stands in a text that parse_yaml accepts, by reading it again in the same way.
Result<Places> places_of_yaml(std::string_view text, const YamlOptions& options = {});

}  // namespace vg::json
