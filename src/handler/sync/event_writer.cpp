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
  if (waiting_.size() >= limits::events_waiting_max) {
    log::warning("an event is not written: too many wait", {{"reason", event.reason}, {"message", event.message}});
    return;
  }
  waiting_.emplace_back(controllers::event_object(involved), event);
  if (writing_.done()) writing_ = Background(write_all());
}

void EventWriter::stop() { writing_ = Background(); }

Task<void> EventWriter::write_all() {
  co_await core_.sleep(std::chrono::milliseconds(0));  // whoever tells goes on first
  while (!waiting_.empty()) {
    const engine::WaitingEvent first = std::move(waiting_.front());
    waiting_.pop_front();
    co_await write(first);
  }
}

Task<void> EventWriter::write(const engine::WaitingEvent& waiting) {
  const controllers::EventObject involved = waiting.involved();
  const controllers::Event& event = waiting.event();
  const engine::EventSource source{.component = component, .host = node_};
  if (event.once && recorder_.knows(involved, event, source)) co_return;
  const std::string now = controllers::time_text(clock_.wall_now());
  json::LeasedArena arena;
  const engine::EventWrite wanted = recorder_.write(involved, event, source, now, random_u64(), arena.storage());
  if (wanted.is_new) {
    const auto made = co_await api_.create(core_, event_resource, wanted.ns, wanted.document, arena.storage());
    if (made) co_return;
    recorder_.forget(wanted.ns, wanted.name);
    log::warning("an event was not written", {{"reason", event.reason}, {"why", made.error().message}});
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
