#include "controllers/vm/run.h"

#include <algorithm>
#include <array>

#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

using std::chrono::seconds;

// What the rows of table 4.1 ask.
struct Case {
  const Object* vm_status;
  const Object* vmi;
  Time now;

  bool start_wanted() const { return wants_start(vm_status); }
  bool stop_wanted() const { return wants_stop(vm_status, metadata_text(*vmi, "uid")); }
  bool phase_is(string_view phase) const { return phase_of(*vmi) == phase; }
  bool backing_off() const { return back_off_left(vm_status, now) > seconds(0); }
  // It ran before with this strategy, so that it ended well, was stopped, or its VMI was deleted by somebody.
  bool had_its_run() const {
    return !start_wanted() && vm_status && json::get_string_or(*vm_status, "runStrategy") == "RerunOnFailure";
  }
};

enum class Has : std::uint8_t { vmi, live_vmi, none };  // live: not being deleted

struct Row {
  string_view id, strategy;
  Has has;
  bool (*applies)(const Case& involved);
  Run run;
};

bool always(const Case&) { return true; }

constexpr auto rows = std::to_array<Row>({
    {"VMC-32c", "Always", Has::vmi, [](const Case& c) { return c.stop_wanted() || is_final(*c.vmi); }, Run::stop},
    {"VMC-32d", "Always", Has::vmi, always, Run::nothing},
    {"VMC-32e", "Always", Has::none, [](const Case& c) { return c.backing_off(); }, Run::wait},
    {"VMC-32f", "Always", Has::none, always, Run::start},
    {"VMC-33a", "RerunOnFailure", Has::live_vmi, [](const Case& c) { return c.phase_is("Failed"); },
     Run::stop_and_start},
    {"VMC-33b", "RerunOnFailure", Has::live_vmi,
     [](const Case& c) { return c.stop_wanted() || c.phase_is("Succeeded"); }, Run::stop},
    {"VMC-33c", "RerunOnFailure", Has::vmi, always, Run::nothing},
    {"VMC-33d", "RerunOnFailure", Has::none, [](const Case& c) { return c.had_its_run(); }, Run::nothing},
    {"VMC-33e", "RerunOnFailure", Has::none, [](const Case& c) { return c.backing_off(); }, Run::wait},
    {"VMC-33f", "RerunOnFailure", Has::none, always, Run::start},
    {"VMC-34a", "Manual", Has::vmi, [](const Case& c) { return c.stop_wanted(); }, Run::stop},
    {"VMC-34b", "Manual", Has::vmi, always, Run::nothing},
    {"VMC-34c", "Manual", Has::none, [](const Case& c) { return c.start_wanted(); }, Run::start},
    {"VMC-34d", "Manual", Has::none, always, Run::nothing},
    {"VMC-35a", "Halted", Has::none, [](const Case& c) { return c.start_wanted(); }, Run::switch_on},
    {"VMC-35b", "Halted", Has::none, always, Run::nothing},
    {"VMC-35c", "Halted", Has::vmi, always, Run::stop},
    {"VMC-36a", "Once", Has::none, always, Run::start},
    {"VMC-36b", "Once", Has::vmi, always, Run::nothing},
});

bool fits(Has has, const Object* vmi) {
  if (has == Has::none) return !vmi;
  return vmi && (has == Has::vmi || !is_being_deleted(*vmi));
}

constexpr seconds longest_back_off{300};

std::int64_t unix_seconds(Time time) { return Timestamp::from(time).seconds; }

const Object* start_failure(const Object* vm_status) { return at(vm_status, {"startFailure"}); }

// Of these strategies failures are counted.
bool retries(string_view strategy) {
  return strategy == "Always" || strategy == "RerunOnFailure" || strategy == "Once";
}

}  // namespace

RunDecision decide_run(string_view strategy, const Object* vm_status, const Object* vmi, Time now) {
  const Case involved{.vm_status = vm_status, .vmi = vmi, .now = now};
  for (const Row& row : rows)
    if (row.strategy == strategy && fits(row.has, vmi) && row.applies(involved))
      return {.id = row.id, .run = row.run, .wait = row.run == Run::wait ? back_off_left(vm_status, now) : seconds(0)};
  return {.id = "VMC-31", .run = Run::not_supported};
}

seconds back_off_left(const Object* vm_status, Time now) {
  const Object* failure = start_failure(vm_status);
  const auto until = failure ? parse_rfc3339(json::get_string_or(*failure, "retryAfterTimestamp")) : not_parsed("");
  // Beyond the longest one: the clock was set back meanwhile, or somebody else wrote it.
  const std::int64_t left = until ? until->seconds - unix_seconds(now) : 0;
  return left > 0 && left <= longest_back_off.count() ? seconds(left) : seconds(0);
}

seconds back_off(std::int64_t failures, std::uint64_t random) {
  static constexpr std::int64_t factor = 10;
  const std::int64_t n = std::clamp<std::int64_t>(failures, 1, 100);  // more makes no difference
  const std::int64_t base = factor * n * n;
  const auto spread = static_cast<std::int64_t>(random % static_cast<std::uint64_t>(base / 2 + 1));
  return std::min(seconds(base + spread), longest_back_off);
}

void drop_done_request(Object& status, const Object* vmi) {
  const Object* request = first_request(&status);
  if (!request) return;
  const string_view action = json::get_string_or(*request, "action");
  const bool stopped =
      action == "Stop" && (!vmi || json::get_string_or(*request, "uid") != metadata_text(*vmi, "uid") ||
                           json::get_string_or(*request, "uid").empty());
  const bool started = action == "Start" && vmi && !is_being_deleted(*vmi) && !is_final(*vmi);
  if (!stopped && !started) return;
  Array& requests = *json::get_array(status, "stateChangeRequests");
  requests.erase(requests.begin());
  if (requests.empty()) json::erase(status, "stateChangeRequests");
}

void count_start_failures(Object& status, const Object* vmi, std::optional<string_view> strategy, Time now,
                          std::uint64_t random) {
  if ((vmi && reached_running(*vmi)) || (strategy && !retries(*strategy))) {  // VMC-49, VMC-50
    json::erase(status, "startFailure");
    return;
  }
  if (!vmi || !is_final(*vmi)) return;
  const string_view uid = metadata_text(*vmi, "uid");
  const Object* failure = start_failure(&status);
  if (failure && json::get_string_or(*failure, "lastFailedVMIUID") == uid) return;
  const std::int64_t count = (failure ? json::get_int_or(*failure, "consecutiveFailCount", 0) : 0) + 1;
  Object& counted = json::ensure_object(status, "startFailure");  // VMC-51
  counted["consecutiveFailCount"] = count;
  counted["lastFailedVMIUID"] = uid;
  counted["retryAfterTimestamp"] = time_text(now + back_off(count, random));
}

}  // namespace vg::controllers::vm
