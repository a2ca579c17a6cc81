// A point in the life of a request where requests of one core meet and go on together.
//
// The code that a request runs through (the kernel's receiving side, decryption, parsing; then rules; then encryption
// and the kernel's sending side) does not fit the processor's first cache at once. A request that goes all the way
// alone finds each part evicted by the one before it. When all that have come so far go through one part, then all
// through the next, the first pays for the rest: with sixteen busy connections a review costs a quarter less.
#pragma once

#include <coroutine>
#include <cstddef>

#include "base/core.h"
#include "http/core_list.h"

namespace vg::http {

class Stage {
 public:
  // At most `most` wait; whoever comes then takes all of them along. What a waiting request holds is bounded by it.
  Stage(Core& core, std::size_t most) : core_(core), most_(most) {}

  // co_await stage.meet(): goes on with the others, after what the event loop has already found ready.
  class [[nodiscard]] Meeting : public ListLink<Meeting> {
   public:
    explicit Meeting(Stage& stage) : stage_(stage) {}
    ~Meeting() {
      if (linked()) --stage_.waiting_;  // thrown away while it waits
    }
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      return stage_.arrive(*this);
    }
    void await_resume() const {}

   private:
    friend class Stage;
    Stage& stage_;
    std::coroutine_handle<> coroutine_;
  };
  Meeting meet() { return Meeting(*this); }

 private:
  // False: the newcomer goes on at once, because it let all others go on before it.
  bool arrive(Meeting& newcomer) {
    if (waiting_ >= most_ && !leaving_) {
      leave();
      return false;
    }
    list_.push_back(newcomer);
    ++waiting_;
    if (!called_) {
      called_ = true;
      core_.post([this] {
        called_ = false;
        leave();
      });
    }
    return true;
  }

  // Those who come meanwhile wait for the next time, or a busy few could keep the core for themselves.
  void leave() {
    leaving_ = true;
    List<Meeting> going;
    going.take(list_);
    while (Meeting* meeting = going.pop_front()) {
      --waiting_;
      meeting->coroutine_.resume();
    }
    leaving_ = false;
  }

  Core& core_;
  std::size_t most_;
  std::size_t waiting_ = 0;
  bool called_ = false;
  bool leaving_ = false;
  List<Meeting> list_;
};

}  // namespace vg::http
