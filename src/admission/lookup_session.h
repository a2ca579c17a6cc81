// Look-ups whose answers may have to be fetched first, over a network for instance.
//
// Rules never wait. Whoever asks them about a request opens a session for it, asks, has fetched what the rules wanted
// to know and could not, and asks again, until nothing is missing. Rules are pure, so asking them once more costs their
// time and nothing else.
#pragma once

#include <memory>

#include "admission/context.h"
#include "base/task.h"

namespace vg {
class Core;

namespace admission {

class LookupSession {
 public:
  virtual ~LookupSession() = default;
  // A look-up whose answer is not there yet fails, and from then on they say that they have missed.
  virtual const Lookups& lookups() const = 0;
  // Fetches everything that was missed, all of it at once. There is an end to it: what cannot be had in the time that a
  // session has, or leads on and on, fails for good and is not missed any more.
  virtual Task<void> fetch(Core& core) = 0;
};

class LookupSource {
 public:
  virtual ~LookupSource() = default;
  // For one request of this user, or from this address where nobody has said who they are.
  virtual std::unique_ptr<LookupSession> open(std::string_view asker) const = 0;
};

// Where everything is at hand: sessions never miss.
class ReadyLookups final : public LookupSource {
 public:
  // Which outlive this.
  explicit ReadyLookups(const Lookups& lookups) : lookups_(lookups) {}
  std::unique_ptr<LookupSession> open(std::string_view) const override { return std::make_unique<Session>(lookups_); }

 private:
  class Session final : public LookupSession {
   public:
    explicit Session(const Lookups& lookups) : lookups_(lookups) {}
    const Lookups& lookups() const override { return lookups_; }
    Task<void> fetch(Core&) override { co_return; }

   private:
    const Lookups& lookups_;
  };
  const Lookups& lookups_;
};

}  // namespace admission
}  // namespace vg
