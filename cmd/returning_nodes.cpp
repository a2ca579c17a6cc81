#include "returning_nodes.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "controllers/common/patch.h"
#include "engine/carry_out.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "json/patch.h"
#include "objects/draft.h"
#include "simulated/node.h"

namespace vg::cmd {

namespace {

// So that a node which an administrator cordoned stays so.
constexpr std::string_view leaving_mark = "virtgate.io/leaving";

json::Array cordon_patch(const json::Object& node, bool leaves, const json::StoragePtr& storage) {
  json::PatchBuilder patch(storage);
  const json::Object* metadata = json::get_object(node, "metadata");
  const json::Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  const bool is_marked = annotations && annotations->contains(leaving_mark);
  const json::Object* spec = json::get_object(node, "spec");
  const bool is_cordoned = spec && json::get_bool_or(*spec, "unschedulable", false);
  if (leaves ? is_cordoned : !is_marked) return patch.take();
  const std::string path = controllers::patch_path("/metadata/annotations", {leaving_mark});
  if (!annotations) patch.add("/metadata/annotations", json::Value(boost::json::object_kind, storage));
  if (!spec) patch.add("/spec", json::Value(boost::json::object_kind, storage));
  if (leaves)
    patch.add(path, "true").add("/spec/unschedulable", json::Value(true, storage));
  else
    patch.remove(path).add("/spec/unschedulable", json::Value(false, storage));
  return patch.take();
}

}  // namespace

Task<void> expect_nodes(resources::Backend& backend, Core& core, std::vector<std::string> names,
                        std::vector<std::string> leaving) {
  json::LeasedArena arena;
  controllers::Pass pass;
  for (std::string& name : names) {
    const ObjectPtr stored = backend.store.get(controllers::kinds::node, "", name);
    if (!stored) continue;
    const json::Value node = resources::load_object(*stored, arena.storage());
    const bool leaves = std::ranges::find(leaving, name) != leaving.end();
    if (json::Array patch = cordon_patch(node.get_object(), leaves, arena.storage()); !patch.empty())
      pass.add({.verb = controllers::Verb::patch,
                .resource = controllers::kinds::node,
                .ns = {},
                .name = name,
                .identity = controllers::Identity::own(),
                .document = std::move(patch),
                .soft_reason = "NotWritten",
                .others_follow = true});
    pass.add({.verb = controllers::Verb::patch,
              .resource = controllers::kinds::node,
              .ns = {},
              .name = std::move(name),
              .identity = controllers::Identity::own(),
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
