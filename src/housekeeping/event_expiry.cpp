#include "housekeeping/event_expiry.h"

#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "objects/turn.h"

namespace vg::resources {
namespace {

constexpr std::string_view events_key = "events";
constexpr std::size_t removals_at_once = 256;

class EventExpiry final : public Controller {
 public:
  EventExpiry(ControllerParts parts, std::chrono::milliseconds life, std::chrono::milliseconds interval)
      : parts_(parts), interval_(interval), ages_(life) {}

  Task<void> run() override {
    while (true) {
      ages_.note(parts_.clock.steady_now(), parts_.store.revision());
      if (const Revision last = ages_.expired(); last != 0) co_await remove_up_to(last);
      co_await parts_.core.sleep(interval_);
    }
  }

 private:
  Task<void> remove_up_to(Revision last) {
    const auto page = parts_.store.list(
        {.resource = events_key, .matches = [last](const StoredObject& object) { return object.revision() <= last; }});
    if (!page) co_return;
    Turn turn(parts_.core);
    std::vector<Transaction> removals;
    for (const ObjectPtr object : page->objects) {
      removals.push_back({.writes = {{.kind = WriteKind::remove,
                                      .key = {.resource = std::string(events_key),
                                              .ns = std::string(object->ns()),
                                              .name = std::string(object->name())},
                                      .expected_revision = object->revision()}}});
      if (removals.size() == removals_at_once) co_await commit(std::exchange(removals, {}));
      if (turn.over(*object)) co_await turn.pass();
    }
    if (!removals.empty()) co_await commit(std::move(removals));
  }

  // One that was counted up or deleted meanwhile stays or is gone; one that the disk refuses is found again.
  Task<void> commit(std::vector<Transaction> removals) {
    const auto results = co_await Commit(parts_.commits, parts_.core, std::move(removals));
    for (const auto& result : results)
      if (!result && result.error().code >= 500) {
        log::warning("old events could not be removed", {{"reason", result.error().message}});
        break;
      }
  }

  ControllerParts parts_;
  std::chrono::milliseconds interval_;
  RevisionAges ages_;
};

}  // namespace

void RevisionAges::note(Instant now, Revision revision) {
  marks_.push_back({.at = now, .revision = revision});
  while (!marks_.empty() && marks_.front().at + span_ <= now) {
    expired_ = marks_.front().revision;
    marks_.pop_front();
  }
}

std::unique_ptr<Controller> make_event_expiry(ControllerParts parts, std::chrono::milliseconds life,
                                              std::chrono::milliseconds interval) {
  return std::make_unique<EventExpiry>(parts, life, interval);
}

}  // namespace vg::resources
