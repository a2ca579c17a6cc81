// What the former migrations of a VMI mean for a new one (spec migration-and-fleets 2.9, 2.10). Both take all
// migrations of the VMI's name, newest first, as Migrations::of gives them.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "controllers/migrations.h"
#include "controllers/world.h"

namespace vg::controllers::migration {

using History = std::vector<const MigrationInfo*>;

// MIG-B01: how long this one has to wait yet; 0: it may start.
std::chrono::seconds wait_before_start(const History& history, std::string_view uid, Time now);

// MIG-G01: those that are to be deleted, because five newer ones are over as well.
History leftovers(const History& history);

}  // namespace vg::controllers::migration
