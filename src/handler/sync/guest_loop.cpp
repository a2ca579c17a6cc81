#include "handler/sync/guest_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/canonical.h"
#include "api/schema.h"
#include "base/log.h"
#include "base/node_limits.h"
#include "base/random.h"
#include "controllers/common/owners.h"
#include "engine/carry_out.h"
#include "handler/sync/no_world.h"
#include "images/pull_backoff.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "json/parse.h"
#include "json/write.h"
#include "tracing/hand_over.h"

namespace vg::handler {
namespace {

using controllers::EventType;
using controllers::vmi::Draft;
using guests::Action;
using guests::Case;
using guests::Decision;
using hypervisor::Event;

constexpr std::chrono::milliseconds first_look{20};

bool has_left(const Case& one) {
  return one.domain && one.domain->state == hypervisor::State::shutoff && one.domain->reason == "Migrated";
}
// Work on a guest belongs to the trace of whoever asked for it, for a while.
tracing::Span guest_span(const Case& one, const Decision& decision) {
  if (!tracing::Tracer::active() || !one.vmi) return {};
  const json::Object* metadata = json::get_object(*one.vmi, "metadata");
  const json::Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  if (!annotations) return {};
  const auto trace =
      tracing::stored_context(json::get_string_or(*annotations, tracing::traceparent_annotation),
                              json::get_string_or(*annotations, tracing::tracestate_annotation), one.now);
  if (!trace) return {};
  const bool starts = decision.action == Action::synchronise && !one.domain;
  tracing::Span span = tracing::Span::below(*trace, starts ? "start guest" : "guest pass", tracing::SpanKind::consumer);
  span.set("k8s.namespace.name", json::get_string_or(*metadata, "namespace"));
  span.set("virtgate.name", json::get_string_or(*metadata, "name"));
  return span;
}
bool wants_images(const Case& one, std::string_view uid) {
  return one.vmi && !one.is_final() && controllers::metadata_text(*one.vmi, "uid") == uid &&
         controllers::metadata_text(*one.vmi, "deletionTimestamp").empty();
}
bool is_final(std::string_view phase) { return phase == "Succeeded" || phase == "Failed"; }

}  // namespace

std::string domain_name(const Key& key) { return fmt::format("{}_{}", key.ns, key.name); }

std::optional<Key> key_of_domain(std::string_view name) {
  const auto at = name.find('_');
  if (at == std::string_view::npos || at == 0 || at + 1 == name.size()) return std::nullopt;
  return Key{.ns = std::string(name.substr(0, at)), .name = std::string(name.substr(at + 1))};
}

GuestLoop::GuestLoop(LoopParts parts)
    : parts_(std::move(parts)),
      events_(parts_.core, parts_.api, parts_.clock, parts_.node),
      starter_(parts_, [this](const Key& key) { wake(key); }),
      updater_(parts_, starter_),
      credentials_(parts_),
      mover_(parts_, starter_, passes_, [this](const Key& key) { wake(key); }) {
  parts_.api.on_change([this](const Key& key) { wake(key); });
  parts_.hypervisor.on_event([this](const Event& event) { parts_.core.post([this, event] { heard(event); }); });
}

// --- what makes it look ----------------------------------------------------------------------------------------------

void GuestLoop::start() {
  beginning_ = Background(keep_running(parts_.core, "looking at all guests", [this] { return begin(); }));
}

Task<void> GuestLoop::begin() {
  while (!parts_.api.synced()) co_await parts_.core.sleep(first_look);
  ready_ = true;
  wake_all();
  for (;;) {
    co_await parts_.core.sleep(limits::guest_resync);
    wake_all();
  }
}

void GuestLoop::stop() {
  beginning_ = Background();
  alarm_ = Background();
  passes_.clear();
  events_.stop();
}

void GuestLoop::wake(const Key& key) {
  queue_.add(key);
  pump();
}

void GuestLoop::wake_all() {
  for (const Key& key : parts_.api.vmis()) queue_.add(key);
  for (const Key& key : parts_.records.keys()) queue_.add(key);
  for (const auto& domain : parts_.hypervisor.domains())
    if (const auto key = key_of_domain(domain->name)) queue_.add(*key);
  pump();
}

void GuestLoop::note_pause(const Key& key, bool paused) {
  parts_.records.of(key).paused_by_user = paused;
  Guest& guest = guests_[key];
  guest.seen = true;  // a process that just began has nothing newer to recall
  guest.pause_asked = paused ? std::optional(parts_.clock.steady_now()) : std::nullopt;
  wake(key);
}

void GuestLoop::set_host(bool kvm, controllers::NodeInfo info) {
  parts_.host.kvm = kvm;
  parts_.info = std::move(info);
}

void GuestLoop::heard(const Event& event) {
  if (event.kind == Event::Kind::connection) {
    for (auto& [key, guest] : guests_) guest.seen = false;
    if (connection_told_) connection_told_();
    return wake_all();
  }
  const auto key = key_of_domain(event.name);
  if (!key) return;
  Guest& guest = guests_[*key];
  if (event.kind == Event::Kind::io_error && guest.disk_failures.size() < limits::domain_devices_max) {
    std::string volume = event.detail;
    if (volume.starts_with("ua-")) volume.erase(0, 3);
    guest.disk_failures.push_back({.volume = std::move(volume), .no_space = event.reason == "enospc"});
  }
  if (event.kind == Event::Kind::panicked && guest.panics.empty()) guest.panics.push_back(event.detail);
  if (event.kind == Event::Kind::watchdog) guest.watchdog = event.detail;
  wake(*key);
}

// Passes run as tasks of their own; a key that is worked on is not taken again before it is done.
void GuestLoop::pump() {
  if (!ready_) return;
  while (running_ < limits::guest_passes_max) {
    const auto key = queue_.take(parts_.clock.steady_now());
    if (!key) break;
    ++running_;
    passes_.start(parts_.core, run(*key));
  }
  set_alarm();
}

void GuestLoop::set_alarm() {
  const auto next = queue_.next_instant();
  if (!next || (alarm_at_ && *alarm_at_ <= *next)) return;
  alarm_at_ = *next;
  alarm_ = Background(ring(*next - parts_.clock.steady_now()));
}

// It must not end itself, which setting another alarm would.
Task<void> GuestLoop::ring(std::chrono::steady_clock::duration after) {
  co_await parts_.core.sleep(
      std::max(std::chrono::ceil<std::chrono::milliseconds>(after), std::chrono::milliseconds(0)));
  parts_.core.post([this] {
    alarm_at_.reset();
    pump();
  });
}

// --- a pass ----------------------------------------------------------------------------------------------------------

Task<void> GuestLoop::run(Key key) {
  {
    json::LeasedArena arena;
    Result<Outcome> outcome = fail(Status::internal_error("the pass ended early"));
    try {
      outcome = co_await pass(key, guests_[key], arena.storage());
    } catch (...) {  // this guest is looked at again later, as after any other failure
      task_failed(std::current_exception(), domain_name(key));
    }
    const auto now = parts_.clock.steady_now();
    if (!outcome || outcome->error) {
      const Status& why = outcome ? *outcome->error : outcome.error();
      if (!engine::is_lost_race(why))
        log::warning("a VMI is not as it should be", {{"vmi", domain_name(key)}, {"reason", why.message}});
      queue_.failed(key, now);
      queue_.add_at(key, now + limits::guest_backoff_max);
    } else {
      queue_.succeeded(key);
    }
    if (outcome && outcome->again) queue_.add_at(key, now + *outcome->again);
  }
  --running_;
  queue_.done(key);
  pump();
}

GuestLoop::Looked GuestLoop::look(const Key& key, Guest& guest) const {
  hypervisor::DomainPtr domain = parts_.hypervisor.find(domain_name(key));
  if (!domain || !domain->xml) {
    guest.facts = nullptr;
    guest.xml = nullptr;
  } else if (guest.xml != domain->xml) {
    auto facts = guests::read_facts(*domain->xml);
    if (!facts)
      log::warning("the document of a domain cannot be read",
                   {{"domain", domain->name}, {"reason", facts.error().message}});
    guest.facts = facts ? std::make_shared<const guests::DomainFacts>(std::move(*facts)) : nullptr;
    guest.xml = domain->xml;
  }
  return {.domain = std::move(domain), .facts = guest.facts};
}

// A hypervisor that is back pauses it only now: that it runs when it is first seen is older than the request.
bool GuestLoop::is_being_paused(const Guest& guest) const {
  return guest.pause_asked && parts_.clock.steady_now() - *guest.pause_asked < limits::guest_pause_max;
}

// A process that was killed may have paused a guest, and not have written down that a user asked for it: what is paused
// in that way when it is first seen stays so. The same after a hypervisor that was killed before it answered.
void GuestLoop::recall_pause(const Key& key, Guest& guest, const Looked& looked) {
  if (guest.seen || !parts_.hypervisor.connected()) return;
  guest.seen = true;
  if (!looked.domain) return;
  if (looked.domain->state == hypervisor::State::paused && looked.domain->reason == "User")
    parts_.records.of(key).paused_by_user = true;
  else if (looked.domain->state == hypervisor::State::running && parts_.records.find(key) && !is_being_paused(guest))
    parts_.records.of(key).paused_by_user = false;
}

// What was written here counts until the copy has moved on. A VMI that the copy has not may be another node's now, so
// whether it is gone is asked of the server.
Task<Result<json::Value>> GuestLoop::load(const Key& key, Guest& guest, const json::StoragePtr& storage) {
  static const api::Type& type = *api::find_kind("kubevirt.io", "v1", "VirtualMachineInstance")->type;
  const NodeApi::ObjectPtr copy = parts_.api.vmi(key);
  Result<json::Value> read;
  if (copy) {
    if (!guest.older.contains(copy->resource_version)) guest.older.clear();
    read = json::parse(guest.older.empty() ? copy->json : guest.written, storage);
  } else {
    read = co_await parts_.api.get(parts_.core, {vmi_resource, key.ns, key.name}, storage);
  }
  if (!read) co_return fail(std::move(read.error()));
  if (auto done = api::canonicalize(*read, type); !done) co_return fail(std::move(done.error()));
  co_return std::move(*read);
}

// A node may not read the VMIs of others, so a guest whose VMI was made anew elsewhere is refused like one of a node
// that the server does not know for a moment. Only the second is refused lists of its own VMIs as well.
Task<Result<bool>> GuestLoop::is_orphan(const Key& key, Guest& guest, const Case& one, const Status& refusal,
                                        const json::StoragePtr& storage) {
  const std::string uid = one.facts ? one.facts->uid : std::string();
  const auto ours = co_await parts_.api.is_ours(parts_.core, key, uid, storage);
  if (!ours || *ours) {
    guest.orphan_since.reset();
    co_return fail(ours ? refusal : ours.error());
  }
  const auto now = parts_.clock.steady_now();
  if (!guest.orphan_since) guest.orphan_since = now;
  co_return now - *guest.orphan_since >= guests::orphan_patience(one, refusal.code == 404);
}

// What is on its way to nobody ends: the VMI is gone, ends, or is another one.
void GuestLoop::drop_images(Guest& guest) {
  if (!guest.images_of.empty()) parts_.files.forget(std::exchange(guest.images_of, {}));
}

Task<Result<Outcome>> GuestLoop::pass(const Key& key, Guest& guest, json::StoragePtr storage) {
  const Looked looked = look(key, guest);
  recall_pause(key, guest, looked);
  const guests::Remembered* remembered = parts_.records.find(key);
  if (!looked.domain && !remembered && !parts_.api.vmi(key)) {
    drop_images(guest);
    guests_.erase(key);
    co_return Outcome();
  }
  const guests::Remembered nothing;
  Case one{.domain = looked.domain.get(),
           .facts = looked.facts.get(),
           .remembered = remembered ? *remembered : nothing,
           .node = parts_.node,
           .now = parts_.clock.wall_now(),
           .steady = parts_.clock.steady_now()};
  if (has_left(one) && parts_.hypervisor.connected()) {  // VMI-H02, also when the VMI may not be read any more
    *guest.move = {};
    co_return co_await remove(key, guest, one);
  }
  auto vmi = co_await load(key, guest, storage);
  const bool is_refused = !vmi && (vmi.error().code == 404 || vmi.error().code == 403);
  if (!is_refused) guest.orphan_since.reset();
  if (!vmi && !is_refused) co_return fail(std::move(vmi.error()));
  if (is_refused && one.domain_is_alive()) {  // nothing that runs ends because of a single answer
    const auto orphan = co_await is_orphan(key, guest, one, vmi.error(), storage);
    if (!orphan) co_return fail(orphan.error());
    if (!*orphan) co_return Outcome{.again = limits::guest_look_again};
  }
  one.vmi = vmi ? vmi->if_object() : nullptr;
  if (!wants_images(one, guest.images_of)) drop_images(guest);
  // While a guest moves the two loops of its migration have the word; a source that waits for the other goes on.
  const guests::MoveDecision moving = guests::decide_move(one, *guest.move);
  if (parts_.hypervisor.connected() && moving.act != guests::MoveAct::none && moving.rule != "MIG-R13")
    co_return co_await move(moving, key, guest, one, *vmi, storage);
  const Decision decision = guests::decide(one, parts_.hypervisor.connected());
  if (decision.action == Action::nothing) {
    Outcome idle;
    idle.again = decision.again;
    co_return idle;
  }
  co_return co_await follow(decision, key, guest, one, vmi ? &*vmi : nullptr, storage);
}

// Acts, and writes what is true then.
Task<Result<Outcome>> GuestLoop::follow(const Decision& decision, const Key& key, Guest& guest, const Case& one,
                                        const json::Value* vmi, const json::StoragePtr& storage) {
  // The end is written before anything of the guest goes: whoever is killed in between says the same again.
  const bool ends = decision.action == Action::remove && !decision.is_of_another && one.vmi && !one.is_final() &&
                    is_final(guests::phase_of(one));
  tracing::Span span = guest_span(one, decision);
  Outcome outcome;
  if (ends)
    outcome.tell(EventType::normal, "Deleted", "Signaled Deletion");  // STP-08
  else
    outcome = co_await act(key, guest, decision, one, vmi, storage);
  if (decision.again) outcome.look_again(*decision.again);
  if (decision.is_of_another && decision.action == Action::remove && !outcome.error) queue_.add(key);
  if (!one.vmi || decision.is_of_another) co_return outcome;
  tell(*one.vmi, guest, outcome);
  if (one.is_final()) co_return outcome;
  if (outcome.error && !outcome.is_known && !engine::is_lost_race(*outcome.error))
    events_.tell(*one.vmi, {.type = EventType::warning, .reason = "SyncFailed", .message = outcome.error->message});
  const Looked looked = look(key, guest);
  const guests::Remembered nothing;
  const guests::Remembered* remembered = parts_.records.find(key);
  const bool acted = decision.action == Action::synchronise;  // what was started shows at once
  const Case now{.vmi = one.vmi,
                 .domain = acted ? looked.domain.get() : one.domain,
                 .facts = acted ? looked.facts.get() : one.facts,
                 .remembered = remembered ? *remembered : nothing,
                 .node = parts_.node,
                 .now = one.now,
                 .steady = one.steady};
  if (outcome.error) span.fail(outcome.error->reason);
  const tracing::HandOver handed(span.context());
  if (auto done = co_await write(key, guest, now, outcome, storage); !done) co_return fail(std::move(done.error()));
  if (ends) queue_.add(key);  // VMI-D05
  co_return outcome;
}

void GuestLoop::tell(const json::Object& vmi, Guest& guest, const Outcome& outcome) {
  for (const std::string& panic : std::exchange(guest.panics, {}))  // STP-23
    events_.tell(vmi, {.type = EventType::warning, .reason = "GuestPanicked", .message = panic});
  if (const auto action = std::exchange(guest.watchdog, std::nullopt))
    events_.tell(vmi, {.type = EventType::warning,
                       .reason = "WatchdogFired",
                       .message = fmt::format("The watchdog of the guest fired; its action is {}.", *action)});
  for (const controllers::Event& event : outcome.events) events_.tell(vmi, event);
}

// --- acting ----------------------------------------------------------------------------------------------------------

Task<Outcome> GuestLoop::act(const Key& key, Guest& guest, const Decision& decision, const Case& one,
                             const json::Value* vmi, const json::StoragePtr& storage) {
  switch (decision.action) {
    case Action::synchronise: {
      const Work work = work_of(key, one, *vmi, storage);
      guest.images_of = work.uid;
      co_return co_await synchronise(work, one, guest);
    }
    case Action::shut_down:
      co_return co_await shut_down(key, guest, one);
    case Action::kill:
      co_return co_await kill(key);
    case Action::remove:
      co_return co_await remove(key, guest, one);
    case Action::nothing:
    case Action::only_report:
    case Action::await_end:
      break;
  }
  co_return Outcome();
}

Work GuestLoop::work_of(const Key& key, const Case& one, const json::Value& vmi, const json::StoragePtr& storage) {
  return {.key = key,
          .vmi = vmi,
          .uid = std::string(controllers::metadata_text(*one.vmi, "uid")),
          .domain = domain_name(key),
          .remembered = parts_.records.of(key),
          .storage = storage};
}

Task<Outcome> GuestLoop::move(const guests::MoveDecision& decision, const Key& key, Guest& guest, const Case& one,
                              const json::Value& vmi, const json::StoragePtr& storage) {
  const Work work = work_of(key, one, vmi, storage);
  guest.images_of = work.uid;
  const std::shared_ptr<guests::Move> known = guest.move;
  Outcome outcome = co_await mover_.act(decision, work, one, known, [&](const Mover::Change& change) {
    return commit(key, guest, one, change, storage);
  });
  tell(*one.vmi, guest, outcome);
  if (outcome.error && !engine::is_lost_race(*outcome.error))  // MIG-R04, MIG-D07
    events_.tell(*one.vmi, {.type = EventType::warning, .reason = "SyncFailed", .message = outcome.error->message});
  co_return outcome;
}

Task<Outcome> GuestLoop::synchronise(const Work& work, const Case& one, Guest& guest) {
  Outcome outcome;
  if (one.domain) {
    guest.start_error.reset();
    guest.start_pause = {};
    outcome = co_await updater_.update(work, one, guest.volumes);
    co_await credentials_.keep(work, one, guest.credentials, outcome);
    co_return outcome;
  }
  const auto mounted = co_await updater_.mount_all(work, guest.volumes);
  if (!mounted) {
    outcome.error = mounted.error();
    outcome.tell(EventType::warning, "HotplugFailed", mounted.error().message);
  } else if (!*mounted) {
    outcome.look_again(limits::guest_look_again);
  } else {
    co_return co_await start(work, guest);
  }
  co_return outcome;
}

// An attempt makes and removes a definition, and both are news that lead to the next pass: those would never end.
Task<Outcome> GuestLoop::start(const Work& work, Guest& guest) {
  Outcome outcome;
  const auto now = parts_.clock.steady_now();
  if (guest.start_error && now < guest.start_due) {
    outcome.error = guest.start_error;
    outcome.is_known = true;
    outcome.look_again(std::chrono::ceil<std::chrono::milliseconds>(guest.start_due - now));
    co_return outcome;
  }
  outcome = co_await starter_.start(work);
  guest.start_error = outcome.error;
  if (!outcome.error) co_return outcome;
  guest.start_pause =
      std::clamp<std::chrono::milliseconds>(guest.start_pause * 2, limits::guest_look_again, limits::guest_backoff_max);
  guest.start_due = now + guest.start_pause;
  co_return outcome;
}

Task<Outcome> GuestLoop::shut_down(const Key& key, Guest& guest, const Case& one) {
  Outcome outcome;
  guests::Remembered& remembered = parts_.records.of(key);
  const bool is_first = !remembered.shutdown_since;
  if (is_first) {
    remembered.shutdown_since = one.steady;
    (void)co_await parts_.records.save(parts_.core);
    outcome.tell(EventType::normal, "ShuttingDown", "Signaled Graceful Shutdown");  // STP-03
  }
  // Its time runs from now on, whatever its agent does: nothing here waits for that.
  passes_.start(parts_.core, ask_to_end(domain_name(key), guest.asked));
  co_return outcome;
}

// A guest that does not take it may still end by itself, and is killed at the end of its time (STP-04).
Task<void> GuestLoop::ask_to_end(std::string domain, std::shared_ptr<Asked> asked) {
  using enum hypervisor::Hypervisor::Asked;
  const auto now = parts_.clock.steady_now();
  if (*asked && now - **asked < limits::guest_agent_patience) co_return;
  const auto how = *asked ? button : agent_or_button;
  if (how == agent_or_button) *asked = now;
  const auto done = co_await parts_.hypervisor.shut_down(parts_.core, domain, how);
  if (how == agent_or_button) asked->reset();
  if (!done) log::warning("a guest was not asked to end", {{"domain", domain}, {"reason", done.error().message}});
}

Task<Outcome> GuestLoop::kill(const Key& key) {
  Outcome outcome;
  auto done = co_await parts_.hypervisor.destroy(parts_.core, domain_name(key));
  if (done)
    outcome.tell(EventType::normal, "Deleted", "VirtualMachineInstance stopping");  // STP-07
  else
    outcome.error = std::move(done.error());
  co_return outcome;
}

// STP-08
Task<Outcome> GuestLoop::remove(const Key& key, Guest& guest, const Case& one) {
  Outcome outcome;
  const guests::Remembered* remembered = parts_.records.find(key);
  std::string uid = one.facts && !one.facts->uid.empty() ? one.facts->uid
                    : remembered                         ? remembered->uid
                                                         : std::string();
  if (auto known = co_await parts_.records.write_down(parts_.core, key, uid); !known) {
    outcome.error = std::move(known.error());
    co_return outcome;
  }
  if (one.domain) {
    auto done = co_await parts_.hypervisor.undefine(parts_.core, domain_name(key));
    if (!done) {
      outcome.error = std::move(done.error());
      co_return outcome;
    }
    if (!one.is_final()) outcome.tell(EventType::normal, "Deleted", "Signaled Deletion");
  }
  if (!uid.empty()) {
    auto cleared = co_await parts_.files.clear(parts_.core, parts_.files.folders(key.ns, key.name, uid));
    if (!cleared) {
      outcome.error = std::move(cleared.error());
      co_return outcome;
    }
    parts_.files.forget(uid);
  }
  if (parts_.groups.drop) parts_.groups.drop(domain_name(key));
  guest.volumes = {};
  guest.credentials = {};
  parts_.records.forget(key);
  auto saved = co_await parts_.records.save(parts_.core);
  if (!saved) outcome.error = std::move(saved.error());
  co_return outcome;
}

// --- telling ---------------------------------------------------------------------------------------------------------

guests::VolumeFacts GuestLoop::volume_facts(const Guest& guest, const Case& one, std::string_view volume) const {
  guests::VolumeFacts facts;
  const guests::DiskFact* disk = one.facts && one.domain_is_alive() ? one.facts->disk(volume) : nullptr;
  if (disk && !disk->source.empty()) facts.target = disk->target;
  facts.mounted = guest.volumes.mounted.contains(volume);
  const auto iso = std::ranges::find(one.remembered.iso_bytes, volume, [](const auto& pair) { return pair.first; });
  if (iso != one.remembered.iso_bytes.end()) facts.iso_size = iso->second;
  const json::Value* status = json::find(*one.vmi, "status");
  const json::Array* entries = status ? json::get_array(*status, "volumeStatus") : nullptr;
  if (!entries || guest.volumes.dumps.empty()) return facts;
  for (const json::Value& entry : *entries) {
    const json::Object* dump = json::get_object(entry, "memoryDumpVolume");
    if (!dump || json::get_string_or(entry, "name") != volume) continue;
    const auto done = guest.volumes.dumps.find(json::get_string_or(*dump, "targetFileName"));
    facts.dumped = done != guest.volumes.dumps.end();
    if (facts.dumped) facts.dump_failure = done->second;
  }
  return facts;
}

Task<Result<void>> GuestLoop::write(const Key& key, Guest& guest, const Case& one, const Outcome& outcome,
                                    const json::StoragePtr& storage) {
  const std::string name = domain_name(key);
  const std::shared_ptr<const guests::AgentFacts> agent = parts_.agent ? parts_.agent(name) : nullptr;
  guests::Seen seen{.node = parts_.info, .agent = agent.get()};
  seen.volumes = [&](std::string_view volume, std::string_view, bool) { return volume_facts(guest, one, volume); };
  seen.disk_failures = std::exchange(guest.disk_failures, {});
  seen.credentials = guest.credentials.result;
  seen.grown = outcome.grown;
  if (outcome.awaited) {
    seen.error = outcome.awaited->message;
    seen.error_reason = outcome.awaited->reason;
  }
  if (outcome.error) {
    seen.error = outcome.error->message;
    seen.error_reason = {};
    if (outcome.error->reason == images::pull_failed_reason || outcome.error->reason == images::pull_waits_reason)
      seen.error_reason = outcome.error->reason;
    const auto& causes = outcome.error->details.causes;
    seen.is_hopeless = !causes.empty() && causes.front().rule == "DOM-CTX-06a";  // no firmware for it here
  }
  const std::vector<guests::DiskFailure> failures = seen.disk_failures;
  auto done = co_await commit(key, guest, one, [&](Draft& draft) { guests::report(draft, one, seen); }, storage);
  if (!done) guest.disk_failures = failures;
  co_return done;
}

// What differs is written, conditional on what was read; what is told is told once it is.
Task<Result<void>> GuestLoop::commit(const Key& key, Guest& guest, const Case& one, const Mover::Change& change,
                                     const json::StoragePtr& storage) {
  const NoWorld world;
  const config::ConfigPtr config = parts_.api.config();
  const controllers::Turn turn{.world = world,
                               .key = key,
                               .config = *config,
                               .now = one.now,
                               .steady = one.steady,
                               .random = random_u64(),
                               .storage = storage};
  Draft draft(turn, *one.vmi);
  change(draft);
  controllers::Pass pass = draft.take();
  const auto update = std::ranges::find(pass.effects, controllers::Verb::update, &controllers::Effect::verb);
  if (update != pass.effects.end()) {
    auto done = co_await parts_.api.update(parts_.core, {vmi_resource, key.ns, key.name}, update->document, storage);
    if (!done) co_return fail(std::move(done.error()));
    guest.older.emplace(controllers::metadata_text(*one.vmi, "resourceVersion"));
    guest.written = json::to_text(*done);
  }
  for (const controllers::Told& told : pass.events) events_.tell(*one.vmi, told.event);
  co_return Result<void>();
}

}  // namespace vg::handler
