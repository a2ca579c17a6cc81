// When a VM runs, and who starts it again.
#include <array>

#include "offline/warnings/look.h"
#include "offline/warnings/tables.h"

namespace vg::offline {
namespace {

std::string_view run_strategy(const Manifest& manifest) {
  const json::Object* spec = vm_spec(manifest);
  return spec ? json::get_string_or(*spec, "runStrategy") : std::string_view();
}

std::string run_strategy_field(const Manifest& manifest) {
  return manifest.kind == "VirtualMachinePool" ? "spec.virtualMachineTemplate.spec.runStrategy" : "spec.runStrategy";
}

void look_at_grace_period(const Manifest& manifest, Remarks& found) {
  if (json::as_int(find_in(manifest.machine, "terminationGracePeriodSeconds")) == 0)
    tell(found, manifest.machine, "terminationGracePeriodSeconds",
         "the guest is cut off whenever the VM is stopped or deleted");
}

// spec vm-controller VMC-36a.
void look_at_once(const Manifest& manifest, Remarks& found) {
  if (run_strategy(manifest) == "Once")
    found.push_back({.field = run_strategy_field(manifest),
                     .message = "the VM runs again when its VMI is deleted, by an eviction for example, and cannot be "
                                "started after it has ended"});
}

void look_at_paused_start(const Manifest& manifest, Remarks& found) {
  if (json::as_string(find_in(manifest.machine, "startStrategy")) != "Paused") return;
  // Encrypted guests wait for their attestation.
  if (json::as_object(find_in(manifest.machine, "domain.launchSecurity"))) return;
  tell(found, manifest.machine, "startStrategy", "after every start somebody has to unpause the VM");
}

void look_at_liveness(const Manifest& manifest, Remarks& found) {
  if (!json::as_object(find_in(manifest.machine, "livenessProbe"))) return;
  const std::string_view strategy = run_strategy(manifest);
  if (strategy == "Manual" || strategy == "Once")
    tell(found, manifest.machine, "livenessProbe",
         fmt::format("the probe ends a guest that does not answer, and with runStrategy {} nobody starts it again",
                     strategy));
}

void look_at_probe_delays(const Manifest& manifest, Remarks& found) {
  const json::Object* probe = json::as_object(find_in(manifest.machine, "livenessProbe"));
  if (!probe || json::get_int_or(*probe, "initialDelaySeconds", 0) > 0) return;
  // Absent or 0 is 10 seconds and 3 failures (spec work-objects D19).
  const auto usual = [&](std::string_view name, std::int64_t otherwise) {
    const std::int64_t value = json::get_int_or(*probe, name, 0);
    return std::clamp<std::int64_t>(value < 1 ? otherwise : value, 1, 1'000'000);
  };
  const std::int64_t seconds = usual("periodSeconds", 10) * usual("failureThreshold", 3);
  if (seconds < 120)
    tell(found, manifest.machine, "livenessProbe",
         fmt::format("a guest that does not answer {} seconds after its start is ended while it boots", seconds));
}

constexpr std::array running_table = std::to_array<Warning>({
    {.id = "WISE-03",
     .title = "A guest should have time to shut down",
     .field = "spec.template.spec.terminationGracePeriodSeconds",
     .why = "With 0 seconds every stop is a power failure for the guest: what it has not written yet is lost.",
     .advice = "Leave it out (30 seconds), or give the guest the time that it needs.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},"terminationGracePeriodSeconds":180})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},"terminationGracePeriodSeconds":0})">,
     .look = look_at_grace_period},
    {.id = "WISE-15",
     .title = "A VM that must not run twice should not rely on runStrategy Once",
     .field = "spec.runStrategy",
     .why =
         "Once means once for each VMI: the VMI stays when the guest has ended, and when it is deleted (an eviction, "
         "a failed node, kubectl delete) a new one starts. virtctl start refuses such a VM.",
     .advice = "Use RerunOnFailure for a guest that shuts down when it is done, or Manual for one that people start.",
     .good = vm_with<R"({"runStrategy":"RerunOnFailure","template":{"spec":{"domain":{"devices":{},
       "memory":{"guest":"1Gi"}}}}})">,
     .bad = vm_with<R"({"runStrategy":"Once","template":{"spec":{"domain":{"devices":{},
       "memory":{"guest":"1Gi"}}}}})">,
     .look = look_at_once},
    {.id = "WISE-16",
     .title = "A VM should not start paused for good",
     .field = "spec.template.spec.startStrategy",
     .why = "It is meant for looking at how a guest boots. Every restart, also one after a node failed, waits for "
            "somebody again.",
     .advice = "Leave it out when you are done.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"startStrategy":"Paused","domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .look = look_at_paused_start},
    {.id = "WISE-17",
     .title = "A VM with a liveness probe should be started again",
     .field = "spec.template.spec.livenessProbe",
     .why = "A probe that fails ends the guest. With the run strategies Manual and Once it stays ended.",
     .advice = "Use runStrategy Always or RerunOnFailure, or a readiness probe, which ends nothing.",
     .good = vm_with<R"({"runStrategy":"Always","template":{"spec":{"livenessProbe":{"initialDelaySeconds":180,
       "tcpSocket":{"port":22}},"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}})">,
     .bad = vm_with<R"({"runStrategy":"Manual","template":{"spec":{"livenessProbe":{"initialDelaySeconds":180,
       "tcpSocket":{"port":22}},"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}})">,
     .look = look_at_liveness},
    {.id = "WISE-18",
     .title = "A liveness probe should wait until the guest has booted",
     .field = "spec.template.spec.livenessProbe.initialDelaySeconds",
     .why = "Guests boot in minutes, not in seconds as containers do. One that is asked too early is ended, started "
            "again and asked too early again.",
     .advice = "Set initialDelaySeconds to more than the guest ever took to boot.",
     .good = vm_of<R"({"livenessProbe":{"initialDelaySeconds":180,"tcpSocket":{"port":22}},
       "domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"livenessProbe":{"tcpSocket":{"port":22}},"domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .look = look_at_probe_delays},
});

}  // namespace

std::span<const Warning> running_warnings() { return running_table; }

}  // namespace vg::offline
