#include "controllers/vmi/act.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/views/vmi_devices.h"
#include "api/views/vmi_volumes.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/placement.h"
#include "controllers/tsc.h"
#include "controllers/vmi/storage.h"
#include "json/access.h"
#include "upstream_release.h"

namespace vg::controllers::vmi {
namespace {

using api::kubevirt::Filesystem;
using api::kubevirt::Volume;

constexpr std::chrono::seconds unschedulable_interval{10};

void tell_deleted(Draft& draft, const Placement& placement) {
  draft.tell(EventType::normal, "SuccessfulDelete",
             fmt::format("deleted placement {}", placement_name(draft.name(), placement.uid)));
}

// It was told before when the VMI says that it is going down.
bool was_told_to_end(const Draft& draft) {
  return condition_reason(draft.read_status().object(), "Ready") == "PodTerminating";
}

// What a migration that is over leaves behind.
bool is_left_behind(const Draft& draft, const Placement& placement) {
  const auto state = draft.read_status().migration_state();
  const std::string_view node = draft.read_status().node_name();
  if (placement.node.empty() || placement.node == node) return false;
  if (state.failed()) return placement.node == state.target_node();
  return state.completed() && placement.node == state.source_node() && node == state.target_node();
}

// The new one was made by this program.
void take_over_target(Draft& draft) { draft.status()["launcherContainerImageVersion"] = launcher_image(); }

// VMI-A07.
bool frequency_is_known(const Draft& draft) {
  return tsc_need(draft.object()) == TscNeed::none || draft.read_status().has("topologyHints");
}

// VMI-T02.
void add_topology_hints(Draft& draft) {
  const TscNeed need = tsc_need(draft.object());
  if (need == TscNeed::none || draft.read_status().has("topologyHints")) return;
  const auto frequency = lowest_tsc_frequency(draft.turn.world.nodes(), draft.turn.config);
  if (frequency) {
    json::ensure_object(draft.status(), "topologyHints")["tscFrequency"] = *frequency;
    return;
  }
  if (need != TscNeed::for_boot) return;
  draft.tell(EventType::warning, "FailedGatherhingClusterTopologyHints",
             "minimumClusterTSCFrequency of the KubeVirt configuration must be greater than 0");
  draft.pass.try_again = true;
}

// VMI-A09.
bool has_running_migration(const Draft& draft) {
  const auto migrations = draft.turn.world.labelled(kinds::migration, draft.ns(), "kubevirt.io/vmi-name", draft.name());
  return std::ranges::any_of(migrations, [](const json::Object* one) {
    const json::Object* status = json::get_object(*one, "status");
    const std::string_view phase = status ? json::get_string_or(*status, "phase") : std::string_view();
    return !phase.empty() && phase != "Pending" && phase != "Succeeded" && phase != "Failed";
  });
}

// VMI-A12.
bool shares_container_paths(const Draft& draft) {
  const auto filesystems = draft.spec().domain().devices().filesystems();
  return std::ranges::any_of(draft.spec().volumes(), [&](const Volume& volume) {
    return volume.container_path() &&
           std::ranges::any_of(filesystems, [&](const Filesystem& one) { return one.name() == volume.name(); });
  });
}

bool may_be_placed(Draft& draft) {
  if (has_running_migration(draft)) {
    draft.fail("FailedCreate", "a migration of a VMI with this name is not finished yet");
    return false;
  }
  if (!backend_storage_is_ready(draft)) return false;
  if (shares_container_paths(draft) && !draft.turn.config.enabled(config::Gate::container_path_volumes)) {
    const std::string message =
        "the VMI shares a containerPath volume, and the feature gate ContainerPathVolumes is off";
    draft.tell(EventType::warning, "ContainerPathVolumesDisabled", message);
    draft.fail("ContainerPathVolumesDisabled", message);
    return false;
  }
  return true;
}

// VMI-A15.
void make_placement(Draft& draft) {
  draft.placements.push_back({.uid = placement_uid(draft.uid()), .node = {}});
  draft.tell(EventType::normal, "SuccessfulCreate",
             fmt::format("created placement {}", placement_name(draft.name(), draft.placements.back().uid)));
  json::Object& status = draft.status();
  status["launcherContainerImageVersion"] = launcher_image();
  if (draft.turn.config.enabled(config::Gate::vmi_memory_overhead_report)) {
    const Quantity overhead =
        Quantity::from_int(memory_overhead(draft.object(), draft.turn.config), Quantity::Format::binary_si);
    json::ensure_object(status, "memory")["memoryOverhead"] = overhead.canonical();
  }
}

void find_node(Draft& draft, Placement& placement) {
  Scheduled found =
      schedule(placement_demand(draft.object(), draft.turn.config), draft.turn.world.nodes(), draft.turn.steady);
  placement.node = std::move(found.node);
  draft.unschedulable = std::move(found.message);
  if (!placement.node.empty()) return;
  draft.pass.waits_for_nodes = true;
  draft.pass.look_again(unschedulable_interval);
}

}  // namespace

std::string launcher_image() { return fmt::format("virtgate:{}", upstream::kubevirt_release); }

bool waits_for_sender(const Draft& draft) {
  return annotation_of(draft.stored, "kubevirt.io/create-migration-target") == "true" &&
         label_of(draft.stored, "kubevirt.io/migrationTargetNodeName").empty();
}

void drop_ended_placements(Draft& draft) {
  std::erase_if(draft.placements, [&](const Placement& placement) {
    if (draft.was_final()) {
      if (draft.is_deleting() && !was_told_to_end(draft)) tell_deleted(draft, placement);
      return true;
    }
    if (!is_left_behind(draft, placement)) return false;
    if (!draft.read_status().migration_state().failed()) take_over_target(draft);
    return true;
  });
}

void act(Draft& draft) {
  if (draft.is_deleting()) {  // VMI-A01
    std::erase_if(draft.placements, [&](const Placement& placement) {
      if (!was_told_to_end(draft)) tell_deleted(draft, placement);
      return placement.node.empty();
    });
    return;
  }
  const auto has_no_node = [](const Placement& placement) { return placement.node.empty(); };
  // VMI-A02, VMI-A06: none is made for what had one; and the agent's turn.
  if (!draft.is_unprocessed() && std::ranges::none_of(draft.placements, has_no_node)) return;
  const bool ready = volumes_are_ready(draft);
  if (draft.error) return tell_missing_claim(draft);  // VMI-A03, A04
  if (waits_for_sender(draft)) return;                // VMI-A05
  if (draft.placements.empty()) {
    add_topology_hints(draft);
    if (!frequency_is_known(draft) || !ready || !may_be_placed(draft)) return;  // VMI-A07..A12
    make_placement(draft);
  }
  if (Placement& first = draft.placements.front(); draft.placements.size() == 1 && first.node.empty())
    find_node(draft, first);
}

}  // namespace vg::controllers::vmi
