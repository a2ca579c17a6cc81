#include "handler/sync/node_keeper.h"

#include "base/log.h"
#include "base/node_limits.h"
#include "base/off_loop.h"
#include "json/arena_pool.h"

namespace vg::handler {

void NodeKeeper::start() {
  running_ = Background(keep_running(parts_.core, "reporting the node", [this] { return run(); }));
}

void NodeKeeper::beat() {
  if (!running_.done()) start();
}

Task<void> NodeKeeper::run() {
  bool told = false;
  while (!parts_.hypervisor.connected()) {
    if (!told) told = (co_await say_away()).has_value();
    co_await parts_.core.sleep(limits::heartbeat_retry);
  }
  for (;;) {
    const auto facts = co_await parts_.hypervisor.host(parts_.core);
    Result<void> done;
    if (facts)
      done = co_await write(*facts);
    else
      done = fail(facts.error());
    if (!done)
      log::warning("the node gives no sign of life", {{"node", parts_.node}, {"reason", done.error().message}});
    co_await parts_.core.sleep(done ? limits::heartbeat_interval : limits::heartbeat_retry);
  }
}

// NODE-01: whatever is placed here now would wait for the hypervisor.
Task<Result<void>> NodeKeeper::say_away() {
  json::LeasedArena arena;
  const ObjectName name{node_resource, "", parts_.node};
  const auto stored = co_await parts_.api.get(parts_.core, name, arena.storage());
  if (!stored && stored.error().code != 404) co_return fail(stored.error());
  if (!stored || !stored->if_object()) co_return Result<void>();
  const json::Array patch = guests::away_patch(stored->get_object(), arena.storage());
  if (patch.empty()) co_return Result<void>();
  const auto done = co_await parts_.api.patch(parts_.core, name, "", patch, arena.storage());
  co_return done ? Result<void>() : Result<void>(fail(done.error()));
}

Task<Result<void>> NodeKeeper::write(const hypervisor::HostFacts& facts) {
  json::LeasedArena arena;
  auto stored = co_await put(facts, arena.storage());
  if (!stored) co_return fail(std::move(stored.error()));
  if (parts_.written && stored->if_object()) parts_.written(facts, controllers::NodeInfo::read(stored->get_object()));
  co_return Result<void>();
}

// As it is stored then.
Task<Result<json::Value>> NodeKeeper::put(const hypervisor::HostFacts& facts, const json::StoragePtr& storage) {
  const config::ConfigPtr config = parts_.api.config();
  std::vector<guests::NodeImage> images;
  if (parts_.images) {
    auto found = co_await off_loop(parts_.core, off_loop_bytes_min,
                                   [this]() -> Result<std::vector<guests::NodeImage>> { return parts_.images(); });
    if (!found) co_return fail(std::move(found.error()));
    images = std::move(*found);
  }
  const guests::NodeFacts wanted{.name = parts_.node,
                                 .host = facts,
                                 .config = *config,
                                 .sharers = parts_.sharers,
                                 .address = parts_.address,
                                 .why_no_groups = parts_.why_no_groups,
                                 .is_schedulable = parts_.hypervisor.connected(),
                                 .images = images};
  const ObjectName name{node_resource, "", parts_.node};
  auto stored = co_await parts_.api.get(parts_.core, name, storage);
  const auto now = parts_.clock.wall_now();
  if (!stored && stored.error().code == 404)
    co_return co_await parts_.api.create(parts_.core, node_resource, "", guests::node_object(wanted, now, storage),
                                         storage);
  if (!stored || !stored->if_object()) co_return stored;
  const guests::NodePatches patches = guests::node_patches(stored->get_object(), wanted, now, storage);
  if (!patches.status.empty()) {
    auto done = co_await parts_.api.patch(parts_.core, name, "status", patches.status, storage);
    if (!done) co_return done;
  }
  co_return co_await parts_.api.patch(parts_.core, name, "", patches.object, storage);
}

}  // namespace vg::handler
