#include "guests/ending.h"

#include <algorithm>

#include "base/duration.h"
#include "json/access.h"

namespace vg::guests {

using controllers::EventType;

std::optional<std::int64_t> grace_of(const json::Object& vmi) {
  const json::Object* spec = json::get_object(vmi, "spec");
  const auto grace = spec ? json::get_int(*spec, "terminationGracePeriodSeconds") : std::nullopt;
  return grace ? std::optional(bounded_seconds(std::max<std::int64_t>(*grace, 0)).count()) : std::nullopt;
}

bool has_acpi(const json::Object& vmi) {
  const json::Value* spec = json::find(vmi, "spec");
  const json::Value* enabled = spec ? json::find_path(*spec, {"domain", "features", "acpi", "enabled"}) : nullptr;
  return json::as_bool(enabled).value_or(true);
}

void tell_stopped(controllers::vmi::Draft& guest, bool was_killed) {
  if (guest.phase() == "Succeeded")
    guest.tell(EventType::normal, "Stopped", "The VirtualMachineInstance was shut down.");
  else if (was_killed)
    guest.tell(EventType::warning, "Stopped", "The VirtualMachineInstance was killed at the end of its grace period.");
  else
    guest.tell(EventType::warning, "Stopped", "The VirtualMachineInstance crashed.");
}

}  // namespace vg::guests
