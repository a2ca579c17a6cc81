// The room on the disk while something is written: what was free at the start may be gone, since others write as well.
// The store of the server is on the same disk, so whoever fills it is stopped before that.
#pragma once

#include <cstdint>

#include "base/disk_limits.h"
#include "disks/outcome.h"

namespace vg::disks {

// What may still be written on the disk of an open file or folder, the reserve left aside; never negative.
std::int64_t room_on(int descriptor, std::int64_t reserve = limits::disk_reserve_bytes);
// DV-90
std::unexpected<Failure> no_room();
// DV-90: a full disk in the words that clients know, wherever it was found to be full.
Failure in_known_words(Failure failure);

// Of one who writes by himself.
class RoomWatch {
 public:
  explicit RoomWatch(int descriptor) : descriptor_(descriptor) {}
  // Before so many bytes are written. Looks now and then.
  Outcome<> before(std::int64_t bytes);

 private:
  int descriptor_;
  std::int64_t until_look_ = 0;
};

}  // namespace vg::disks
