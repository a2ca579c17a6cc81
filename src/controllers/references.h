// Who waits for whom: snapshots, restores, clones and exports name other objects, and a change of one of those concerns
// them. The engine keeps it while changes come in (src/engine/index.h), so that a change opens no object but those that
// it concerns, however many finished ones there are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace vg::controllers {

// The resource's name as it lives as long as the program; empty for a resource whose objects name none.
std::string_view with_references(std::string_view resource);

// Whether its objects name some of other namespaces too: they are known as "NAMESPACE/NAME", in the namespace "".
bool refers_elsewhere(std::string_view resource);

// "vm/NAME", "snapshot/NAME", "claim/NAME", "secret/NAME" and, of a clone, "target/NAME"; of a DataSource
// "claim/NAMESPACE/NAME" and "source/NAMESPACE/NAME". Those that are over wait for nobody.
std::vector<std::string> references_of(std::string_view resource, const json::Object& object);

}  // namespace vg::controllers
