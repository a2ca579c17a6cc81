// Live migrations between the nodes of a machine: the loops of source and target, and the engine
// (spec migration-and-fleets 3 to 5).
#pragma once

#include <functional>
#include <memory>

#include "guests/moving.h"
#include "handler/sync/guest.h"
#include "handler/sync/starting.h"
#include "http/task_set.h"

namespace vg::handler {

class Mover {
 public:
  // Writes what a function makes of the VMI, unless nothing changed.
  using Change = std::function<void(controllers::vmi::Draft&)>;
  using Write = std::function<Task<Result<void>>(const Change&)>;
  using Wake = std::function<void(const Key&)>;

  // On the core. Tasks are ended by their owner.
  Mover(LoopParts& parts, Starter& starter, http::TaskSet& tasks, Wake wake)
      : parts_(parts), starter_(starter), tasks_(tasks), wake_(std::move(wake)) {}

  Task<Outcome> act(const guests::MoveDecision& decision, const Work& work, const guests::Case& one,
                    const std::shared_ptr<guests::Move>& move, const Write& write);

 private:
  using MovePtr = std::shared_ptr<guests::Move>;
  void abort(const Work& work, const guests::Case& one, const MovePtr& move);
  Task<void> send(const Work& work, const guests::Case& one, const MovePtr& move);
  Task<Result<void>> start_engine(const Work& work, const guests::Case& one, const MovePtr& move);
  Task<Result<void>> tell(const guests::MoveDecision& decision, const guests::Case& one, const guests::Move& move,
                          const Write& write);
  Task<Result<void>> prepare(const Work& work, const guests::Case& one, const MovePtr& move, Outcome& outcome);
  Task<void> engine(Key key, std::string domain, hypervisor::MigrationRequest request, MovePtr move);
  Task<void> monitor(Key key, std::string domain, guests::TransferRules rules, MovePtr move);
  Task<bool> go_on_otherwise(const std::string& domain, guests::Transfer::Next how, MovePtr move);
  Task<void> cancel(std::string domain, MovePtr move);
  Task<Result<void>> receive(const Work& work, const guests::Case& one, const Write& write, Outcome& outcome);
  Task<Result<void>> settle(const Work& work, const guests::Case& one, const MovePtr& move, const Write& write,
                            Outcome& outcome);
  Task<Result<void>> leave(const Work& work, const guests::Case& one, Outcome& outcome);
  Task<Result<void>> discard(const Work& work, const guests::Case& one);
  Task<Result<void>> end_held(const Work& work, const guests::Case& one, guests::Move& move, const Status& refusal);
  Task<void> release(std::string domain);
  Task<void> follow(Key key, std::string domain, MovePtr move);
  Task<Result<void>> clean_up(const Work& work, const guests::Case& one, const Write& write);

  LoopParts& parts_;
  Starter& starter_;
  http::TaskSet& tasks_;
  const Wake wake_;
};

}  // namespace vg::handler
