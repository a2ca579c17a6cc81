#include "handler/sync/moving.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/node_limits.h"
#include "controllers/common/conditions.h"
#include "controllers/nodes.h"
#include "guests/decide.h"
#include "handler/place.h"
#include "handler/sync/growing.h"
#include "json/access.h"

namespace vg::handler {
namespace {

using controllers::vmi::Draft;
using guests::Case;
using guests::Move;
using guests::MoveAct;

// Of sockets by which a guest moves.
struct NodeFolders {
  std::string source, target, shared;
};

// What was decided is written by the next pass.
constexpr std::chrono::milliseconds soon{1};

std::string uid_in(const json::Object* migration_state) {
  return std::string(json::text_in(migration_state, "migrationUid"));
}

// A path that both nodes see, of a socket under the name of the guest, with whose files it is removed. Where it really
// is depends on whether those who make it and connect to it have views of their own, which the next ones may have when
// the ones that run have none: all of them lead to it.
std::string add_socket(const NodeFolders& folders, const std::string& name, hypervisor::MigrationRequest& request) {
  for (const std::string& there : {folders.target, folders.shared})
    for (const std::string& here : {folders.source, folders.shared})
      if (there != here) request.links.push_back({there + "/" + name, here + "/" + name});
  return fmt::format("unix://{}/{}", folders.shared, name);
}

// Ports that nobody listens on: what is sent goes through sockets of this machine. Clients see the usual shape.
std::vector<std::pair<std::string, int>> ports_of(const Case& one) {
  std::vector<std::pair<std::string, int>> ports{{"49152", 0}, {"49153", 49152}};
  const json::Object* status = json::get_object(*one.vmi, "status");
  if (status && json::get_string_or(*status, "migrationMethod") == "BlockMigration") ports.emplace_back("49154", 49153);
  return ports;
}

}  // namespace

Task<Outcome> Mover::act(const guests::MoveDecision& decision, const Work& work, const Case& one, const MovePtr& move,
                         const Write& write) {
  Outcome outcome;
  Result<void> done;
  switch (decision.act) {
    case MoveAct::none:
      break;
    case MoveAct::wait:
      outcome.look_again(limits::guest_look_again);
      break;
    case MoveAct::abort:
      abort(work, one, move);
      // A hypervisor that refuses to end it is asked again, but not at once.
      outcome.look_again(move->is_over ? soon : std::chrono::milliseconds(limits::migration_look));
      break;
    case MoveAct::send:
      co_await send(work, one, move);
      outcome.look_again(soon);
      break;
    case MoveAct::tell:
      done = co_await tell(decision, one, *move, write);
      break;
    case MoveAct::prepare:
      done = co_await prepare(work, one, move, outcome);
      break;
    case MoveAct::receive:
      done = co_await receive(work, one, write, outcome);
      break;
    case MoveAct::clean_up:
      done = co_await clean_up(work, one, write);
      break;
    case MoveAct::settle:
      done = co_await settle(work, one, move, write, outcome);
      break;
    case MoveAct::leave:
      done = co_await leave(work, one, outcome);
      break;
  }
  if (!done) outcome.error = done.error();
  co_return outcome;
}

// --- source ----------------------------------------------------------------------------------------------------------

// MIG-R11
void Mover::abort(const Work& work, const Case& one, const MovePtr& move) {
  const std::string uid = uid_in(guests::moving_of(*one.vmi));
  if (!move->began || move->uid != uid) {  // nothing was sent yet
    *move = {.uid = uid, .began = one.now, .is_over = true, .failure = std::string(guests::migration_aborted)};
    return;
  }
  move->is_aborting = true;
  tasks_.start(parts_.core, cancel(work.domain, move));
}

Task<Result<void>> Mover::tell(const guests::MoveDecision& decision, const Case& one, const Move& move,
                               const Write& write) {
  if (decision.rule == "MIG-R20") co_return co_await write([&](Draft& draft) { guests::show_begin(draft, move.mode); });
  const bool is_known = move.uid == uid_in(guests::moving_of(*one.vmi)) && !move.failure.empty();
  const std::string why = is_known ? move.failure : "the process that sent the guest has ended";
  co_return co_await write([&](Draft& draft) { guests::show_failure(draft, why, false); });
}

// Whatever goes wrong from here on is how the migration ended.
Task<void> Mover::send(const Work& work, const Case& one, const MovePtr& move) {
  *move = {.uid = uid_in(guests::moving_of(*one.vmi)), .began = one.now};
  const auto done = co_await start_engine(work, one, move);
  if (done) co_return;
  move->is_over = true;
  move->failure = guests::failure_text(done.error().message, move->is_aborting);
}

Task<Result<void>> Mover::start_engine(const Work& work, const Case& one, const MovePtr& move) {
  const json::Object* state = guests::moving_of(*one.vmi);
  const OtherNode other = parts_.other_node(json::text_in(state, "targetNode"));
  hypervisor::MigrationRequest request = guests::migration_request(one);
  auto document = co_await parts_.hypervisor.migratable(parts_.core, work.domain);
  if (!document) co_return fail(std::move(document.error()));
  // Claims are files of this machine, which both nodes are on; libvirt knows only network file systems as shared.
  request.unsafe = true;
  request.destination_uri = other.uri;
  request.relay = fmt::format("{}/{}/{}-to.sock", parts_.paths.sockets, work.uid, move->uid.substr(0, 8));
  const NodeFolders folders{.source = own_moves_folder(parts_.paths.sockets),
                            .target = own_moves_folder(other.paths.sockets),
                            .shared = moves_folder(parts_.paths.sockets)};
  const std::string name = fmt::format("{}-{}", work.uid, move->uid.substr(0, 8));
  request.migrate_uri = add_socket(folders, name + "-ram", request);
  if (!request.disks.empty()) request.disks_uri = add_socket(folders, name + "-disk", request);
  request.destination_name = work.domain;
  request.destination_xml = guests::moved_document(std::move(*document), parts_.paths, other.paths);
  tasks_.start(parts_.core, engine(work.key, work.domain, std::move(request), move));
  tasks_.start(parts_.core, monitor(work.key, work.domain, guests::transfer_rules(*one.vmi), move));
  co_return Result<void>();
}

Task<void> Mover::engine(Key key, std::string domain, hypervisor::MigrationRequest request, MovePtr move) {
  const std::string uid = move->uid;
  const auto done = co_await parts_.hypervisor.migrate(parts_.core, domain, std::move(request));
  if (move->uid != uid) co_return wake_(key);
  move->is_over = true;
  if (!done) move->failure = guests::failure_text(done.error().message, move->is_aborting);
  wake_(key);
}

// MIG-X31
Task<void> Mover::cancel(std::string domain, MovePtr move) {
  const auto done = co_await parts_.hypervisor.abort_job(parts_.core, domain);
  if (!done) {
    log::warning("a migration was not ended", {{"domain", domain}, {"reason", done.error().message}});
    move->is_aborting = false;
  }
}

// MIG-X11, X13. False: it cannot be done, and there is no other way.
Task<bool> Mover::go_on_otherwise(const std::string& domain, guests::Transfer::Next how, MovePtr move) {
  if (how == guests::Transfer::Next::postcopy) {
    const auto done = co_await parts_.hypervisor.start_postcopy(parts_.core, domain);
    if (done) move->mode = "PostCopy";
    co_return done.has_value();
  }
  const auto done = co_await parts_.hypervisor.suspend(parts_.core, domain);
  if (done) move->mode = "Paused";
  co_return done.has_value();
}

// spec migration-and-fleets 5.2
Task<void> Mover::monitor(Key key, std::string domain, guests::TransferRules rules, MovePtr move) {
  using Next = guests::Transfer::Next;
  const std::string uid = move->uid;
  const auto began = parts_.clock.steady_now();
  guests::Transfer transfer(rules);
  for (;;) {
    co_await parts_.core.sleep(limits::migration_look);
    // Whoever has left is forgotten, and may be sent again (MIG-X10).
    if (move->uid != uid || move->is_over || move->mode == "PostCopy") co_return;
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(parts_.clock.steady_now() - began);
    if (const auto progress = co_await parts_.hypervisor.job(parts_.core, domain))
      transfer.see(at, progress->total, progress->remaining);
    co_await release(domain);
    if (move->uid != uid || move->is_over || move->is_aborting) continue;
    const Next next = transfer.decide(at, move->mode).next;
    if (next == Next::nothing) continue;
    if (next != Next::cancel && co_await go_on_otherwise(domain, next, move)) {
      transfer.extend();
      wake_(key);
    } else {  // MIG-X14, X15
      move->is_aborting = true;
      co_await cancel(domain, move);
    }
  }
}

// A migration that was cancelled at the wrong moment waits for a word that libvirt does not say.
Task<void> Mover::release(std::string domain) {
  const auto found = parts_.hypervisor.find(domain);
  if (!found || found->state != hypervisor::State::paused) co_return;
  const auto done = co_await parts_.hypervisor.release_cancelled(parts_.core, domain);
  if (done)
    log::warning("a migration was cancelled while its guest was stopped; told QEMU to go on", {{"domain", domain}});
}

// --- a source that did not see the end -------------------------------------------------------------------------------

Task<Result<void>> Mover::settle(const Work& work, const Case& one, const MovePtr& move, const Write& write,
                                 Outcome& outcome) {
  const json::Object* state = guests::moving_of(*one.vmi);
  bool is_sent = false;
  if (one.domain_is_alive()) {  // an answer also says that the guest is here still
    const auto job = co_await parts_.hypervisor.job(parts_.core, work.domain);
    if (!job) co_return co_await end_held(work, one, *move, job.error());
    move->held_since.reset();
    is_sent = job->active;
    if (!is_sent) co_await release(work.domain);
  }
  auto next = guests::settle_move(one, *move, is_sent, guests::There::not_asked);
  if (next == guests::Settling::ask) {
    const OtherNode other = parts_.other_node(json::text_in(state, "targetNode"));
    const auto found = co_await parts_.hypervisor.look_elsewhere(parts_.core, other.uri, work.domain);
    next = found ? guests::settle_move(one, *move, is_sent, guests::there_of(*found)) : guests::Settling::wait;
    log::info_v(found && next != guests::Settling::wait ? 2 : 4, "the target of a migration was asked for the guest",
                {{"domain", work.domain}, {"reached", found.has_value()}, {"decision", static_cast<int>(next)}});
  }
  using enum guests::Settling;
  switch (next) {
    case nothing:
    case ask:
      break;
    case wait:
      outcome.look_again(limits::migration_look);
      break;
    case adopt:
      *move = {.uid = uid_in(state), .began = one.now};
      tasks_.start(parts_.core, follow(work.key, work.domain, move));
      tasks_.start(parts_.core, monitor(work.key, work.domain, guests::transfer_rules(*one.vmi), move));
      outcome.look_again(soon);
      break;
    case send:
      co_await this->send(work, one, move);
      outcome.look_again(soon);
      break;
    case abort:
      this->abort(work, one, move);
      outcome.look_again(soon);
      break;
    case resume:
      outcome.look_again(soon);
      co_return co_await parts_.hypervisor.resume(parts_.core, work.domain);
    case leave:
      co_return co_await this->leave(work, one, outcome);
    case tell:
      co_return co_await this->tell({MoveAct::tell, "MIG-R21"}, one, *move, write);
  }
  co_return Result<void>();
}

// A hypervisor that never lets go of a guest begins anew, and ends the migration in another way then. If that does not
// help, nothing but the end of its QEMU does.
Task<Result<void>> Mover::end_held(const Work& work, const Case& one, Move& move, const Status& refusal) {
  if (!guests::is_held_by_recovery(one, refusal)) co_return fail(refusal);
  const auto now = parts_.clock.steady_now();
  if (!move.held_since) {
    move.held_since = now;
    if (parts_.hypervisor.restart())
      log::warning("the hypervisor waits for a migration that does not end; it begins anew",
                   {{"domain", work.domain}, {"reason", refusal.message}});
  }
  if (now - *move.held_since < limits::migration_held_max) co_return fail(refusal);
  log::error("a guest was stopped by a migration that does not end, and cannot go on; its QEMU is ended",
             {{"domain", work.domain}, {"reason", refusal.message}});
  co_return co_await parts_.hypervisor.destroy(parts_.core, work.domain);
}

// A migration that another process has begun, for as long as the hypervisor has it.
Task<void> Mover::follow(Key key, std::string domain, MovePtr move) {
  const std::string uid = move->uid;
  for (;;) {
    co_await parts_.core.sleep(limits::migration_look);
    const auto job = co_await parts_.hypervisor.job(parts_.core, domain);
    if (move->uid != uid) co_return;
    if (job && job->active) continue;
    move->is_over = true;
    if (move->is_aborting) move->failure = guests::migration_aborted;
    co_return wake_(key);
  }
}

// The target has it. A hypervisor that is still busy with it lets go by itself.
Task<Result<void>> Mover::leave(const Work& work, const Case& one, Outcome& outcome) {
  if (one.domain_is_alive()) {
    const auto job = co_await parts_.hypervisor.job(parts_.core, work.domain);
    if (!job || job->active) {
      outcome.look_again(limits::migration_look);
      co_return Result<void>();
    }
  }
  co_return co_await discard(work, one);
}

Task<Result<void>> Mover::discard(const Work& work, const Case& one) {
  if (auto known = co_await parts_.records.write_down(parts_.core, work.key, work.uid); !known) co_return known;
  if (one.domain_is_alive())
    if (auto done = co_await parts_.hypervisor.destroy(parts_.core, work.domain); !done) co_return done;
  if (one.domain)
    if (auto done = co_await parts_.hypervisor.undefine(parts_.core, work.domain); !done) co_return done;
  const launch::Folders folders = parts_.files.folders(work.key.ns, work.key.name, work.uid);
  if (auto done = co_await parts_.files.clear(parts_.core, folders); !done) co_return done;
  parts_.files.forget(work.uid);
  parts_.records.forget(work.key);
  co_return co_await parts_.records.save(parts_.core);
}

// --- target ----------------------------------------------------------------------------------------------------------

// MIG-D06, D07
Task<Result<void>> Mover::prepare(const Work& work, const Case& one, const MovePtr& move, Outcome& outcome) {
  const auto prepared = co_await starter_.prepare_target(work);
  if (!prepared) co_return fail(prepared.error());
  if (*prepared) *move = {.uid = uid_in(guests::moving_of(*one.vmi)), .is_prepared = true};
  outcome.look_again(*prepared ? soon : std::chrono::milliseconds(limits::guest_look_again));
  co_return Result<void>();
}

Task<Result<void>> Mover::receive(const Work& work, const Case& one, const Write& write, Outcome& outcome) {
  const json::Object* state = guests::moving_of(*one.vmi);
  if (json::text_in(state, "targetNodeAddress").empty())
    co_return co_await write([&](Draft& draft) { guests::show_target(draft, parts_.address, ports_of(one)); });
  if (!one.domain || !guests::is_active(*one.domain))  // MIG-D10
    co_return co_await write(
        [](Draft& draft) { json::ensure_object(draft.status(), "migrationState")["targetNodeDomainDetected"] = true; });
  // A libvirtd that is killed before the end of its job keeps a guest that runs, and ends one that came paused.
  if (one.is_paused("User") && !co_await parts_.hypervisor.job(parts_.core, work.domain)) {  // MIG-X32
    outcome.look_again(limits::migration_arrival_look);
    co_return Result<void>();
  }
  work.remembered.paused_by_user = one.is_paused("User");  // RUN-MIT-04
  if (auto saved = co_await parts_.records.save(parts_.core); !saved) co_return saved;
  guests::Grown grown;
  if (one.facts) grown = co_await grow(parts_, work, *one.facts, guests::Place::arrived);  // MIG-D30 to MIG-D32
  (void)co_await parts_.hypervisor.set_guest_time(parts_.core, work.domain);               // RUN-MIT-05
  auto done = co_await write([&](Draft& draft) { guests::show_arrival(draft, grown); });
  if (done) co_await starter_.networking().forward_ports(work, outcome);
  co_return done;
}

// MIG-D40, D42
Task<Result<void>> Mover::clean_up(const Work& work, const Case& one, const Write& write) {
  const json::Object* state = guests::moving_of(*one.vmi);
  const json::Object* status = json::get_object(*one.vmi, "status");
  const bool is_here = status && json::get_string_or(*status, "nodeName") == parts_.node;
  if (!is_here && state)
    if (auto done = co_await discard(work, one); !done) co_return done;
  co_return co_await write([](Draft& draft) {
    if (json::Object* labels = json::get_object(draft.metadata(), "labels"))
      json::erase(*labels, "kubevirt.io/migrationTargetNodeName");
  });
}

}  // namespace vg::handler
