#include "returning_nodes.h"

#include <utility>

#include "base/log.h"
#include "engine/carry_out.h"
#include "json/arena_pool.h"
#include "objects/draft.h"
#include "simulated/node.h"

namespace vg::cmd {

Task<void> expect_nodes(resources::Backend& backend, Core& core, std::vector<std::string> names) {
  json::LeasedArena arena;
  controllers::Pass pass;
  for (std::string& name : names) {
    const ObjectPtr stored = backend.store.get(controllers::kinds::node, "", name);
    if (!stored) continue;
    const json::Value node = resources::load_object(*stored, arena.storage());
    pass.add({.verb = controllers::Verb::patch,
              .resource = controllers::kinds::node,
              .ns = {},
              .name = std::move(name),
              .document = simulated::heartbeat_patch(node.get_object(), backend.clock.wall_now(), arena.storage()),
              .account = controllers::Account::handler,
              .soft_reason = "NotWritten",
              .others_follow = true});
  }
  engine::EventRecorder events;
  engine::Carrier carrier({.backend = backend, .core = core, .events = events});
  const engine::Done done = co_await carrier.carry_out(pass, {}, {.component = "virt-handler"});
  if (done.carried.error)
    log::error("nodes of this host may be taken for lost until they report", {{"reason", done.carried.error->message}});
}

}  // namespace vg::cmd
