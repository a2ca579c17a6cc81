#include "guests/case.h"

#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::guests {

using hypervisor::State;

bool Case::domain_is_alive() const {
  return domain && domain->state != State::shutoff && domain->state != State::crashed && domain->state != State::none;
}

bool Case::is_paused(std::string_view reason) const {
  return domain && domain->state == State::paused && domain->reason == reason;
}

bool Case::is_deleting() const { return vmi && controllers::is_being_deleted(*vmi); }

std::string_view Case::phase() const {
  const json::Object* status = vmi ? json::get_object(*vmi, "status") : nullptr;
  return status ? json::get_string_or(*status, "phase") : std::string_view();
}

bool Case::is_final() const { return phase() == "Succeeded" || phase() == "Failed"; }

bool is_migrating(const Case& one) {
  for (const std::string_view reason : {"Migration", "StartingUp", "Postcopy"})
    if (one.is_paused(reason)) return true;
  const json::Object* status = one.vmi ? json::get_object(*one.vmi, "status") : nullptr;
  const json::Object* state = status ? json::get_object(*status, "migrationState") : nullptr;
  return state && !json::get_string_or(*state, "startTimestamp").empty() &&
         json::get_string_or(*state, "endTimestamp").empty();
}

}  // namespace vg::guests
