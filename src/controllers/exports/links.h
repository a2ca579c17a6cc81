// Where an export can be downloaded (spec copies 6.3, EXP-80).
#pragma once

#include <string>
#include <string_view>

#include "controllers/exports/source.h"
#include "controllers/world.h"

namespace vg::controllers::exports {

// Of the API listener: what it serves, and what `links` begin with behind the server's address.
inline constexpr string_view export_prefix = "/api/export.kubevirt.io/";

std::string export_base(string_view server_url, string_view ns, string_view name);
// status.links
Value export_links(const Turn& turn, const ExportSource& source);

}  // namespace vg::controllers::exports
