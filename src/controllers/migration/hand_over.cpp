#include "controllers/migration/hand_over.h"

#include <fmt/format.h>

#include "base/quantity.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/migration/options.h"
#include "controllers/placement.h"
#include "json/access.h"

namespace vg::controllers::migration {
namespace {

const json::Object* labels_of(const json::Object* object) {
  const json::Object* metadata = object ? json::get_object(*object, "metadata") : nullptr;
  return metadata ? json::get_object(*metadata, "labels") : nullptr;
}

Options effective_options(const Work& work) {
  const World& world = work.turn.world;
  return options_for(labels_of(&work.vmi.read()), labels_of(world.get(kinds::ns, "", work.turn.key.ns)),
                     world.list(kinds::migration_policy, ""), work.turn.config, work.turn.storage);
}

std::string bytes_text(std::int64_t bytes) {
  return Quantity::from_int(bytes, Quantity::Format::binary_si).canonical();
}

bool has_dedicated_cpus(const json::Object& vmi) {
  const json::Value* spec = json::find(vmi, "spec");
  const json::Value* dedicated = spec ? json::find_path(*spec, {"domain", "cpu", "dedicatedCpuPlacement"}) : nullptr;
  return json::as_bool(dedicated).value_or(false);
}

// MIG-H06, H07: what the target has for a guest that grows while it moves.
void show_target_resources(json::Object& labels, const Work& work, const State& state) {
  const bool more_cpus = find_condition(state.vmi_status, "HotVCPUChange") && has_dedicated_cpus(work.vmi.read());
  const bool more_memory = find_condition(state.vmi_status, "HotMemoryChange");
  if (!more_cpus && !more_memory) return;
  const Amounts requests = placement_requests(work.vmi.read(), work.turn.config);
  if (const auto cpu = requests.find("cpu"); more_cpus && cpu != requests.end())
    labels["kubevirt.io/vmi-pod-cpu-resource-limits"] = Quantity::from_milli(cpu->second).canonical();
  if (!more_memory) return;
  std::int64_t memory = 0;
  for (const auto& [name, amount] : requests)
    if (name == "memory" || name.starts_with("hugepages-")) memory += amount;
  labels["kubevirt.io/vmi-pod-memory-resource-requests"] = bytes_text(memory);
}

std::string_view source_pod(const json::Object& migration) {
  const json::Object* status = json::get_object(migration, "status");
  const json::Object* state = status ? json::get_object(*status, "migrationState") : nullptr;
  return state ? json::get_string_or(*state, "sourcePod") : std::string_view();
}

}  // namespace

void hand_over(Work& work, const State& state) {
  const std::string target = placement_uid(state.uid);
  const json::Object* active = json::get_object(*state.vmi_status, "activePods");
  const std::string node(json::get_string_or(*active, target));
  const std::string_view name = metadata_text(work.vmi.stored(), "name");
  const Options options = effective_options(work);

  json::Object moving(work.turn.storage);  // MIG-H02: what a former migration left is over
  moving["migrationUid"] = state.uid;      // MIG-H03
  moving["targetNode"] = node;
  moving["targetPod"] = placement_name(name, target);
  moving["sourceNode"] = json::get_string_or(*state.vmi_status, "nodeName");
  if (const std::string_view pod = source_pod(work.migration.read()); !pod.empty()) moving["sourcePod"] = pod;
  moving["targetMemoryOverhead"] = bytes_text(memory_overhead(work.vmi.read(), work.turn.config));
  moving["migrationConfiguration"] = options.values;  // MIG-H04
  if (!options.policy.empty()) moving["migrationPolicyName"] = options.policy;

  json::Object& metadata = json::ensure_object(work.vmi.edit(), "metadata");
  json::Object& labels = json::ensure_object(metadata, "labels");
  show_target_resources(labels, work, state);
  labels["kubevirt.io/migrationTargetNodeName"] = node;  // MIG-H05
  work.vmi_status()["migrationState"] = std::move(moving);
  work.tell_with_vmi(EventType::normal, "SuccessfulHandOver",
                     fmt::format("VMI \"{}\" was handed over to node \"{}\"", name, node));  // MIG-H08
  if (work.if_vmi_fails) return;  // the target that the same write makes: without it nothing was handed over
  work.if_vmi_fails = Told{.event = {.type = EventType::warning,
                                     .reason = "FailedHandOver",
                                     .message = "the VMI could not be handed over to the target node"}};
}

}  // namespace vg::controllers::migration
