#include "controllers/vm/live_update.h"

#include <fmt/format.h>

#include <array>

#include "admission/defaults/memory_hotplug.h"
#include "admission/instancetype/expand.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/vm/instancetypes.h"
#include "controllers/vm/volumes_update.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

// What the parts compare.
struct LiveUpdate {
  Work& work;
  const Object& wanted;   // TS with instance type and preference
  const Object& running;  // spec of the VMI
  const Object* vmi_status;

  bool migrating() const { return is_migrating(*work.stored_vmi, work.turn.now); }
  void restart(std::string message) const { work.outcome.live_restart.set(std::move(message)); }
};

struct Part {
  string_view reason;  // of its failures
  void (*run)(const LiveUpdate& update, string_view reason);
};

// --- CPU -------------------------------------------------------------------------------------------------------------

std::int64_t vcpus(const Object& cpu) {
  std::int64_t product = 1;
  bool any = false;
  for (const string_view member : {"cores", "sockets", "threads"})
    if (const std::uint32_t number = edit::number(&cpu, member); number != 0) {
      product *= number;
      any = true;
    }
  return any ? product : 0;
}

std::int64_t allocation_ratio(const config::ClusterConfig& config) {
  const Object* settings = at(&config.configuration(), {"developerConfiguration"});
  const std::int64_t ratio = settings ? json::get_int_or(*settings, "cpuAllocationRatio", 10) : 10;
  return ratio > 0 ? ratio : 10;
}

// Adds to an amount of the VMI that the VM sets as well.
void add_to_resource(const LiveUpdate& update, string_view reason, string_view kind, string_view name,
                     const Quantity& more) {
  const auto asked = quantity_at(&update.wanted, {"domain", "resources", kind, name});
  const auto there = quantity_at(&update.running, {"domain", "resources", kind, name});
  if (!asked || asked->is_zero() || !there) return;
  Object& amounts = json::ensure_path(update.work.edit_vmi(reason), {"spec", "domain", "resources", kind});
  edit::set_quantity(amounts, name, *there + more);
}

// VMC-101g
void plug_sockets(const LiveUpdate& update, string_view reason, const Object& wanted, const Object& running) {
  const std::int64_t milli = (vcpus(wanted) - vcpus(running)) * (1000 / allocation_ratio(update.work.turn.config));
  const Quantity more = Quantity::from_milli(milli);
  for (const string_view kind : {"requests", "limits"}) add_to_resource(update, reason, kind, "cpu", more);
  Object& cpu = json::ensure_path(update.work.edit_vmi(reason), {"spec", "domain", "cpu"});
  edit::set_number(cpu, "sockets", edit::number(&wanted, "sockets"));
}

void update_cpu(const LiveUpdate& update, string_view reason) {
  const Object* wanted = at(&update.wanted, {"domain", "cpu"});
  const Object* running = at(&update.running, {"domain", "cpu"});
  if (!wanted || !running || vcpus(*wanted) == 0)
    return;  // spec vm-controller Q-06: without a topology, the VMI has its default
  const std::uint32_t sockets = edit::number(wanted, "sockets");
  const std::uint32_t present = edit::number(running, "sockets");
  if (sockets == present) return;                   // VMC-101a
  if (is_true(update.vmi_status, "HotVCPUChange"))  // VMC-101b
    return update.work.fail(reason, "another change of CPUs is in progress; the next one begins when it is over");
  if (update.migrating())  // VMC-101c
    return update.work.fail(reason, "CPUs cannot be changed while the VMI migrates");
  if (sockets > edit::number(running, "maxSockets"))  // VMC-101d
    return update.restart("the VM asks for more CPU sockets than the VMI was started with as its maximum");
  if (sockets < present)  // VMC-101e
    return update.restart("the number of CPU sockets can only grow while the VM runs");
  if (json::get_string_or(update.wanted, "architecture") == "arm64")  // VMC-101f
    return update.restart("CPU hotplug is not supported on arm64");
  plug_sockets(update, reason, *wanted, *running);
}

// --- where it may run ------------------------------------------------------------------------------------------------

// VMC-102, VMC-103
void follow(const LiveUpdate& update, string_view reason, string_view member) {
  const Value* wanted = value_at(&update.wanted, {member});
  const Value* running = value_at(&update.running, {member});
  if (same_values(Type::vmi, {"spec", member}, wanted, running)) return;
  if (update.migrating())
    return update.work.fail(reason, fmt::format("spec.{} cannot be changed while the VMI migrates", member));
  Object& spec = json::ensure_object(update.work.edit_vmi(reason), "spec");
  if (wanted)
    spec[member] = *wanted;
  else
    json::erase(spec, member);
}

void update_affinity(const LiveUpdate& update, string_view reason) {
  follow(update, reason, "affinity");
  if (!update.work.failed()) follow(update, reason, "nodeSelector");
}

void update_tolerations(const LiveUpdate& update, string_view reason) { follow(update, reason, "tolerations"); }

// --- memory ----------------------------------------------------------------------------------------------------------

// VMC-104j
void plug_memory(const LiveUpdate& update, string_view reason, const Quantity& guest, const Quantity& current) {
  Quantity more = guest - current;
  const auto requested = quantity_at(&update.running, {"domain", "resources", "requests", "memory"});
  if (requested && !requested->is_zero()) {
    Quantity raised = *requested + more;
    if (raised < guest) {  // spec vm-controller Q-13
      raised = guest;
      more = Quantity();
    }
    edit::set_quantity(json::ensure_path(update.work.edit_vmi(reason), {"spec", "domain", "resources", "requests"}),
                       "memory", raised);
  }
  add_to_resource(update, reason, "limits", "memory", more);
  edit::set_quantity(json::ensure_path(update.work.edit_vmi(reason), {"spec", "domain", "memory"}), "guest", guest);
}

void update_memory(const LiveUpdate& update, string_view reason) {
  const auto guest = quantity_at(&update.wanted, {"domain", "memory", "guest"});
  const auto running = quantity_at(&update.running, {"domain", "memory", "guest"});
  const auto current = quantity_at(update.vmi_status, {"memory", "guestCurrent"});
  if (!guest || !running || !current) return;          // VMC-104a
  if (is_false(update.vmi_status, "HotMemoryChange"))  // VMC-104b
    return update.restart("an earlier change of memory failed");
  if (*guest == *running) return;                     // VMC-104c
  if (!is_true(update.vmi_status, "LiveMigratable"))  // VMC-104d
    return update.restart("memory can be changed only while the VM can be live-migrated");
  const auto most = quantity_at(&update.running, {"domain", "memory", "maxGuest"});
  if (!most)  // VMC-104e
    return update.restart("memory cannot be changed while the VM runs: the VMI was started without a maximum");
  if (is_true(update.vmi_status, "HotMemoryChange"))  // VMC-104f
    return update.work.fail(reason, "another change of memory is in progress; the next one begins when it is over");
  if (update.migrating())  // VMC-104g
    return update.work.fail(reason, "memory cannot be changed while the VMI migrates");
  if (const auto problem = admission::memory_hotplug_problem(update.wanted, *most))  // VMC-104h
    return update.restart(fmt::format("memory cannot be changed while the VM runs: {}", *problem));
  const auto at_boot = quantity_at(update.vmi_status, {"memory", "guestAtBoot"});
  if (at_boot && *guest < *at_boot)  // VMC-104i
    return update.restart("memory cannot become smaller than it was at the start");
  plug_memory(update, reason, *guest, *current);
}

constexpr auto parts = std::to_array<Part>({
    {"HotPlugCPUError", update_cpu},
    {"AffinityChangeError", update_affinity},
    {"TolerationsChangeError", update_tolerations},
    {"HotPlugMemoryError", update_memory},
});

// TS as it would run.
Result<Value> wanted_template(const Work& work) {
  const Object* machine_template = template_of(work.vm_object());
  Value copy =
      machine_template ? Value(*machine_template, work.storage()) : Value(boost::json::object_kind, work.storage());
  if (auto good = admission::apply_chosen(work.chosen, copy.get_object()); !good) return fail(std::move(good.error()));
  return copy;
}

void update_parts(Work& work) {
  const Object* wanted = template_spec_of(work.vm_object());
  std::optional<Value> applied;
  if (names_instancetype_or_preference(work.vm_object())) {
    auto made = wanted_template(work);
    if (!made) return work.fail(parts[0].reason, std::move(made.error().message));
    applied = std::move(*made);
    wanted = json::get_object(applied->get_object(), "spec");
  }
  const Object* running = at(work.stored_vmi, {"spec"});
  if (!wanted || !running) return;
  const LiveUpdate update{
      .work = work, .wanted = *wanted, .running = *running, .vmi_status = status_of(*work.stored_vmi)};
  for (const Part& part : parts) {
    part.run(update, part.reason);
    if (work.failed()) return;
  }
}

}  // namespace

void update_live(Work& work) {
  if (!work.vmi) return;
  if (!work.is_vmi_deleted()) update_parts(work);
  if (!work.failed()) update_volumes(work);
}

}  // namespace vg::controllers::vm
