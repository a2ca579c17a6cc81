// The document as text (spec domain 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/element.h"

namespace vg::domain {

// Attributes and children in the order of the catalogue, two blanks a level, no declaration, no short form of empty
// elements (DOM-XML-01, DOM-XML-02).
std::string to_xml(const Element& root);

// The first place that holds a character that XML cannot carry, such as "domain/devices/disk/serial"; nothing when the
// whole document can be written. Upstream's writer puts U+FFFD there, so that two different names become one.
std::optional<std::string> unwritable(const Element& root);

// The first element or attribute that the catalogue does not know: a mistake of ours, for tests.
std::optional<std::string> undeclared(const Element& root);

}  // namespace vg::domain
