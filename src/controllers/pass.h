// What a pass of a controller comes to: effects in their order, and when to look again. Carrying them out is the
// engine's part (src/engine/): one after the other, until one fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/identity.h"
#include "controllers/world.h"
#include "json/value.h"
#include "ports/disk_agent.h"

namespace vg::controllers {

enum class Verb : std::uint8_t {
  create,         // document: the object
  update,         // document: the object; conditional on the resourceVersion in it
  update_status,  // the same, of the status alone
  patch,          // document: a JSON patch
  patch_status,
  remove,  // conditional on the uid, if there is one
  call,    // of the handler of the node that runs the VMI: Effect::path below it, with document as the body
};

// Under which account something is written.
enum class Account : std::uint8_t { controller, handler };

enum class EventType : std::uint8_t { normal, warning };

struct Event {
  EventType type = EventType::normal;
  std::string reason;
  std::string message;
  bool once = false;  // nothing is told, and nothing counted, if the same was told of the object before
};

// An object that events are about, as an Event names it. Texts outlive the pass.
struct EventObject {
  std::string_view api_version, kind, ns, name, uid, resource_version;
};
EventObject event_object(const json::Object& object);

// Something to tell, about the object of the pass or another one.
struct Told {
  Event event;
  std::optional<EventObject> involved = {};  // the object of the pass unless another is named
};

struct Effect {
  Verb verb = Verb::create;
  std::string_view resource;  // one of kinds::
  std::string ns, name;       // name may be empty for a create with generateName
  // For whom: whose permission counts for what the document names elsewhere. Not under which account it is written.
  Identity identity;
  json::Value document = {};
  std::string uid = {};        // remove: of this object alone
  std::string_view path = {};  // call: "freeze"
  Account account = Account::controller;

  // What follows from a failure. Empty: the pass ends, nothing is told, and it is tried again. Else the pass goes on
  // with finish(), which shows this reason, and it is tried again.
  std::string soft_reason = {};
  // With a soft_reason: a failure does not keep the effects behind this one from happening.
  bool others_follow = false;
  // A failure of this effect is for finish() to judge: what is behind it does not happen (unless others_follow), no job
  // is asked for, and nothing is tried again unless finish() says so.
  bool finish_decides = false;
  // A failure is only logged.
  bool may_fail = false;
  // Failures that are as good as success: the object is there already (create), or gone (remove).
  bool already_done_is_fine = false;
  // Told about the object of the pass, or about `about`, once it happened or failed. A failure's message is appended to
  // the text; a race that was lost is no failure, for it is tried again at once.
  std::optional<Event> if_done = {};
  std::optional<Event> if_failed = {};
  // Told in place of if_failed when whoever it is for may not clone what it names.
  std::optional<Event> if_not_allowed = {};
  std::optional<EventObject> involved = {};
  // Told in their order once it happened, after if_done: for a write that combines what happened in several steps.
  std::vector<Told> also_told = {};
};

// A job for the disk agent. Where it reads the data of another namespace, whoever it is for must be allowed to have it,
// and is asked about at the moment in which it would begin.
struct WantedJob {
  Identity identity;
  DiskJob job;
};
// The reason of the soft error of a pass with a job that was refused: none of its jobs is begun.
inline constexpr std::string_view job_not_allowed = "JobNotAllowed";

struct Pass {
  std::vector<Effect> effects = {};
  std::vector<Told> events = {};  // before the effects
  // Asked of the disk agent once all effects are done, if none of them failed: ids of jobs that nobody wants any more,
  // and jobs. The object of the pass is looked at again whenever one of its jobs changes.
  std::vector<std::string> unwanted_jobs = {};
  std::vector<WantedJob> jobs = {};
  std::optional<std::chrono::milliseconds> again = {};  // look again then, even if nothing changes
  // The pass found something wrong that time may mend, and says so itself: it is tried again with back-off.
  bool try_again = false;
  // It wants a node and there was none: it is tried again when nodes, or what is placed on them, have changed.
  bool waits_for_nodes = false;
  // Nothing is left for finish() unless an effect failed.
  bool complete = false;
  // What it writes to its own object gives it nothing further to do: a look at that may wait for the next change.
  bool settled = false;
  // The node that its events come from; empty: none.
  std::string host = {};
  // Handed to finish() as it is: what the first part decided and the second writes down.
  json::Value memo = {};

  Effect& add(Effect effect) { return effects.emplace_back(std::move(effect)); }
  void tell(EventType type, std::string_view reason, std::string message) {
    events.push_back({.event = {.type = type, .reason = std::string(reason), .message = std::move(message)}});
  }
  // The earlier of the two.
  void look_again(std::chrono::milliseconds after) { again = again ? std::min(*again, after) : after; }
};

// A soft failure, as finish() gets it.
struct SoftError {
  std::string reason;
  std::string message;
};

// How the effects of the first part went.
struct Carried {
  std::optional<SoftError> error = {};  // the first one
  std::size_t done = 0;                 // so many of the effects, from the first unless others_follow
};

}  // namespace vg::controllers
