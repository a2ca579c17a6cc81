// What a node decides from: the VMI, the domain, what is remembered of both, the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/world.h"
#include "guests/facts.h"
#include "hypervisor/hypervisor.h"
#include "json/value.h"

namespace vg::guests {

using controllers::Steady;
using controllers::Time;

// Attempts to let a guest go on whose disk failed (spec vmi-lifecycle 3.9).
struct IoRetry {
  std::optional<Steady> last = {}, next = {};
  std::chrono::seconds interval{0};
};

// Of one VMI, kept by the node as long as it has anything to do with it.
struct Remembered {
  std::string uid = {};
  std::int64_t grace_seconds = 30;            // RUN-SYN-04: as it was when the VMI was last synchronised
  std::optional<Steady> shutdown_since = {};  // STP-03
  bool paused_by_user = false;                // RUN-SYN-02
  bool stop_wanted = false;                   // VMI-D01
  std::string address = {};                   // where the guest is reached (UNET-11)
  bool ports_forwarded = false;               // UNET-12
  bool ports_tidied = false;                  // of a process that ended; not kept over a restart
  std::vector<std::pair<std::string, std::int64_t>> iso_bytes = {};  // by volume
  IoRetry io = {};                                                   // not kept over a restart
};

struct Case {
  const json::Object* vmi = nullptr;           // null: there is none
  const hypervisor::Domain* domain = nullptr;  // null: there is none
  const DomainFacts* facts = nullptr;          // of the domain's document; null when it could not be read
  const Remembered& remembered;
  std::string_view node = {};
  Time now = {};       // for what is written
  Steady steady = {};  // for how long something took

  bool domain_is_alive() const;
  bool is_paused(std::string_view reason) const;
  bool is_deleting() const;
  bool is_final() const;
  std::string_view phase() const;  // of the VMI; empty when there is none
};

// spec vmi-lifecycle 3.2
bool is_migrating(const Case& one);

}  // namespace vg::guests
