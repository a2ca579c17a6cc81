// One controller: which objects it looks after, what makes it look, and the two pure functions of a pass.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "controllers/pass.h"
#include "controllers/world.h"

namespace vg::controllers {

enum class Happened : std::uint8_t { added, changed, removed };

// A change of an object of some resource. Null where there was, or is, none.
struct Change {
  Happened happened = Happened::added;
  const json::Object* before = nullptr;
  const json::Object* after = nullptr;
  const json::Object& object() const { return after ? *after : *before; }
};

// Which objects of a controller's kind a change of another object concerns.
struct Trigger {
  std::string_view resource;
  std::vector<Key> (*keys)(const Change& change, const World& world);
  // Another change will follow soon and concern the same: a look may wait for it, for a moment. Null: never.
  bool (*can_wait)(const Change& change) = nullptr;
};

struct Controller {
  std::string_view name;              // in metrics and logs: "vm"
  std::string_view resource;          // whose objects have passes
  std::string_view component;         // the source of its events
  std::span<const Trigger> triggers;  // beside the objects themselves
  Pass (*sync)(const Turn& turn);
  // After the effects of sync were carried out, or one of them failed softly: what the status says now. The world is
  // that of this moment. Null: there is none.
  Pass (*finish)(const Turn& turn, const Pass& pass, const Carried& carried) = nullptr;
  // Higher ones first; null: all alike.
  int (*priority)(const json::Object& object) = nullptr;
  // There are passes for names without an object: what is gone leaves something to do. Events are then about others.
  bool looks_at_missing = false;
  // How long it waits after a change, so that the changes of one moment make one pass.
  std::chrono::milliseconds delay = {};
};

}  // namespace vg::controllers
