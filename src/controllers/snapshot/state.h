// What a pass over a snapshot or its content reads (spec copies 3.1, 3.3).
#pragma once

#include <optional>
#include <string>

#include "controllers/copies/source.h"
#include "controllers/world.h"

namespace vg::controllers::snapshot {

using namespace copies;  // one subject, in several folders

inline constexpr string_view finalizer = "snapshot.kubevirt.io/vmsnapshot-protection";
inline constexpr string_view content_finalizer = "snapshot.kubevirt.io/vmsnapshotcontent-protection";
inline constexpr string_view source_finalizer = "snapshot.kubevirt.io/snapshot-source-protection";
// Ours: image records die with the content (SNAP-70), so that it stays until they are gone.
inline constexpr string_view records_finalizer = "virtgate.dev/image-records";

// The VM that is copied, and its VMI.
struct Source {
  string_view name;
  const Object* vm = nullptr;
  const Object* vmi = nullptr;
  const Object* node = nullptr;  // of the VMI
  bool locked = false;           // by this snapshot

  bool online() const { return vmi != nullptr; }
  bool is_copied_by_node() const;  // which has it, and may be writing its disks
  bool paused() const;
  bool has_agent() const;
  bool is_frozen() const;
};

struct State {
  const Object& snapshot;
  const Object* status = nullptr;
  Source source = {};
  const Object* content = nullptr;
  std::optional<Time> deadline = {};
  bool deleted = false, progressing = false, exceeded = false;

  bool is_ending() const { return deleted || exceeded; }  // "term"
  bool drops_content() const;                             // "drop(K)"
};

State read_state(const World& world, const Object& snapshot, Time now);
// What is made of the VM is made for it.
Identity identity_of(const Turn& turn, const State& state);
// The name of the content that the snapshot has, or will have.
std::string content_of(const Object& snapshot);
// spec.failureDeadline; nothing when there is none.
std::optional<std::chrono::nanoseconds> failure_deadline(const Object& snapshot);

}  // namespace vg::controllers::snapshot
