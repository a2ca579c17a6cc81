// The copy of a disk that a guest writes to (spec copies STO-03 (b)): the guest's node has its hypervisor write it into
// the folder of the record, and says beside it how far that is; a job of the disk worker waits for its end. A note by
// rename, so that either side may be killed at any time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "disks/outcome.h"

namespace vg::disks {

inline constexpr const char* live_image_file = ".part-live";
inline constexpr const char* live_note_file = ".live.json";

struct LiveCopy {
  enum class State : std::uint8_t {
    unused,  // no guest has the disk open: it may be copied as it is
    copying,
    done,
    failed,
  };
  State state = State::copying;
  std::int64_t at_ms = 0;  // the point in time that the copy is of
  int progress = -1;       // in hundredths of a percent
  std::string message = {};
  std::chrono::seconds silent{0};  // read: since it was written
  bool operator==(const LiveCopy&) const = default;
};

// Of an open folder. Nothing: no node has said anything.
std::optional<LiveCopy> read_live(int folder);
Outcome<> write_live(int folder, const LiveCopy& copy);

}  // namespace vg::disks
