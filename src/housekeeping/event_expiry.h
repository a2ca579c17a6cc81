// Events are kept for an hour after they were last written, as kube-apiserver keeps them.
#pragma once

#include <chrono>
#include <deque>
#include <memory>

#include "housekeeping/controller.h"

namespace vg::resources {

// How far the store's revision had come at which time: so an object's revision tells how old it is, and no object has
// to be opened. After a start everything counts as new. Pure: whoever uses it tells the time.
class RevisionAges {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  explicit RevisionAges(std::chrono::milliseconds span) : span_(span) {}

  void note(Instant now, Revision revision);
  // Every object with this revision or an older one has not been written for `span`; 0 when that is not known of any.
  Revision expired() const { return expired_; }

 private:
  struct Mark {
    Instant at;
    Revision revision = 0;
  };
  std::chrono::milliseconds span_;
  std::deque<Mark> marks_;
  Revision expired_ = 0;
};

// `life` and `interval`: other ones in tests.
std::unique_ptr<Controller> make_event_expiry(ControllerParts parts, std::chrono::milliseconds life,
                                              std::chrono::milliseconds interval);

}  // namespace vg::resources
