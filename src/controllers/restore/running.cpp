// A restore whose target runs (spec copies 4.3).
#include <array>

#include "base/controller_limits.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/copies/writing.h"
#include "controllers/restore/work.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::restore {
namespace {

void tell_not_ready(Work& work, std::string words) {
  work.show(false, words, false, words);
  work.pass.tell(EventType::warning, "RestoreTargetNotReady", std::move(words));
}

void wait_for_grace_period(Work& work) {
  const auto made = created(work.object);
  const Time end = made.value_or(work.turn.now) + limits::restore_grace;
  if (work.turn.now >= end) return fail(work, "Restore target was not ready within the grace period of 5m0s");
  tell_not_ready(work, "Restore target is running: stop it; the restore fails after 5m0s");
  look_again_at(work.pass, work.turn, end);  // RST-72
}

void wait_for_ever(Work& work) {
  tell_not_ready(work, "Restore target is running: the restore goes on when it is stopped");
}

void fail_at_once(Work& work) { fail(work, "Restore target must be powered off before the restore"); }

// What the action `stop` would do without options: the VM says how it is switched off.
void stop(Work& work) {
  const Object* spec = vm::spec_of(*work.vm);
  const auto strategy = vm::run_strategy(*work.vm);
  if (!spec || !strategy || *strategy == "Halted" || is_being_deleted(*work.vmi)) return;
  const json::StoragePtr& storage = work.storage();
  json::PatchBuilder patch(storage);
  if (*strategy == "Always" || *strategy == "Once") {
    const bool by_flag = json::get_bool(*spec, "running").has_value();
    const Value off = by_flag ? Value(false, storage) : Value("Halted", storage);
    const string_view member = by_flag ? "running" : "runStrategy";
    guarded_change(patch, patch_path("/spec", {member}), json::find(*spec, member), &off);
    return work.patch(kinds::vm, *work.vm, patch.take());
  }
  const string_view uid = metadata_text(*work.vmi, "uid");
  if (vm::first_request(vm::status_of(*work.vm))) return;  // one at a time
  const Value requests(Array({Value({{"action", "Stop"}, {"uid", uid}}, storage)}, storage));
  write_status_member(work.pass, work.turn, kinds::vm, *work.vm, "stateChangeRequests", &requests);
}

void stop_target(Work& work) {
  tell_not_ready(work, "Restore target is running: it is being stopped for the restore");
  stop(work);
}

struct Policy {
  string_view name;
  void (*act)(Work& work);
};
constexpr std::array<Policy, 4> policies{{{"WaitGracePeriod", wait_for_grace_period},
                                          {"WaitEventually", wait_for_ever},
                                          {"StopTarget", stop_target},
                                          {"FailImmediate", fail_at_once}}};

}  // namespace

void wait_for_stop(Work& work) {
  const string_view wanted = work.option("targetReadinessPolicy");
  for (const Policy& policy : policies)
    if (policy.name == wanted) return policy.act(work);
  wait_for_grace_period(work);
}

}  // namespace vg::controllers::restore
