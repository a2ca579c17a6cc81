// Carries out what a pass wants done: effects one after the other, through the write path that every client's writes
// take, under the account that upstream's component has.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "controllers/pass.h"
#include "engine/events.h"
#include "objects/object_request.h"
#include "ports/node_link.h"

namespace vg::engine {

// How it went. A hard failure ends the pass: nothing further was done.
struct Done {
  controllers::Carried carried;
  std::optional<Status> hard = {};
  std::string refused_job = {};  // the id of one that whoever asked for it may not have
  bool left_to_finish = false;   // carried.error is one that finish() judges
  // Which effects were written as which revision. Removals and calls of nodes are not among them.
  std::vector<std::pair<const controllers::Effect*, Revision>> written = {};
};

// Somebody else wrote the object after it was read: the pass is repeated, and nothing is wrong.
bool is_lost_race(const Status& status);

class Elsewhere;
class EventSink;

class Carrier {
 public:
  struct Parts {
    resources::Backend& backend;
    Core& core;
    EventRecorder& events;
    NodeLink* nodes = nullptr;       // null: no node can be asked
    EventSink* sink = nullptr;       // takes events off this core; null: they are written here
    Elsewhere* elsewhere = nullptr;  // makes the writes; null: they are made here
  };
  explicit Carrier(Parts parts);

  // On the core, and whether its jobs may begin: if not, that is a soft error. `involved` is the object that events are
  // about unless they name another.
  Task<Done> carry_out(const controllers::Pass& pass, const controllers::EventObject& involved, EventSource source);

 private:
  Task<Result<Revision>> write(Core& core, const controllers::Effect& effect, std::string_view host);
  Task<Result<Revision>> write_somewhere(const controllers::Effect& effect, std::string_view host);
  Task<Result<Revision>> call(const controllers::Effect& effect);
  Task<Result<void>> check_job(const controllers::WantedJob& wanted);
  User writer(const controllers::Effect& effect, std::string_view host) const;
  Task<std::optional<Result<void>>> store_plain(const EventPlace& place, const controllers::EventObject& involved,
                                                const controllers::Event& event, EventSource source,
                                                std::string_view now);
  Task<Result<void>> store(const EventPlace& place, const controllers::EventObject& involved,
                           const controllers::Event& event, EventSource source);
  Task<void> tell(const controllers::EventObject& involved, const controllers::Event& event, EventSource source);

  Parts parts_;
  User controller_, handler_;
  std::uint64_t serial_;
};

}  // namespace vg::engine
