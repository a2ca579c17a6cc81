// Whose turn it is among coroutines that wait for the same thing.
#pragma once

#include <coroutine>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace vg::resources {

// Coroutines that wait, by whom they work for: the first of each in turn, whatever the others have waiting. Has no
// lock of its own.
class FairQueue {
 public:
  struct Flow;
  using Flows = std::list<Flow>;
  struct Waiter {
    std::coroutine_handle<> coroutine;
    bool queued = false;
    Flows::iterator flow;
    std::list<Waiter*>::iterator place;
  };
  struct Flow {
    std::string who;
    std::list<Waiter*> waiting;
  };

  bool empty() const { return flows_.empty(); }
  void push(std::string_view who, Waiter& waiter) {
    auto found = by_name_.find(who);
    if (found == by_name_.end()) {
      const auto made = flows_.insert(flows_.end(), {.who = std::string(who), .waiting = {}});
      found = by_name_.emplace(made->who, made).first;
    }
    waiter.flow = found->second;
    waiter.place = waiter.flow->waiting.insert(waiter.flow->waiting.end(), &waiter);
    waiter.queued = true;
  }
  // The next one; there must be one.
  Waiter& pop() {
    Waiter& waiter = *flows_.front().waiting.front();
    flows_.splice(flows_.end(), flows_, flows_.begin());
    remove(waiter);
    return waiter;
  }
  // It is thrown away where it waits.
  void remove(Waiter& waiter) {
    if (!std::exchange(waiter.queued, false)) return;
    waiter.flow->waiting.erase(waiter.place);
    if (!waiter.flow->waiting.empty()) return;
    by_name_.erase(waiter.flow->who);
    flows_.erase(waiter.flow);
  }

 private:
  Flows flows_;  // in the order of their turns
  std::map<std::string_view, Flows::iterator> by_name_;
};

}  // namespace vg::resources
