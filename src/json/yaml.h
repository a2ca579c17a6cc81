// YAML bodies: one document, read into the same values that JSON is read into.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace vg::json {

// Plain scalars are resolved as Kubernetes' own reader does (YAML 1.1: yes and no are booleans, 0777 is octal).
// Aliases and merge keys work; what they expand to is bounded. `duplicate_fields` receives the names of keys that occur
// twice in one mapping, of which the last counts. 400 with line and column when the text is not YAML, has no or several
// documents, or holds what JSON cannot.
Result<json::Value> parse_yaml(std::string_view text, const json::StoragePtr& storage,
                               std::vector<std::string>* duplicate_fields = nullptr);

}  // namespace vg::json
