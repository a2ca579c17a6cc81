#include "controllers/evacuation/evacuation.h"

#include <algorithm>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/common/shuffle.h"
#include "controllers/migration/make.h"
#include "json/access.h"

namespace vg::controllers {
namespace evacuation {
namespace {

constexpr std::string_view evacuation_annotation = "kubevirt.io/evacuationMigration";
constexpr std::string_view source_annotation = "kubevirt.io/eviction-source";
constexpr std::string_view name_prefix = "kubevirt-evacuation-";

const json::Object* status_of(const json::Object& vmi) { return json::get_object(vmi, "status"); }

std::string_view status_text(const json::Object& vmi, std::string_view member) {
  const json::Object* status = status_of(vmi);
  return status ? json::get_string_or(*status, member) : std::string_view();
}

bool is_over(const json::Object& vmi) {
  const std::string_view phase = status_text(vmi, "phase");
  return phase == "Succeeded" || phase == "Failed" || is_being_deleted(vmi);
}

// A migration has begun and has not ended.
bool is_migrating(const json::Object& vmi) {
  const json::Object* status = status_of(vmi);
  const json::Object* moving = status ? json::get_object(*status, "migrationState") : nullptr;
  return moving && !json::get_string_or(*moving, "startTimestamp").empty() &&
         json::get_string_or(*moving, "endTimestamp").empty();
}

std::string_view strategy_of(const json::Object& vmi, std::string_view cluster_strategy) {
  const json::Object* spec = json::get_object(vmi, "spec");
  const auto own = spec ? json::get_string(*spec, "evictionStrategy") : std::nullopt;
  return own.value_or(cluster_strategy);
}

std::size_t placements_in(const json::Object& vmi) {
  const json::Object* status = status_of(vmi);
  const json::Object* active = status ? json::get_object(*status, "activePods") : nullptr;
  return active ? active->size() : 0;
}

// EVC-06..08
Effect migration_for(const json::Object& vmi, const Turn& turn, std::uint64_t random) {
  const bool descheduled = annotation_of(vmi, source_annotation) == "descheduler";
  return migration::make({.vmi = vmi,
                          .name_prefix = name_prefix,
                          .random = random,
                          .priority = descheduled ? "system-maintenance" : "system-critical",
                          .annotation = evacuation_annotation,
                          .annotation_value = turn.key.name},
                         turn.storage);
}

Pass sync(const Turn& turn) {
  Pass pass;
  const NodeInfo* node = turn.world.nodes().find(turn.key.name);
  if (!node) return pass;
  const bool draining = is_draining(*node, turn.config.node_drain_taint_key());
  std::vector<Migrations::Name> asked = turn.world.migrations().leaving(turn.key.name);
  if (draining)
    for (const Placed* placed : turn.world.nodes().on(turn.key.name)) asked.emplace_back(placed->ns, placed->vmi);
  std::ranges::sort(asked);
  const auto repeated = std::ranges::unique(asked);
  asked.erase(repeated.begin(), repeated.end());
  std::uint64_t random = turn.random;
  for (const auto& [ns, name] : asked) {
    const json::Object* vmi = turn.world.get(kinds::vmi, ns, name);
    if (!vmi ||
        !against(*vmi, turn.key.name, draining, turn.world.migrations(), turn.config.eviction_strategy()).empty())
      continue;
    pass.add(migration_for(*vmi, turn, next_random(random)));
  }
  return pass;
}

// --- what wakes it ---------------------------------------------------------------------------------------------------

std::vector<Key> of_node(std::string_view name) {
  if (name.empty()) return {};
  return {{.ns = "", .name = std::string(name)}};
}

std::vector<Key> of_vmi(const Change& change, const World& world) {
  if (!change.after) return {};
  const std::string_view node = status_text(*change.after, "nodeName");
  if (!status_text(*change.after, "evacuationNodeName").empty()) return of_node(node);
  const NodeInfo* info = world.nodes().find(node);
  return info && !info->taints.empty() ? of_node(node) : std::vector<Key>();
}

// One is over: the VMI may need another.
std::vector<Key> of_migration(const Change& change, const World& world) {
  const MigrationInfo info = MigrationInfo::read(change.object());
  if (change.after && !info.is_final()) return {};
  const json::Object* vmi = world.get(kinds::vmi, info.ns, info.vmi);
  return vmi ? of_vmi({.happened = Happened::changed, .before = vmi, .after = vmi}, world) : std::vector<Key>();
}

constexpr Trigger triggers[] = {
    {.resource = kinds::vmi, .keys = of_vmi},
    {.resource = kinds::migration, .keys = of_migration},
};

}  // namespace

bool is_draining(const NodeInfo& node, std::string_view taint_key) {
  return std::ranges::any_of(
      node.taints, [&](const Taint& taint) { return taint.key == taint_key && taint.effect == "NoSchedule"; });
}

std::string_view against(const json::Object& vmi, std::string_view node, bool draining, const Migrations& migrations,
                         std::string_view cluster_strategy) {
  if (status_text(vmi, "nodeName") != node) return "EVC-01";
  if (!draining && (status_text(vmi, "evacuationNodeName") != node || is_migrating(vmi))) return "EVC-02";
  const std::string_view strategy = strategy_of(vmi, cluster_strategy);
  if (is_over(vmi) || (strategy != "LiveMigrate" && strategy != "LiveMigrateIfPossible")) return "EVC-03";
  if (!is_true(status_of(vmi), "LiveMigratable")) return "EVC-04";
  const bool moves = migrations.has_unfinished(metadata_text(vmi, "namespace"), metadata_text(vmi, "name"));
  return moves || placements_in(vmi) > 1 ? "EVC-05" : "";
}

}  // namespace evacuation

Controller evacuation_controller() {
  return {.name = "evacuation",
          .resource = kinds::node,
          .component = "evacuation-controller",
          .triggers = evacuation::triggers,
          .sync = evacuation::sync};
}

}  // namespace vg::controllers
