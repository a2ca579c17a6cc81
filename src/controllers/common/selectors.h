// Label selectors as replica sets and pools have them in their spec.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/selector.h"
#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers {

// Of a LabelSelector {matchLabels, matchExpressions}; nothing when it is none that can be used.
std::optional<LabelSelector> read_selector(const json::Object& selector);
// `labels` may be null.
bool matches(const LabelSelector& selector, const json::Object* labels);
// metadata.labels of an object.
const json::Object* labels_of(const json::Object& object);

// The objects of the namespace that match. Only those are opened that bear a label which the selector asks for by
// value, if it does.
std::vector<const json::Object*> select(const World& world, std::string_view resource, std::string_view ns,
                                        const LabelSelector& selector);

}  // namespace vg::controllers
