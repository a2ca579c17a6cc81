// The workload updater (spec migration-and-fleets 7): brings VMIs up to date whose launcher is outdated, or for which a
// live update waits for a migration. Its object is KubeVirt.
#pragma once

#include <cstdint>
#include <string_view>

#include "controllers/controller.h"

namespace vg::controllers {

Controller workload_update_controller();

namespace workload_update {

enum class Class : std::uint8_t {
  up_to_date,
  abort,      // its migration has no reason any more (WLU-01)
  under_way,  // outdated, and it moves (WLU-04)
  migrate,    // WLU-05
  evict,      // WLU-06
  outdated,   // nothing is to be done about it
};

struct Methods {
  bool migrate = false, evict = false;
};

// Of a VMI, given the migrations of the moment.
Class classify(const json::Object& vmi, const Methods& methods, const Migrations& migrations);

// What an eviction does to a VMI (WLU-13; work-objects 4.3).
enum class Eviction : std::uint8_t { stop, move, refuse };
Eviction eviction_of(const json::Object& vmi, std::string_view cluster_strategy);

}  // namespace workload_update
}  // namespace vg::controllers
