#include "simulated/moving.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/controller_limits.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/nodes.h"
#include "guests/moving.h"
#include "json/access.h"
#include "simulated/made_up.h"
#include "simulated/waiting.h"

namespace vg::simulated {
namespace {

using controllers::EventType;
using controllers::vmi::Draft;
using json::Object;
using std::string_view;

constexpr string_view target_label = "kubevirt.io/migrationTargetNodeName";

// MIG-D06, D07, D15: the target listens. MIG-R13, R14, R20, MIG-X02: the source sends.
void begin(Draft& guest) {
  const std::string target(json::get_string_or(json::ensure_object(guest.status(), "migrationState"), "targetNode"));
  const auto port = [&](std::uint32_t index) { return fmt::format("{}", 32768 + (hash(guest.uid()) + index) % 16384); };
  std::vector<std::pair<std::string, int>> ports{{port(0), 0}, {port(1), 49152}};
  if (json::get_string_or(guest.status(), "migrationMethod") == "BlockMigration") ports.emplace_back(port(2), 49153);
  guests::show_target(guest, made_up_node_address(target), ports);
  guests::show_begin(guest, "PreCopy");
}

void fail(Draft& guest, string_view reason) { guests::show_failure(guest, reason, true); }

// Its guest gets whatever it should have more of, and nobody but this tells how much memory it has.
void arrive(Draft& guest) {
  const Object* status = guest.read_status().object();
  const guests::Grown grown{.cpus = controllers::find_condition(status, "HotVCPUChange") != nullptr,
                            .memory = controllers::is_true(status, "HotMemoryChange")};
  guests::show_arrival(guest, grown);
  if (!grown.memory) return;
  Object& memory = json::ensure_object(guest.status(), "memory");
  if (const json::Value* requested = json::find(memory, "guestRequested")) {
    json::Value amount = *requested;
    memory["guestCurrent"] = std::move(amount);
  }
}

// MIG-X11, X13, X15: it takes longer than it may. A guest that stands still is sent at the same speed.
void give_up_or_go(Draft& guest, const guests::TransferRules& rules) {
  using Next = guests::Transfer::Next;
  const std::string mode(json::get_string_or(*guests::moving_of(guest.stored), "mode"));
  const Next next = guests::Transfer(rules).decide(rules.limit + milliseconds(1), mode).next;
  if (next == Next::suspend) return guests::show_begin(guest, "Paused");
  if (next != Next::postcopy) return fail(guest, "the migration took too long");
  guests::show_begin(guest, "PostCopy");
  arrive(guest);
}

}  // namespace

// MIG-R01 to R03, MIG-D01.
bool is_moving(const Draft& guest) {
  const Object* state = guests::moving_of(guest.stored);
  if (!state || json::get_bool_or(*state, "completed", false) || json::get_string_or(*state, "migrationUid").empty())
    return false;
  const string_view target = json::get_string_or(*state, "targetNode");
  const controllers::Nodes& nodes = guest.turn.world.nodes();
  return json::get_string_or(*state, "sourceNode") == guest.read_status().node_name() &&
         controllers::label_of(guest.stored, target_label) == target && is_simulated(nodes.find(target));
}

milliseconds transfer_time(const Object& vmi, const Settings& settings) {
  const Object* options = guests::options_of(vmi);
  const json::Value* bandwidth = options ? json::find(*options, "bandwidthPerMigration") : nullptr;
  const std::int64_t bytes_per_second = bandwidth ? controllers::amount_of("memory", *bandwidth) : 0;
  if (bytes_per_second <= 0) return settings.migration;
  const std::chrono::seconds most = limits::simulated_time_max;
  return milliseconds(std::min(guests::memory_of(vmi) / bytes_per_second, most.count()) * 1000);
}

// MIG-R04, R12, MIG-D03.
void move(Draft& guest, const Settings& settings) {
  const Object& state = *guests::moving_of(guest.stored);
  if (json::get_bool_or(state, "abortRequested", false)) return fail(guest, guests::migration_aborted);
  const auto began = parse_rfc3339(json::get_string_or(state, "startTimestamp"));
  const milliseconds whole = transfer_time(guest.stored, settings);
  guests::TransferRules rules = guests::transfer_rules(guest.stored);
  if (json::get_string_or(state, "mode") == "Paused") rules.limit *= 2;
  const bool too_long = rules.limit > milliseconds::zero() && whole > rules.limit;
  const milliseconds takes = too_long ? rules.limit : whole;
  if (!began) {
    begin(guest);
    return guest.pass.look_again(takes);
  }
  const milliseconds left = left_of(guest.turn, began->seconds, takes);
  if (left > milliseconds::zero()) return guest.pass.look_again(left);
  if (settings.migration_fails) return fail(guest, "the simulated migration was told to fail");
  if (too_long) return give_up_or_go(guest, rules);
  arrive(guest);
}

}  // namespace vg::simulated
