#include "guests/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "controllers/common/conditions.h"
#include "guests/decide.h"
#include "guests/ending.h"
#include "guests/live_migratable.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::guests {
namespace {

using controllers::EventType;
using controllers::vmi::Draft;
using json::Object;
using std::string_view;

constexpr string_view synchronized = "Synchronized";
// As upstream has it (spec vmi-lifecycle 6.2).
constexpr string_view not_synchronized = "Synchronizing with the Domain failed.";

// --- what the guest has ----------------------------------------------------------------------------------------------

void show_machine(Draft& draft, const DomainFacts& facts) {
  Object& status = draft.status();
  if (!facts.machine.empty()) json::ensure_object(status, "machine")["type"] = facts.machine;
  if (facts.memory_bytes > 0 && facts.memory_bytes <= INT64_MAX)
    json::ensure_object(status, "memory")["guestCurrent"] =
        Quantity::from_int(static_cast<std::int64_t>(facts.memory_bytes), Quantity::Format::binary_si).canonical();
}

// spec vmi-lifecycle Q5
void show_os(Draft& draft, const AgentFacts& agent) {
  Object os(draft.storage());
  for (const auto& [name, value] : agent.os)
    if (!value.empty()) os[name] = value;
  if (json::get_string_or(os, "name").empty()) return;
  Object& status = draft.status();
  const Object* shown = json::get_object(status, "guestOSInfo");
  if (!shown || json::get_string_or(*shown, "name") != json::get_string_or(os, "name"))
    status["guestOSInfo"] = std::move(os);
}

void show_freeze(Draft& draft, const AgentFacts& agent) {
  if (!agent.freeze_status) return;
  if (*agent.freeze_status == "thawed")
    json::erase(draft.status(), "fsFreezeStatus");
  else
    draft.status()["fsFreezeStatus"] = *agent.freeze_status;
}

void show_interfaces(Draft& draft, const Case& one, const AgentFacts* agent) {
  json::Array shown = interfaces_of(draft.object(), *one.facts, agent, one.remembered.address, draft.storage());
  Object& status = draft.status();
  if (!shown.empty())
    status["interfaces"] = std::move(shown);
  else
    json::erase(status, "interfaces");
}

// --- conditions ------------------------------------------------------------------------------------------------------

struct PauseRow {
  string_view reason, condition, message;
};
// The second one's reason is told for each disk.
constexpr std::array pauses = std::to_array<PauseRow>({
    {"User", "PausedByUser", "VMI was paused by user"},
    {"IOError", "PausedIOError", "VMI was paused, low-level IO error detected"},
});

void tell_disk_failures(Draft& draft, const std::vector<DiskFailure>& failures) {
  const auto tell = [&](const DiskFailure& one) {
    draft.tell(
        EventType::warning, "IOerror",
        fmt::format("VM paused due to IO error at the volume {}: {}", one.volume.empty() ? "(not known)" : one.volume,
                    one.no_space ? "no space is left" : "not specified"));
  };
  for (const DiskFailure& one : failures) tell(one);
  if (failures.empty()) tell({});
}

void show_paused(Draft& draft, const Case& one, const Seen& seen) {
  const bool paused = one.domain && one.domain->state == hypervisor::State::paused;
  if (!paused) {
    if (controllers::find_condition(draft.read_status().object(), "Paused"))
      controllers::drop_condition(draft.status(), "Paused");
    return;
  }
  if (controllers::find_condition(draft.read_status().object(), "Paused")) return;
  // A libvirtd that was killed while it paused a guest does not know why it is paused.
  const bool by_user = one.domain->reason == "Unknown" && one.remembered.paused_by_user;
  const auto* row = std::ranges::find(pauses, by_user ? "User" : string_view(one.domain->reason), &PauseRow::reason);
  if (row == pauses.end()) return;
  const std::string now = draft.now();
  controllers::set_condition(draft.status(), {.type = "Paused",
                                              .status = "True",
                                              .reason = row->condition,
                                              .message = row->message,
                                              .last_probe = now,
                                              .last_transition = now});
  if (row->reason == "IOError") tell_disk_failures(draft, seen.disk_failures);
}

// RUN-GA-12
void show_agent(Draft& draft, bool is_connected, const AgentFacts* agent) {
  if (!is_connected) {
    if (controllers::find_condition(draft.read_status().object(), "AgentConnected"))
      controllers::drop_condition(draft.status(), "AgentConnected");
    return;
  }
  const std::string now = draft.now();
  controllers::set_condition(draft.status(), {.type = "AgentConnected", .status = "True", .last_probe = now});
  if (!agent || !agent->version) return;  // spec vmi-lifecycle Q6
  const std::string missing = missing_agent_commands(*agent);
  if (!missing.empty())
    controllers::set_condition(
        draft.status(), {.type = "AgentVersionNotSupported", .status = "True", .reason = missing, .last_probe = now});
  else if (controllers::find_condition(draft.read_status().object(), "AgentVersionNotSupported"))
    controllers::drop_condition(draft.status(), "AgentVersionNotSupported");
}

// RUN-ACC-06
void show_credentials(Draft& draft, const std::optional<CredentialResult>& result) {
  constexpr string_view type = "AccessCredentialsSynchronized";
  if (!result) return;
  const string_view status = result->succeeded ? "True" : "False";
  const Object* shown = controllers::find_condition(draft.read_status().object(), type);
  if (shown && json::get_string_or(*shown, "status") == status &&
      json::get_string_or(*shown, "message") == result->message)
    return;
  const std::string now = draft.now();
  controllers::drop_condition(draft.status(), type);
  controllers::set_condition(
      draft.status(),
      {.type = type, .status = status, .message = result->message, .last_probe = now, .last_transition = now});
  if (result->succeeded)
    draft.tell(EventType::normal, "AccessCredentialsSyncSuccess", "the access credentials are in the guest");
  else
    draft.tell(EventType::warning, "AccessCredentialsSyncFailed",
               fmt::format("the access credentials are not in the guest: {}", result->message));
}

void show_error(Draft& draft, const Seen& seen) {
  if (!seen.error) {
    if (controllers::find_condition(draft.read_status().object(), synchronized))
      controllers::drop_condition(draft.status(), synchronized);
    return;
  }
  const std::string now = draft.now();
  controllers::set_condition_and_message(draft.status(),
                                         {.type = synchronized,
                                          .status = "False",
                                          .reason = seen.error_reason.empty() ? not_synchronized : seen.error_reason,
                                          .message = *seen.error,
                                          .last_probe = now,
                                          .last_transition = now});
}

// --- phase -----------------------------------------------------------------------------------------------------------

void show_phase(Draft& draft, const Case& one, string_view phase) {
  if (phase == draft.phase()) return;
  draft.set_phase(phase);
  if (phase == "Running")
    draft.tell(EventType::normal, "Started", "VirtualMachineInstance started.");
  else if (phase == "Succeeded" || phase == "Failed")
    tell_stopped(draft, draft.is_deleting() && one.domain && one.domain->reason == "Destroyed");
}

// RDY-04, as the VMI controller judges it afterwards: one write less for each guest that starts.
void show_ready(Draft& draft) {
  const Object* status = draft.read_status().object();
  if (draft.phase() != "Running" || draft.phase_read() == "Running" || draft.is_deleting() ||
      controllers::is_true(status, "Paused"))
    return;
  const std::string now = draft.now();
  controllers::set_condition(draft.status(),
                             {.type = "Ready", .status = "True", .last_probe = now, .last_transition = now});
}

void show_guest(Draft& draft, const Case& one, const Seen& seen) {
  if (seen.agent) {
    show_os(draft, *seen.agent);
    show_freeze(draft, *seen.agent);
  }
  show_machine(draft, *one.facts);
  show_interfaces(draft, one, seen.agent);
}

}  // namespace

void report(Draft& draft, const Case& one, const Seen& seen) {
  const bool alive = one.domain_is_alive() && one.facts;
  draft.status()["selinuxContext"] = "none";
  if (seen.volumes) update_volumes(draft, seen.volumes);
  if (alive) show_guest(draft, one, seen);
  show_growth(draft, seen.grown, true);
  show_phase(draft, one, seen.is_hopeless ? "Failed" : phase_of(one));
  show_paused(draft, one, seen);
  if (alive) show_credentials(draft, seen.credentials);
  show_agent(draft, alive && (one.domain->agent_connected || one.facts->agent_connected), seen.agent);
  show_migratable(draft, seen.node, TpmState::stays);
  show_error(draft, seen);
  show_ready(draft);
}

std::string missing_agent_commands(const AgentFacts& agent) {
  static constexpr std::array required = std::to_array<string_view>(
      {"guest-ping", "guest-get-time", "guest-info", "guest-shutdown", "guest-network-get-interfaces",
       "guest-get-fsinfo", "guest-get-host-name", "guest-get-users", "guest-get-timezone", "guest-get-osinfo"});
  for (const string_view command : required)
    if (std::ranges::none_of(agent.commands, [&](const auto& one) { return one.first == command && one.second; }))
      return fmt::format("the guest agent does not support {}", command);
  return {};
}

}  // namespace vg::guests
