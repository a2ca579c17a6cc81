#include "guests/live_migratable.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "api/view.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/placement.h"
#include "guests/vmi_lists.h"
#include "json/access.h"

namespace vg::guests {
namespace {

using api::View;
using json::Array;
using json::Value;

struct Checked {
  Checked(const json::Object& object, const controllers::NodeInfo& info, const config::ClusterConfig& settings,
          TpmState kept)
      : vmi(object), node(info), config(settings), tpm(kept) {}

  const json::Object& vmi;
  const controllers::NodeInfo& node;
  const config::ClusterConfig& config;
  const TpmState tpm;
  View spec{json::find(vmi, "spec")};
  View status{json::find(vmi, "status")};
  View domain{spec.get("domain")};
  View devices{domain.get("devices")};
};

const Array& list(const View& in, std::string_view name) {
  static const Array none;
  const Array* found = json::as_array(in.get(name));
  return found ? *found : none;
}

View at(View from, std::initializer_list<std::string_view> path) {
  for (const std::string_view name : path) from = View(from.get(name));
  return from;
}

// --- devices and features
// ---------------------------------------------------------------------------------------------

bool binding_moves(const Checked& checked, const Value& interface) {
  const View one(&interface);
  if (one.has("masquerade") || one.has("passtBinding")) return true;
  if (one.has("bridge")) {  // whatever the annotation says
    const View metadata(json::find(checked.vmi, "metadata"));
    return View(metadata.get("annotations")).has("kubevirt.io/allow-pod-bridge-network-live-migration");
  }
  const std::string_view plugin = json::as_string(View(one.get("binding")).get("name")).value_or("");
  return !plugin.empty() && at(View(&checked.config.configuration()), {"network", "binding", plugin}).has("migration");
}

bool network_stays(const Checked& checked) {
  const Array& interfaces = list(checked.devices, "interfaces");
  if (interfaces.empty()) return false;
  for (const Value& network : list(checked.spec, "networks")) {
    if (!json::find(network, "pod")) continue;
    const Value* interface = entry_with(interfaces, "name", json::get_string_or(network, "name"));
    return !interface || !binding_moves(checked, *interface);
  }
  return false;
}

bool model_is_unknown(const Checked& checked) {
  constexpr std::string_view prefix = "host-model-cpu.node.kubevirt.io/";
  if (json::as_string(View(checked.domain.get("cpu")).get("model")) != "host-model") return false;
  const auto label = checked.node.labels.lower_bound(prefix);
  return label == checked.node.labels.end() || !label->first.starts_with(prefix);
}

bool gpu_moves(const Checked& checked, const Value& gpu) {
  const View permitted(json::find(checked.config.configuration(), "permittedHostDevices"));
  return checked.config.enabled(config::Gate::vgpu_live_migration) &&
         entry_with(list(permitted, "mediatedDevices"), "resourceName", json::get_string_or(gpu, "deviceName"));
}

bool devices_stay(const Checked& checked) {
  const Array& gpus = list(checked.devices, "gpus");
  return !list(checked.devices, "hostDevices").empty() || gpus.size() > 1 ||
         (gpus.size() == 1 && !gpu_moves(checked, gpus.front()));
}

View security(const Checked& checked) { return View(checked.domain.get("launchSecurity")); }
bool is_sev(const Checked& checked) { return security(checked).has("sev") || security(checked).has("snp"); }
bool is_tdx(const Checked& checked) { return security(checked).has("tdx"); }
bool is_secure_execution(const Checked& checked) {
  return security(checked) && json::as_string(checked.spec.get("architecture")) == "s390x";
}
bool is_reserved(const Checked& checked) {
  return std::ranges::any_of(list(checked.devices, "disks"), [](const Value& disk) {
    return json::as_bool(View(json::find(disk, "lun")).get("reservation")).value_or(false);
  });
}
bool has_no_frequency(const Checked& checked) {
  return controllers::tsc_need(checked.vmi) == controllers::TscNeed::for_migration &&
         !checked.status.has("topologyHints");
}
bool passes_hyperv_through(const Checked& checked) {
  const View passthrough = at(checked.domain, {"features", "hypervPassthrough"});
  return passthrough && json::as_bool(passthrough.get("enabled")).value_or(true);
}

bool tpm_stays(const Checked& checked) {
  const View tpm(checked.devices.get("tpm"));
  return checked.tpm == TpmState::stays && tpm && json::as_bool(tpm.get("enabled")).value_or(true) &&
         json::as_bool(tpm.get("persistent")).value_or(false);
}

// --- volumes
// ----------------------------------------------------------------------------------------------------------

enum class Effect : std::uint8_t { none, copied, stays };

// What is known of the claim behind a volume; null when there is none.
View claim_of(const Checked& checked, std::string_view volume) {
  const Value* shown = entry_with(list(checked.status, "volumeStatus"), "name", volume);
  return View(shown ? json::find(*shown, "persistentVolumeClaimInfo") : nullptr);
}

bool is_shared(const View& claim) {
  return std::ranges::any_of(list(claim, "accessModes"),
                             [](const Value& mode) { return json::as_string(&mode) == "ReadWriteMany"; });
}

bool is_migrated(const Checked& checked, std::string_view volume) {
  return entry_with(list(checked.status, "migratedVolumes"), "volumeName", volume) != nullptr;
}

bool is_read_only_cdrom(const Checked& checked, std::string_view volume) {
  const Value* disk = entry_with(list(checked.devices, "disks"), "name", volume);
  const View cdrom(disk ? json::find(*disk, "cdrom") : nullptr);
  return cdrom && json::as_bool(cdrom.get("readonly")).value_or(true);
}

Effect effect_of(const Checked& checked, const Value& volume) {
  const std::string_view name = json::get_string_or(volume, "name");
  const View one(&volume);
  if (is_migrated(checked, name)) return Effect::none;
  const View claim = claim_of(checked, name);
  if (one.has("persistentVolumeClaim") || one.has("dataVolume"))
    return is_shared(claim) ? Effect::none : Effect::stays;  // LM-20
  if (const View host(one.get("hostDisk")); host) {          // LM-21
    const bool shared = claim ? is_shared(claim) : json::as_bool(host.get("shared")).value_or(false);
    return shared ? Effect::none : Effect::stays;
  }
  if (entry_with(list(checked.devices, "filesystems"), "name", name)) return Effect::none;  // LM-22
  return is_read_only_cdrom(checked, name) ? Effect::none : Effect::copied;                 // LM-23, LM-24
}

bool has_volume(const Checked& checked, Effect effect) {
  return std::ranges::any_of(list(checked.spec, "volumes"),
                             [&](const Value& volume) { return effect_of(checked, volume) == effect; });
}
bool disks_stay(const Checked& checked) { return has_volume(checked, Effect::stays); }

struct Obstacle {
  std::string_view id;
  std::string_view reason;
  std::string_view message;
  bool (*applies)(const Checked& checked);
  bool keeps_volumes = true;  // it also keeps volumes from being moved
  bool keeps_guest = true;    // it keeps the guest from being moved
};

// In this order. The second reason is spelt as upstream spells it (spec vmi-lifecycle Q4).
constexpr Obstacle obstacles[] = {
    {"LM-01", "InterfaceNotLiveMigratable", "the interface of the pod network cannot be moved", network_stays},
    {"LM-02", "CPUModeLiveMigratable", "the node does not tell its CPU model", model_is_unknown},
    {"LM-03", "HostDeviceNotLiveMigratable", "the VMI has a device of its node", devices_stay},
    {"LM-04", "SEVNotLiveMigratable", "the memory of the VMI is encrypted", is_sev},
    {"LM-04", "TDXNotLiveMigratable", "the memory of the VMI is encrypted", is_tdx},
    {"LM-05", "SecureExecutionNotLiveMigratable", "the VMI runs in secure execution", is_secure_execution, false},
    {"spec vmi-lifecycle 3.7", "PersistentReservationNotLiveMigratable", "a LUN of the VMI is reserved for its node",
     is_reserved, true, false},
    {"LM-06", "NoTSCFrequencyNotLiveMigratable", "no TSC frequency is known for the VMI", has_no_frequency},
    {"LM-07", "HypervPassthroughNotLiveMigratable", "the VMI has every Hyper-V feature of its node",
     passes_hyperv_through},
    {"LM-08", "DisksNotLiveMigratable", "a volume of the VMI cannot be used on two nodes; use ReadWriteMany claims",
     disks_stay, false},
    {"RUN-TPM-01", "PersistentTPMNotLiveMigratable",
     "the state of a persistent TPM cannot be moved to another node of this host; stop the VM, and start it again",
     tpm_stays},
};

}  // namespace

Migratable judge_migration(const json::Object& vmi, const controllers::NodeInfo& node,
                           const config::ClusterConfig& config, TpmState tpm) {
  const Checked checked(vmi, node, config, tpm);
  Migratable verdict;
  for (const Obstacle& obstacle : obstacles) {
    if (!obstacle.applies(checked)) continue;
    if (obstacle.keeps_guest && verdict.reason.empty()) {
      verdict.reason = obstacle.reason;
      verdict.message = obstacle.message;
    }
    if (!obstacle.keeps_volumes) continue;
    if (!verdict.storage_reasons.empty()) verdict.storage_reasons += ", ";
    verdict.storage_reasons += fmt::format("{}: {}", obstacle.reason, obstacle.message);
  }
  verdict.block = has_volume(checked, Effect::copied) || disks_stay(checked) ||
                  !list(checked.status, "migratedVolumes").empty();  // LM-25
  return verdict;
}

void show_migratable(controllers::vmi::Draft& guest, const controllers::NodeInfo& node, TpmState tpm) {
  const Migratable verdict = judge_migration(guest.object(), node, guest.turn.config, tpm);
  json::Object& status = guest.status();
  const auto show = [&](std::string_view type, std::string_view reason, std::string_view message) {
    controllers::set_condition(status, {.type = type,
                                        .status = reason.empty() ? "True" : "False",
                                        .reason = reason,
                                        .message = reason.empty() ? std::string_view() : message});
  };
  show("LiveMigratable", verdict.reason, verdict.message);  // LM-09
  show("StorageLiveMigratable", verdict.storage_reasons.empty() ? "" : "NotMigratable", verdict.storage_reasons);
  status["migrationMethod"] = verdict.block ? "BlockMigration" : "LiveMigration";
}

}  // namespace vg::guests
