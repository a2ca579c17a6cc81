// Whose turn it is to work on much. Requests of users take turns (server/fairness.h); what the server does by itself
// does not.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "base/task.h"

namespace vg {

class WorkTurns {
 public:
  // Before so many bytes of bodies and objects are gone over: waits for the turn of such a request, since few of them
  // can be worked on at once. An error is the answer to give.
  virtual Task<Result<void>> work_on(std::size_t bytes) = 0;
  // Before it waits for others who may need such a turn themselves: gives its own back. work_on() asks for a new one.
  virtual void release_turn() = 0;

 protected:
  ~WorkTurns() = default;
};

}  // namespace vg
