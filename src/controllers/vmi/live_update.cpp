#include "controllers/vmi/live_update.h"

#include <algorithm>

#include "controllers/claims.h"
#include "controllers/common/conditions.h"
#include "controllers/nodes.h"
#include "controllers/placement.h"
#include "controllers/vmi/network.h"
#include "json/access.h"

namespace vg::controllers::vmi {
namespace {

using api::View;

// VMI-L01. Negative: fewer.
std::int64_t more_cpus(const Draft& draft) {
  const auto cpu = draft.spec().domain().cpu();
  const json::Object* shown = json::as_object(draft.read_status().get("currentCPUTopology"));
  return shown && cpu && cpu.max_sockets() != 0 ? vcpus_of(*cpu.object()) - vcpus_of(*shown) : 0;
}

// VMI-L02. Negative: less.
std::int64_t more_memory(const Draft& draft) {
  const auto memory = draft.spec().domain().memory();
  const View shown(draft.read_status().get("memory"));
  if (!shown || !memory.guest() || !memory.max_guest()) return 0;
  const json::Value* requested = shown.get("guestRequested");
  return amount_of("memory", *memory.guest().value()) - (requested ? amount_of("memory", *requested) : 0);
}

// VMI-L03: some claim of the spec is not where a volume comes from.
bool has_other_volumes(const Draft& draft) {
  const json::Array* migrated = json::as_array(draft.read_status().get("migratedVolumes"));
  if (!migrated || migrated->empty()) return false;
  const auto is_source = [&](std::string_view claim) {
    return std::ranges::any_of(*migrated, [&](const json::Value& one) {
      const json::Object* source = json::get_object(one, "sourcePVCInfo");
      return source && json::get_string_or(*source, "claimName") == claim;
    });
  };
  const json::Object* spec = json::get_object(draft.object(), "spec");
  const json::Array* volumes = spec ? json::get_array(*spec, "volumes") : nullptr;
  return volumes && std::ranges::any_of(*volumes, [&](const json::Value& volume) {
           const std::string_view claim =
               volume.is_object() ? claim_of_volume(volume.get_object()) : std::string_view();
           return !claim.empty() && !is_source(claim);
         });
}

void mark(Draft& draft, const Condition& condition) {
  if (!find_condition(&draft.status(), condition.type)) set_condition(draft.status(), condition);
}

// Whether the node may carry it out in place. What was granted stays so: the room for it counts as taken.
void mark_growth(Draft& draft, std::string_view type, bool is_more) {
  const json::Object* known = find_condition(&draft.status(), type);
  if (known && json::get_string_or(*known, "reason") != no_room_reason) return;
  const std::string missing =
      is_more ? missing_room(draft.object(), draft.turn.world.nodes(), draft.turn.config) : std::string();
  set_condition_and_message(draft.status(), {.type = type,
                                             .status = "True",
                                             .reason = missing.empty() ? std::string_view() : no_room_reason,
                                             .message = missing});
  if (!missing.empty()) draft.pass.waits_for_nodes = true;
}

// What the target of the migration is to count with.
void note_overhead_ratio(Draft& draft) {
  const auto ratio = json::get_string(draft.turn.config.configuration(), "additionalGuestMemoryOverheadRatio");
  if (ratio) json::ensure_object(draft.metadata(), "labels")["kubevirt.io/memory-hotplug-overhead-ratio"] = *ratio;
}

}  // namespace

void update_live_conditions(Draft& draft) {
  if (const std::int64_t more = more_cpus(draft)) mark_growth(draft, "HotVCPUChange", more > 0);
  if (const std::int64_t more = more_memory(draft)) {
    mark_growth(draft, "HotMemoryChange", more > 0);
    note_overhead_ratio(draft);
  }
  const std::string now = draft.now();
  if (has_other_volumes(draft))
    mark(draft, {.type = "VolumesChange", .status = "True", .message = "migrate volumes", .last_transition = now});
  update_migration_required(draft);
}

}  // namespace vg::controllers::vmi
