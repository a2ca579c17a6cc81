#include "simulated/simulated.h"

#include <set>

#include "base/log.h"
#include "engine/carry_out.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "objects/draft.h"
#include "simulated/guest.h"
#include "simulated/node.h"
#include "simulated/settings.h"

namespace vg::simulated {
namespace {

using controllers::Effect;
using controllers::Verb;
using controllers::kinds::node;

Effect on_node(Verb verb, std::string name, json::Value document = {}) {
  return {.verb = verb,
          .resource = node,
          .ns = {},
          .name = std::move(name),
          .identity = controllers::Identity::own(),
          .document = std::move(document),
          .account = controllers::Account::handler,
          .soft_reason = "NotWritten",
          .others_follow = true};
}

void add_wanted(controllers::Pass& pass, const resources::Backend& backend, const NodesOptions& options,
                const json::StoragePtr& storage) {
  const controllers::Time now = backend.clock.wall_now();
  for (std::int64_t index = 0; index < options.count; ++index) {
    const std::string name = node_name(index);
    if (const ObjectPtr stored = backend.store.get(node, "", name)) {
      const json::Value value = resources::load_object(*stored, storage);
      pass.add(on_node(Verb::patch, name, heartbeat_patch(value.get_object(), now, storage)));
      continue;
    }
    const json::Value made = node_object(name, options.architecture, now, storage);
    pass.add(on_node(Verb::create, name, made));
  }
}

void remove_others(controllers::Pass& pass, const ObjectStore& store, std::int64_t count) {
  std::set<std::string, std::less<>> wanted;
  for (std::int64_t index = 0; index < count; ++index) wanted.insert(node_name(index));
  const auto page = store.list({.resource = node});
  if (!page) return;
  for (const ObjectPtr stored : page->objects)
    if (stored->label(node_label) == "true" && !wanted.contains(stored->name()))
      pass.add(on_node(Verb::remove, std::string(stored->name())));
}

}  // namespace

Task<void> start_nodes(resources::Backend& backend, Core& core, NodesOptions options) {
  json::LeasedArena arena;
  controllers::Pass pass;
  add_wanted(pass, backend, options, arena.storage());
  remove_others(pass, backend.store, options.count);
  engine::EventRecorder events;
  engine::Carrier carrier({.backend = backend, .core = core, .events = events});
  const engine::Done done = co_await carrier.carry_out(pass, {}, {.component = "virt-handler"});
  if (done.carried.error) log::error("simulated nodes could not be made", {{"reason", done.carried.error->message}});
}

std::vector<controllers::Controller> controllers() { return {guest_controller(), heartbeat_controller()}; }

}  // namespace vg::simulated
