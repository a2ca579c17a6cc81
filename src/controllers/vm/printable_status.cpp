#include "controllers/vm/printable_status.h"

#include <algorithm>
#include <array>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

string_view strategy_of(const Shown& shown) { return run_strategy(shown.vm).value_or(""); }
string_view phase(const Shown& shown) { return shown.vmi ? phase_of(*shown.vmi) : string_view(); }
const Object* vmi_status(const Shown& shown) { return shown.vmi ? status_of(*shown.vmi) : nullptr; }

bool not_synchronized(const Shown& shown, string_view reason) {
  return is_false(vmi_status(shown), "Synchronized") && condition_reason(vmi_status(shown), "Synchronized") == reason;
}

bool any_volume(const Shown& shown, auto&& holds) {
  const Array* volumes = volumes_of(template_spec_of(shown.vm));
  return volumes && std::ranges::any_of(*volumes, [&](const Value& value) {
           const Object* volume = value.if_object();
           return volume && holds(*volume);
         });
}

// A volume of the template whose DataVolume is there and as `holds` wants its status.
bool any_data_volume(const Shown& shown, auto&& holds) {
  return any_volume(shown, [&](const Object& volume) {
    const Object* source = json::get_object(volume, "dataVolume");
    if (!source) return false;
    const Object* there =
        shown.world.get(kinds::data_volume, metadata_text(shown.vm, "namespace"), json::get_string_or(*source, "name"));
    return there && holds(status_of(*there));
  });
}

string_view phase_in(const Object* status) { return status ? json::get_string_or(*status, "phase") : string_view(); }

bool data_volume_failed(const Object* status) {
  if (phase_in(status) == "Failed") return true;
  const string_view reason = condition_reason(status, "Running");
  return is_false(status, "Running") && (reason == "Error" || reason == "ImagePullFailed");
}

bool data_volume_is_filled(const Object* status) {
  const string_view at = phase_in(status);
  if (at == "Succeeded" || at == "PendingPopulation") return false;
  return is_true(status, "Bound") || at != "WaitForFirstConsumer";
}

// "Wanted": by its run strategy the VM should have a VMI.
bool is_wanted(const Shown& shown) {
  const string_view strategy = strategy_of(shown);
  const bool has_vmi = shown.vmi != nullptr;
  if (strategy == "Always") return true;
  if (strategy == "Manual")
    return has_vmi ? !wants_stop(&shown.status, metadata_text(*shown.vmi, "uid")) : wants_start(&shown.status);
  if (strategy == "RerunOnFailure") return !has_vmi || phase(shown) != "Succeeded";
  return strategy == "Once" && !has_vmi;
}

bool waits_for_claim(const Shown& shown) {
  return is_wanted(shown) && any_volume(shown, [&](const Object& volume) {
           const string_view claim = claim_name(volume);
           if (claim.empty()) return false;
           const Object* there = shown.world.get(kinds::claim, metadata_text(shown.vm, "namespace"), claim);
           return there && phase_in(status_of(*there)) != "Bound";
         });
}

bool is_starting(const Shown& shown) {
  const string_view at = phase(shown);
  return shown.vmi && (at.empty() || at == "Pending" || at == "Scheduling" || at == "Scheduled");
}

bool is_down(const Shown& shown) { return !shown.vmi || is_final(*shown.vmi); }

bool is_crash_looping(const Shown& shown) {
  const string_view strategy = strategy_of(shown);
  const Object* failure = at(&shown.status, {"startFailure"});
  return is_down(shown) && failure && json::get_int_or(*failure, "consecutiveFailCount", 0) > 0 &&
         (strategy == "Always" || strategy == "RerunOnFailure" || strategy == "Once");
}

struct Row {
  string_view id, value;
  bool (*applies)(const Shown& shown);
};

constexpr auto rows = std::to_array<Row>({
    {"VMC-150", "Terminating", [](const Shown& s) { return is_being_deleted(s.vm); }},
    {"VMC-151", "Stopping", [](const Shown& s) { return s.vmi && !is_final(*s.vmi) && is_being_deleted(*s.vmi); }},
    {"VMC-152", "Migrating", [](const Shown& s) { return s.vmi && is_migrating(*s.vmi, s.now); }},
    {"VMC-153", "Paused", [](const Shown& s) { return phase(s) == "Running" && is_true(vmi_status(s), "Paused"); }},
    {"VMC-154", "Running", [](const Shown& s) { return phase(s) == "Running"; }},
    {"VMC-155", "ErrorPvcNotFound", [](const Shown& s) { return not_synchronized(s, "FailedPvcNotFound"); }},
    {"VMC-156", "DataVolumeError", [](const Shown& s) { return any_data_volume(s, data_volume_failed); }},
    {"VMC-157", "ErrorUnschedulable",
     [](const Shown& s) {
       return is_false(vmi_status(s), "PodScheduled") &&
              condition_reason(vmi_status(s), "PodScheduled") == "Unschedulable";
     }},
    {"VMC-158", "Provisioning", [](const Shown& s) { return any_data_volume(s, data_volume_is_filled); }},
    {"VMC-159", "WaitingForVolumeBinding", waits_for_claim},
    {"VMC-160", "ErrImagePull", [](const Shown& s) { return not_synchronized(s, "ErrImagePull"); }},
    {"VMC-161", "ImagePullBackOff", [](const Shown& s) { return not_synchronized(s, "ImagePullBackOff"); }},
    {"VMC-162", "Starting", is_starting},
    {"VMC-163", "CrashLoopBackOff", is_crash_looping},
    {"VMC-164", "Stopped", is_down},
    {"VMC-165", "WaitingForReceiver",
     [](const Shown& s) { return strategy_of(s) == "WaitAsReceiver" && phase(s) == "WaitingForSync"; }},
});

}  // namespace

string_view printable_status(const Shown& shown) {
  for (const Row& row : rows)
    if (row.applies(shown)) return row.value;
  return "Unknown";  // VMC-166
}

}  // namespace vg::controllers::vm
