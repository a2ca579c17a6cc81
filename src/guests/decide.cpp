#include "guests/decide.h"

#include <algorithm>

#include "base/duration.h"
#include "base/node_limits.h"
#include "controllers/common/owners.h"
#include "guests/ending.h"
#include "guests/moving.h"
#include "json/access.h"

namespace vg::guests {
namespace {

using hypervisor::State;
using std::string_view;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr string_view node_label = "kubevirt.io/nodeName";

bool is_of_another(const Case& one) {
  return one.vmi && one.facts && !one.facts->uid.empty() &&
         one.facts->uid != controllers::metadata_text(*one.vmi, "uid");
}

bool is_placed_here(const Case& one) {
  const json::Object* status = json::get_object(*one.vmi, "status");
  return controllers::label_of(*one.vmi, node_label) == one.node ||
         (status && json::get_string_or(*status, "nodeName") == one.node);
}

// --- ending ----------------------------------------------------------------------------------------------------------

seconds grace_left(const Case& one) {
  const auto own = one.vmi ? grace_of(*one.vmi) : std::nullopt;
  return bounded_seconds(own.value_or(one.remembered.grace_seconds));
}

Decision end(const Case& one) {
  if (!one.domain_is_alive()) return {.action = Action::remove, .rule = "STP-08"};
  // A guest that has not arrived, or has gone, cannot hear that it should end.
  if (!one.vmi && !is_active(*one.domain)) return {.action = Action::kill, .rule = "VMI-D02"};
  if (one.remembered.grace_seconds == 0) return {.action = Action::kill, .rule = "STP-01"};
  const seconds grace = grace_left(one);
  if (grace == seconds::zero()) return {.action = Action::kill, .rule = "STP-02"};
  constexpr seconds tick{5};
  if (!one.remembered.shutdown_since)
    return {.action = Action::shut_down, .rule = "STP-03", .again = std::min(tick, grace)};
  const auto left = grace - (one.steady - *one.remembered.shutdown_since);
  if (left <= left.zero()) return {.action = Action::kill, .rule = "STP-04", .again = limits::guest_kill_extra};
  if (one.domain->state == State::shutting_down)
    return {.action = Action::await_end, .rule = "STP-06", .again = std::chrono::ceil<milliseconds>(left)};
  const milliseconds wait = std::min<milliseconds>(tick, std::chrono::ceil<milliseconds>(left));
  return {.action = Action::shut_down, .rule = "STP-05", .again = std::max<milliseconds>(wait, seconds(1))};
}

Decision named(Decision decision, string_view rule) {
  decision.rule = rule;
  return decision;
}

// --- spec vmi-lifecycle 3.1 ------------------------------------------------------------------------------------------

std::optional<Decision> gate(const Case& one, bool is_connected) {
  if (!is_connected) return Decision{.rule = "VMI-H07"};
  if (is_of_another(one)) {
    // The VMI that it belonged to is gone, so it ends like one without a VMI, and this one waits.
    Decision decision =
        end({.domain = one.domain, .facts = one.facts, .remembered = one.remembered, .steady = one.steady});
    decision.is_of_another = true;
    if (!decision.again) decision.again = limits::guest_look_again;
    return named(decision, "VMI-H01");
  }
  if (one.domain && one.domain->state == State::shutoff && one.domain->reason == "Migrated")
    return Decision{.action = Action::remove, .rule = "VMI-H02", .is_of_another = true};
  if (one.vmi && !one.is_deleting() && !one.is_final() && is_migrating(one)) return Decision{.rule = "VMI-H04"};
  if (one.vmi && !is_placed_here(one)) return Decision{.rule = "VMI-H05"};
  return std::nullopt;
}

// --- spec vmi-lifecycle 3.3 ------------------------------------------------------------------------------------------

struct Row {
  string_view id;
  bool (*applies)(const Case& one);
  Decision (*act)(const Case& one);
};

Decision remove(const Case& /*one*/) { return {.action = Action::remove}; }

constexpr Row rows[] = {
    {"VMI-D01", [](const Case& one) { return one.remembered.stop_wanted && one.phase() == "Running"; }, end},
    {"VMI-D02", [](const Case& one) { return one.vmi == nullptr; }, end},
    {"VMI-D03", [](const Case& one) { return one.is_deleting() && !one.is_final(); }, end},
    {"VMI-D04", [](const Case& one) { return one.is_paused("PostcopyFailed"); },
     [](const Case&) { return Decision{.action = Action::kill}; }},
    // What is over and was killed by nobody yet: a node that was away while it was made so.
    {"VMI-D05", [](const Case& one) { return one.is_final() && one.domain_is_alive(); },
     [](const Case&) { return Decision{.action = Action::kill}; }},
    {"VMI-D05", [](const Case& one) { return one.is_final(); }, remove},
    {"VMI-D06", [](const Case& one) { return one.domain && !one.domain_is_alive(); }, remove},
    {"VMI-D07", [](const Case& one) { return phase_of(one) == one.phase(); },
     [](const Case&) { return Decision{.action = Action::synchronise}; }},
    {"VMI-H08", [](const Case&) { return true; }, [](const Case&) { return Decision{.action = Action::only_report}; }},
};

// --- spec vmi-lifecycle 3.5 ------------------------------------------------------------------------------------------

string_view phase_without_domain(const Case& one) {
  const string_view phase = one.phase();
  if (phase == "Running") return "Failed";                         // VMI-F04
  if (phase == "Scheduled" && one.is_deleting()) return "Failed";  // VMI-F02: nobody will start it any more
  return one.is_final() ? phase : "Scheduled";                     // VMI-F03
}

bool failed_in_postcopy(const Case& one) {
  const json::Object* status = one.vmi ? json::get_object(*one.vmi, "status") : nullptr;
  const json::Object* state = status ? json::get_object(*status, "migrationState") : nullptr;
  return state && json::get_bool_or(*state, "failed", false) && json::get_string_or(*state, "mode") == "PostCopy";
}

// VMI-F21 to VMI-F23
string_view phase_after_kill(const Case& one) {
  const std::int64_t grace = grace_of(*one.vmi).value_or(usual_grace_seconds);
  const bool acpi = one.facts ? one.facts->acpi : has_acpi(*one.vmi);
  return (acpi && grace != 0) || failed_in_postcopy(one) ? "Failed" : "Succeeded";
}

string_view phase_when_off(const Case& one) {
  const string_view reason = one.domain->reason;
  if (reason == "Crashed" || reason == "Panicked") return "Failed";  // VMI-F20
  if (one.domain->state == State::crashed) return one.phase();       // VMI-F26
  if (reason == "Destroyed") return phase_after_kill(one);
  if (reason == "Shutdown" || reason == "Saved" || reason == "FromSnapshot") return "Succeeded";  // VMI-F24
  return one.phase();                                                                             // VMI-F25, VMI-F26
}

}  // namespace

string_view phase_of(const Case& one) {
  if (!one.vmi || one.is_final()) return one.phase();
  if (!one.domain) return phase_without_domain(one);
  switch (one.domain->state) {
    case State::running:
    case State::blocked:
    case State::suspended:
      return "Running";  // VMI-F10
    case State::paused:
      return one.domain->reason == "PostcopyFailed" ? "Failed" : "Running";  // VMI-F11, VMI-F12
    case State::shutoff:
    case State::crashed:
      return phase_when_off(one);
    case State::none:
    case State::shutting_down:
      break;
  }
  return one.phase();  // VMI-F26
}

Decision decide(const Case& one, bool is_connected) {
  if (auto decided = gate(one, is_connected)) return *decided;
  const auto* row = std::ranges::find_if(rows, [&](const Row& each) { return each.applies(one); });
  Decision decision = row->act(one);
  if (decision.rule.empty()) decision.rule = row->id;
  return decision;
}

milliseconds orphan_patience(const Case& one, bool is_gone) {
  if (is_gone) return milliseconds::zero();
  return is_active(*one.domain) ? limits::guest_orphan_running : limits::guest_orphan_incoming;
}

std::optional<milliseconds> io_error_wait(IoRetry& retry, Steady now) {
  if (retry.next && now < *retry.next) return std::chrono::ceil<milliseconds>(*retry.next - now);
  if (retry.next && now - *retry.next <= limits::io_error_window) {
    retry = {.last = now, .next = {}, .interval = std::min(retry.interval * 2, limits::io_error_interval_max)};
    return std::nullopt;
  }
  if (!retry.last || retry.next || now - *retry.last > limits::io_error_window) {
    retry = {.last = now, .next = {}, .interval = limits::io_error_interval_min};
    return std::nullopt;
  }
  retry.next = *retry.last + retry.interval;
  return std::max(std::chrono::ceil<milliseconds>(*retry.next - now), milliseconds(1));
}

}  // namespace vg::guests
