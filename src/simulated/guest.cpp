#include "simulated/guest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/vmi/draft.h"
#include "guests/live_migratable.h"
#include "json/access.h"
#include "simulated/ending.h"
#include "simulated/made_up.h"
#include "simulated/moving.h"
#include "simulated/settings.h"
#include "simulated/volumes.h"
#include "simulated/waiting.h"

namespace vg::simulated {

std::int64_t entered_at(const json::Object& vmi, std::string_view phase) {
  const json::Object* status = json::get_object(vmi, "status");
  const json::Array* times = status ? json::get_array(*status, "phaseTransitionTimestamps") : nullptr;
  if (!times) return 0;
  for (const json::Value& entry : *times)
    if (json::get_string_or(entry, "phase") == phase)
      if (const auto time = parse_rfc3339(json::get_string_or(entry, "phaseTransitionTimestamp"))) return time->seconds;
  return 0;
}

namespace {

using controllers::EventType;
using controllers::Pass;
using controllers::Turn;
using controllers::vmi::Draft;
using json::Object;
using std::string_view;

constexpr std::chrono::seconds io_error_pause{10};

struct Guest {
  Draft draft;
  const controllers::NodeInfo& node;
  Settings settings;
};

bool holds(const Guest& guest, string_view condition) {
  return controllers::is_true(guest.draft.read_status().object(), condition);
}

const json::Value* in_spec(const Guest& guest, std::initializer_list<string_view> path) {
  const json::Value* spec = json::find(guest.draft.stored, "spec");
  return spec ? json::find_path(*spec, path) : nullptr;
}

// --- what is shown of a guest that runs ------------------------------------------------------------------------------

void show_interfaces(Guest& guest) {
  Object& status = guest.draft.status();
  json::Array shown = interfaces_of(guest.draft.stored, json::get_array(status, "interfaces"),
                                    {.guest_agent = holds(guest, "AgentConnected")}, guest.draft.storage());
  if (!shown.empty()) status["interfaces"] = std::move(shown);
}

void connect_agent(Guest& guest) {
  const std::string now = guest.draft.now();
  Object& status = guest.draft.status();
  controllers::set_condition(status, {.type = "AgentConnected", .status = "True", .last_probe = now});
  status["guestOSInfo"] = guest_os(guest.draft.storage());
}

// --- begin -----------------------------------------------------------------------------------------------------------

void pause_at_start(Guest& guest) {
  if (json::as_string(in_spec(guest, {"startStrategy"})) != "Paused") return;
  const std::string now = guest.draft.now();
  controllers::set_condition(guest.draft.status(), {.type = "Paused",
                                                    .status = "True",
                                                    .reason = "PausedByUser",
                                                    .message = "VMI was paused by user",
                                                    .last_probe = now,
                                                    .last_transition = now});
}

// RDY-04, as the VMI controller judges it afterwards: one write less for each guest that starts.
void show_ready(Guest& guest) {
  if (holds(guest, "Paused")) return;
  const std::string now = guest.draft.now();
  controllers::set_condition(guest.draft.status(),
                             {.type = "Ready", .status = "True", .last_probe = now, .last_transition = now});
}

void run(Guest& guest) {
  Draft& draft = guest.draft;
  Object& status = draft.status();
  draft.set_phase("Running");
  const string_view machine = json::as_string(in_spec(guest, {"domain", "machine", "type"})).value_or("");
  json::ensure_object(status, "machine")["type"] = machine.empty() ? "q35" : machine;
  if (const json::Value* memory = in_spec(guest, {"domain", "memory", "guest"}))
    json::ensure_object(status, "memory")["guestCurrent"] = *memory;
  status["selinuxContext"] = "none";
  pause_at_start(guest);
  update_volumes(draft);
  show_ready(guest);
  const bool has_agent = !guest.settings.no_agent && guest.settings.agent == milliseconds::zero();
  if (has_agent && !holds(guest, "Paused")) connect_agent(guest);
  show_interfaces(guest);
  guests::show_migratable(guest.draft, guest.node);
  draft.pass.settled = (has_agent || guest.settings.no_agent) && !guest.settings.crash && !guest.settings.poweroff;
  draft.tell(EventType::normal, "Created", "VirtualMachineInstance defined.");
  draft.tell(EventType::normal, "Started", "VirtualMachineInstance started.");
}

void boot(Guest& guest) {
  const milliseconds left = left_of(guest.draft.turn, entered_at(guest.draft.stored, "Scheduled"), guest.settings.boot);
  if (left > milliseconds::zero()) return guest.draft.pass.look_again(left);
  if (guest.settings.boot_fails) return end(guest.draft, End::never_booted);
  run(guest);
}

// --- on demand -------------------------------------------------------------------------------------------------------

void panic(Guest& guest) {  // STP-23
  guest.draft.tell(EventType::warning, "GuestPanicked", "the simulated guest was told to panic");
  end(guest.draft, End::crashed);
}

void reboot(Guest& guest) {
  if (json::as_string(in_spec(guest, {"domain", "rebootPolicy"})) == "Terminate")  // STP-22
    return end(guest.draft, End::powered_off);
  controllers::drop_condition(guest.draft.status(), "AgentConnected");  // STP-21
  show_interfaces(guest);
}

void break_disk(Guest& guest) {
  const std::string now = guest.draft.now();
  controllers::set_condition(guest.draft.status(), {.type = "Paused",
                                                    .status = "True",
                                                    .reason = "PausedIOError",
                                                    .message = "VMI was paused, low-level IO error detected",
                                                    .last_probe = now,
                                                    .last_transition = now});
  guest.draft.tell(EventType::warning, "IOerror", "a disk of the simulated guest was told to fail");
}

void migrate(Guest& guest) {
  const json::StoragePtr& storage = guest.draft.turn.storage;
  guest.draft.pass.add(
      {.verb = controllers::Verb::create,
       .resource = controllers::kinds::migration,
       .ns = guest.draft.turn.key.ns,
       .name = {},
       .identity = controllers::Identity::own(),
       .document = json::Value(
           {{"apiVersion", "kubevirt.io/v1"},
            {"kind", "VirtualMachineInstanceMigration"},
            {"metadata", {{"generateName", "simulated-migration-"}, {"namespace", guest.draft.turn.key.ns}}},
            {"spec", {{"vmiName", guest.draft.turn.key.name}}}},
           storage),
       .soft_reason = "FailedCreate"});
}

struct Order {
  string_view word;
  void (*carry_out)(Guest& guest);
};
constexpr Order orders[] = {
    {"crash", [](Guest& guest) { end(guest.draft, End::crashed); }},         // STP-24
    {"poweroff", [](Guest& guest) { end(guest.draft, End::powered_off); }},  // STP-20
    {"panic", panic},
    {"reboot", reboot},
    {"io-error", break_disk},
    {"migrate", migrate},
};

bool is_ordered(const Guest& guest) {
  return !controllers::annotation_of(guest.draft.stored, order_annotation).empty();
}

void follow_order(Guest& guest) {
  const std::string word(controllers::annotation_of(guest.draft.stored, order_annotation));
  json::erase(json::ensure_object(guest.draft.metadata(), "annotations"), order_annotation);
  const auto* order = std::ranges::find(orders, word, &Order::word);
  if (order != std::end(orders)) return order->carry_out(guest);
  guest.draft.tell(EventType::warning, "UnknownOrder",
                   "the annotation simulated.virtgate.io/do must be one of crash, poweroff, panic, reboot, io-error, "
                   "migrate");
}

// --- what time brings ------------------------------------------------------------------------------------------------

// True when it is over; else the pass looks again.
bool is_over(Guest& guest, std::int64_t since, milliseconds time) {
  const milliseconds left = left_by_clock(guest.draft.turn, since, time);
  if (left > milliseconds::zero()) guest.draft.pass.look_again(left);
  return left == milliseconds::zero();
}

bool ends_by_itself(Guest& guest) {
  const std::int64_t since = entered_at(guest.draft.stored, "Running");
  const std::pair<std::optional<milliseconds>, End> ways[] = {{guest.settings.crash, End::crashed},
                                                              {guest.settings.poweroff, End::powered_off}};
  for (const auto& [time, how] : ways) {
    if (!time || !is_over(guest, since, *time)) continue;
    end(guest.draft, how);
    return true;
  }
  return false;
}

void resume_after_io_error(Guest& guest) {
  const Object* paused = controllers::find_condition(guest.draft.read_status().object(), "Paused");
  if (!paused || json::get_string_or(*paused, "reason") != "PausedIOError") return;
  const auto since = parse_rfc3339(json::get_string_or(*paused, "lastTransitionTime"));
  if (is_over(guest, since ? since->seconds : 0, io_error_pause))
    controllers::drop_condition(guest.draft.status(), "Paused");
}

void thaw(Guest& guest) {  // STP-29
  const auto when = parse_rfc3339(controllers::annotation_of(guest.draft.stored, thaw_annotation));
  if (!when) return;
  const auto left = when->on_clock() - guest.draft.turn.now;
  if (left > left.zero()) return guest.draft.pass.look_again(std::chrono::ceil<milliseconds>(left));
  json::erase(guest.draft.status(), "fsFreezeStatus");
  json::erase(json::ensure_object(guest.draft.metadata(), "annotations"), thaw_annotation);
}

void wait_for_agent(Guest& guest) {
  if (guest.settings.no_agent || holds(guest, "AgentConnected") || holds(guest, "Paused")) return;
  if (is_over(guest, entered_at(guest.draft.stored, "Running"), guest.settings.agent)) connect_agent(guest);
}

void keep_up(Guest& guest) {
  if (ends_by_itself(guest)) return;
  resume_after_io_error(guest);
  thaw(guest);
  wait_for_agent(guest);
  update_volumes(guest.draft);
  show_interfaces(guest);
  guests::show_migratable(guest.draft, guest.node);
}

// --- a pass ----------------------------------------------------------------------------------------------------------

struct Duty {
  string_view id;
  bool (*applies)(const Guest& guest);
  void (*act)(Guest& guest);
};
constexpr Duty duties[] = {
    {"VMI-D03", [](const Guest& guest) { return guest.draft.is_deleting(); },
     [](Guest& guest) { stop(guest.draft, guest.settings); }},
    {"VMI-F01", [](const Guest& guest) { return guest.draft.phase_read() == "Scheduled"; }, boot},
    {"STP-20", is_ordered, follow_order},
    {"VMI-H04", [](const Guest& guest) { return is_moving(guest.draft); },
     [](Guest& guest) { move(guest.draft, guest.settings); }},
    // VMI-F10, VMI-F12: it runs, paused or not.
    {"VMI-D07", [](const Guest&) { return true; }, keep_up},
};

// What is told is told once the VMI says so too.
Pass written(Guest& guest) {
  std::vector<controllers::Told> told = std::exchange(guest.draft.pass.events, {});
  Pass pass = guest.draft.take();
  pass.host = guest.node.name;
  const auto write = std::ranges::find(pass.effects, controllers::Verb::update, &controllers::Effect::verb);
  if (write == pass.effects.end()) {
    pass.events = std::move(told);
    return pass;
  }
  write->account = controllers::Account::handler;
  write->also_told = std::move(told);
  std::rotate(pass.effects.begin(), write, std::next(write));
  return pass;
}

// VMI-H08
Pass sync_guest(const Turn& turn) {
  const Object* stored = turn.world.get(controllers::kinds::vmi, turn.key.ns, turn.key.name);
  const Object* status = stored ? json::get_object(*stored, "status") : nullptr;
  if (!status) return {};
  const string_view phase = json::get_string_or(*status, "phase");
  if (phase != "Scheduled" && phase != "Running") return {};  // VMI-D05: what is over stays so
  const controllers::NodeInfo* node = turn.world.nodes().find(json::get_string_or(*status, "nodeName"));
  if (!is_simulated(node)) return {};  // VMI-H05
  Guest guest{.draft = Draft(turn, *stored), .node = *node, .settings = settings_of(*stored, *node)};
  if (guest.settings.silent) return {};
  const auto* duty = std::ranges::find_if(duties, [&](const Duty& one) { return one.applies(guest); });
  duty->act(guest);
  return written(guest);
}

// A node that was silent goes on where it was.
std::vector<controllers::Key> of_node(const controllers::Change& change, const controllers::World& world) {
  const auto silent = [](const Object* node) { return node && is_silent(controllers::NodeInfo::read(*node)); };
  if (!silent(change.before) || silent(change.after)) return {};
  std::vector<controllers::Key> keys;
  for (const controllers::Placed* placed : world.nodes().on(controllers::metadata_text(change.object(), "name")))
    keys.push_back({.ns = placed->ns, .name = placed->vmi});
  return keys;
}

constexpr controllers::Trigger triggers[] = {{.resource = controllers::kinds::node, .keys = of_node}};

}  // namespace

controllers::Controller guest_controller() {
  return {.name = "simulated-guest",
          .resource = controllers::kinds::vmi,
          .component = "virt-handler",
          .triggers = triggers,
          .sync = sync_guest};
}

}  // namespace vg::simulated
