#include "handler/sync/event_writer.h"

#include "base/controller_limits.h"
#include "base/log.h"
#include "base/random.h"
#include "controllers/common/conditions.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "json/patch.h"

namespace vg::handler {

constexpr std::string_view component = "virt-handler";

EventWriter::EventWriter(Core& core, NodeApi& api, const Clock& clock, std::string node)
    : core_(core), api_(api), clock_(clock), node_(std::move(node)) {}

void EventWriter::tell(const json::Object& involved, const controllers::Event& event) {
  if (items_.size() >= limits::events_waiting_max) {
    log::warning("an event is not written: too many wait", {{"reason", event.reason}, {"message", event.message}});
    return;
  }
  const controllers::EventObject one = controllers::event_object(involved);
  items_.push_back({.api_version = std::string(one.api_version),
                    .kind = std::string(one.kind),
                    .ns = std::string(one.ns),
                    .name = std::string(one.name),
                    .uid = std::string(one.uid),
                    .resource_version = std::string(one.resource_version),
                    .event = event});
  if (writing_.done()) writing_ = Background(write_all());
}

void EventWriter::stop() { writing_ = Background(); }

Task<void> EventWriter::write_all() {
  co_await core_.sleep(std::chrono::milliseconds(0));  // whoever tells goes on first
  while (!items_.empty()) {
    const Item item = std::move(items_.front());
    items_.pop_front();
    co_await write(item);
  }
}

Task<void> EventWriter::write(const Item& item) {
  const controllers::EventObject involved{.api_version = item.api_version,
                                          .kind = item.kind,
                                          .ns = item.ns,
                                          .name = item.name,
                                          .uid = item.uid,
                                          .resource_version = item.resource_version};
  const engine::EventSource source{.component = component, .host = node_};
  if (item.event.once && recorder_.knows(involved, item.event, source)) co_return;
  const std::string now = controllers::time_text(clock_.wall_now());
  json::LeasedArena arena;
  const engine::EventWrite wanted = recorder_.write(involved, item.event, source, now, random_u64(), arena.storage());
  if (wanted.is_new) {
    const auto made = co_await api_.create(core_, event_resource, wanted.ns, wanted.document, arena.storage());
    if (made) co_return;
    recorder_.forget(wanted.ns, wanted.name);
    log::warning("an event was not written", {{"reason", item.event.reason}, {"why", made.error().message}});
    co_return;
  }
  json::PatchBuilder patch(arena.storage());
  for (const auto& member : wanted.document.get_object())
    patch.replace(std::string("/") + std::string(member.key()), member.value());
  const auto done =
      co_await api_.patch(core_, {event_resource, wanted.ns, wanted.name}, "", patch.take(), arena.storage());
  if (!done) recorder_.forget(wanted.ns, wanted.name);
}

}  // namespace vg::handler
