#include "controllers/node/node.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/nodes.h"
#include "controllers/tsc.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

constexpr std::string_view frequency_prefix = "scheduling.node.kubevirt.io/tsc-frequency-";
constexpr std::string_view unresponsive_reason = "NodeUnresponsive";
constexpr std::chrono::seconds interval{60};
// A guest whose node is lost and whose process is there is looked at again.
constexpr std::chrono::seconds guest_interval{10};
// VMIs that are given up in one pass; the next one follows at once.
constexpr std::size_t failed_at_once = 256;

// NODE-C01. One that never said anything is taken for alive.
bool is_unresponsive(const NodeInfo* info, Steady now) { return !info || info->is_silent(now); }

// NODE-C02.
void mark_unresponsive(Pass& pass, const Turn& turn, const json::Object& node) {
  if (label_of(node, schedulable_label) != "true") return;
  json::PatchBuilder patch(turn.storage);
  const std::string path = patch_path("/metadata/labels", {schedulable_label});
  patch.test(path, "true").replace(path, "false");
  pass.add({.verb = Verb::patch,
            .resource = kinds::node,
            .ns = {},
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = json::Value(patch.take(), turn.storage)});
  pass.tell(EventType::normal, unresponsive_reason,
            fmt::format("the agent of node {} has not been heard of for {} minutes; no VMI is placed there",
                        turn.key.name, heartbeat_life.count()));
}

// Beside NODE-C03: a guest that is known to run, or not known to have ended, is not started a second time.
bool may_still_run(Pass& pass, const Turn& turn, const json::Object& vmi) {
  const auto why =
      turn.guests ? turn.guests->may_run(turn.key.name, metadata_text(vmi, "namespace"), metadata_text(vmi, "name"))
                  : std::nullopt;
  if (!why) return false;
  pass.events.push_back(
      {.event = {.type = EventType::warning,
                 .reason = std::string(unresponsive_reason),
                 .message =
                     fmt::format("node {} is gone or silent, but {}; the VMI is not given up before that has ended",
                                 turn.key.name, *why)},
       .involved = event_object(vmi)});
  pass.look_again(guest_interval);
  return true;
}

// NODE-C03.
void give_up_vmis(Pass& pass, const Turn& turn) {
  std::set<Key> seen;
  for (const Placed* placed : turn.world.nodes().on(turn.key.name)) {
    if (!seen.insert({.ns = placed->ns, .name = placed->vmi}).second) continue;
    const json::Object* vmi = turn.world.get(kinds::vmi, placed->ns, placed->vmi);
    const json::Object* status = vmi ? json::get_object(*vmi, "status") : nullptr;
    if (!status || json::get_string_or(*status, "nodeName") != turn.key.name) continue;
    const std::string_view phase = json::get_string_or(*status, "phase");
    if (phase != "Scheduled" && phase != "Running") continue;
    if (may_still_run(pass, turn, *vmi)) continue;
    json::PatchBuilder patch(turn.storage);
    patch.test("/status/phase", json::Value(phase))
        .replace("/status/phase", "Failed")
        .add("/status/reason", json::Value(unresponsive_reason));
    pass.events.push_back(
        {.event = {.type = EventType::normal,
                   .reason = std::string(unresponsive_reason),
                   .message = fmt::format("node {} is gone or silent; the VMI counts as failed", turn.key.name)},
         .involved = event_object(*vmi)});
    pass.add({.verb = Verb::patch,
              .resource = kinds::vmi,
              .ns = placed->ns,
              .name = placed->vmi,
              .identity = Identity::own(),
              .document = json::Value(patch.take(), turn.storage)});
    if (pass.effects.size() < failed_at_once) continue;
    pass.look_again(std::chrono::milliseconds(1));
    return;
  }
}

std::set<std::int64_t> asked_frequencies(const Turn& turn) {
  std::set<std::int64_t> asked;
  for (const auto& [frequency, users] : turn.world.nodes().tsc_frequencies()) asked.insert(frequency);
  if (const auto lowest = lowest_tsc_frequency(turn.world.nodes(), turn.config)) asked.insert(*lowest);
  return asked;
}

// NODE-07.
void label_frequencies(Pass& pass, const Turn& turn, const NodeInfo& info) {
  const TscOfNode own = tsc_of(info);
  if (own.frequency == 0) return;
  std::set<std::string> wanted;
  for (const std::int64_t frequency : offered_frequencies(own, asked_frequencies(turn)))
    wanted.insert(fmt::format("{}{}", frequency_prefix, frequency));
  json::PatchBuilder patch(turn.storage);
  for (auto label = info.labels.lower_bound(frequency_prefix);
       label != info.labels.end() && label->first.starts_with(frequency_prefix); ++label)
    if (wanted.erase(label->first) == 0) patch.remove(patch_path("/metadata/labels", {label->first}));
  for (const std::string& label : wanted) patch.add(patch_path("/metadata/labels", {label}), "true");
  if (patch.empty()) return;
  pass.add({.verb = Verb::patch,
            .resource = kinds::node,
            .ns = {},
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = json::Value(patch.take(), turn.storage)});
}

// When the next thing happens even if nobody says anything.
std::chrono::milliseconds next_look(const NodeInfo& info, Steady now) {
  if (!info.heartbeat || info.is_silent(now)) return interval;
  const auto silent_from = info.heard + heartbeat_life + std::chrono::seconds(1);
  return std::min(std::chrono::duration_cast<std::chrono::milliseconds>(silent_from - now),
                  std::chrono::milliseconds(interval));
}

Pass sync(const Turn& turn) {
  Pass pass;
  const json::Object* node = turn.world.get(kinds::node, "", turn.key.name);
  // Read anew: what is kept of nodes follows the store, and may be a moment behind.
  const auto info = node ? std::optional(turn.world.nodes().read(*node, turn.steady)) : std::nullopt;
  if (is_unresponsive(info ? &*info : nullptr, turn.steady)) {
    if (node) mark_unresponsive(pass, turn, *node);
    give_up_vmis(pass, turn);
  } else {
    label_frequencies(pass, turn, *info);
  }
  if (info) pass.look_again(next_look(*info, turn.steady));
  return pass;
}

// A VMI that is on a node which is not there any more; nobody else would look.
std::vector<Key> of_vmi(const Change& change, const World& world) {
  const auto node_of = [](const json::Object* vmi) {
    const json::Object* status = vmi ? json::get_object(*vmi, "status") : nullptr;
    return status ? json::get_string_or(*status, "nodeName") : std::string_view();
  };
  const std::string_view node = node_of(change.after);
  if (node.empty() || node == node_of(change.before) || world.nodes().find(node)) return {};
  return {{.ns = {}, .name = std::string(node)}};
}

constexpr Trigger triggers[] = {{.resource = kinds::vmi, .keys = of_vmi}};

}  // namespace

const Controller& node_controller() {
  static constexpr Controller controller{.name = "node",
                                         .resource = kinds::node,
                                         .component = "node-controller",
                                         .triggers = triggers,
                                         .sync = sync,
                                         .finish = nullptr,
                                         .priority = nullptr,
                                         .looks_at_missing = true};
  return controller;
}

}  // namespace vg::controllers
