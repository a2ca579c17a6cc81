// The table writer that the resource layer calls (Backend::table).
#pragma once

#include <string>

#include "resources/api_request.h"

namespace vg::resources {

std::unique_ptr<ListText> make_table(const TableCall& call);

}  // namespace vg::resources
