// The table writer that the resource layer calls (Backend::table).
#pragma once

#include <string>

#include "resources/context.h"

namespace vg::resources {

void write_table(std::string& out, const TableCall& call);

}  // namespace vg::resources
