#include "simulated/ending.h"

#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "guests/ending.h"
#include "simulated/waiting.h"

namespace vg::simulated {
namespace {

using controllers::EventType;
using controllers::vmi::Draft;
using std::chrono::seconds;

std::int64_t grace_of(const Draft& guest) {
  return guests::grace_of(guest.stored).value_or(guests::usual_grace_seconds);
}

void tell_end(Draft& guest, End how) {
  guest.tell(EventType::normal, "Deleted",
             how == End::killed ? "VirtualMachineInstance stopping" : "Signaled Deletion");  // STP-07, STP-08
  guests::tell_stopped(guest);
}

}  // namespace

std::string_view phase_after(End end, bool has_acpi, std::int64_t grace_seconds) {
  switch (end) {
    case End::never_booted:  // VMI-F02, VMI-F04
    case End::crashed:       // VMI-F20
      return "Failed";
    case End::killed:  // VMI-F21, VMI-F23
      return has_acpi && grace_seconds != 0 ? "Failed" : "Succeeded";
    case End::powered_off:  // VMI-F24
      break;
  }
  return "Succeeded";
}

void end(Draft& guest, End how) {
  guest.set_phase(phase_after(how, guests::has_acpi(guest.stored), grace_of(guest)));
  controllers::drop_condition(guest.status(), "AgentConnected");
  controllers::drop_condition(guest.status(), "Paused");
  tell_end(guest, how);
}

void stop(Draft& guest, const Settings& settings) {
  if (guest.phase_read() == "Scheduled") return end(guest, End::never_booted);
  const seconds grace(grace_of(guest));
  if (grace == seconds::zero()) return end(guest, End::killed);  // STP-01, STP-02
  guest.pass.events.push_back({.event = {.type = EventType::normal,
                                         .reason = "ShuttingDown",
                                         .message = "Signaled Graceful Shutdown",
                                         .once = true}});  // STP-03
  const bool is_paused = controllers::is_true(guest.read_status().object(), "Paused");
  const bool obeys =
      !settings.ignores_shutdown && !is_paused && guests::has_acpi(guest.stored) && settings.shutdown < grace;
  const milliseconds takes = obeys ? settings.shutdown : milliseconds(grace);
  const auto since = parse_rfc3339(controllers::metadata_text(guest.stored, "deletionTimestamp"));
  const milliseconds left = left_of(guest.turn, since ? since->seconds : 0, takes);
  if (left > milliseconds::zero()) return guest.pass.look_again(left);
  end(guest, obeys ? End::powered_off : End::killed);  // STP-04, STP-20
}

}  // namespace vg::simulated
