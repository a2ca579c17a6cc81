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
  // A look-up whose answer is not there yet fails; what came of it is not to be used.
  virtual const Lookups& lookups() const = 0;
  // Fetches what was asked for and not there. False when nothing was: what was decided holds.
  virtual Task<bool> fetch(Core& core) = 0;
};

class LookupSource {
 public:
  virtual ~LookupSource() = default;
  // For one request of this user, or from this address where nobody has said who they are.
  virtual std::unique_ptr<LookupSession> open(std::string_view asker) const = 0;
};

}  // namespace admission
}  // namespace vg
