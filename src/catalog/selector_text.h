// Label selectors as text, as `kubectl get -l` takes them and tables show them.
#pragma once

#include <string>

#include "json/value.h"

namespace vg::resources {

// Of a LabelSelector, or of the labels that older kinds have in its place. Empty when it selects everything.
std::string label_selector_text(const json::Object& selector);

}  // namespace vg::resources
