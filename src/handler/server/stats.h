// Counters of a guest for those who draw them: one question to the hypervisor a second, however many look.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "base/time_rfc3339.h"
#include "guests/facts.h"
#include "hypervisor/hypervisor.h"

namespace vg::handler {

// {"time":"...","cpu":{...},"memory":{...},"disks":[...],"networks":[...]}: disks and NICs have the names that the VMI
// gives them.
std::string stats_document(const hypervisor::DomainStats& stats, const guests::DomainFacts& facts, Timestamp now);

class GuestStats {
 public:
  GuestStats(hypervisor::Hypervisor& hypervisor, const Clock& clock) : hypervisor_(hypervisor), clock_(clock) {}

  // 409 when it does not run.
  Task<Result<std::string>> tell(Core& core, std::string domain);

 private:
  struct Told {
    Clock::Steady at{};
    std::string document;
    std::string uuid;     // of the domain that it is about
    bool asking = false;  // somebody asks for the next one
  };
  // What is new enough to be told again; empty: it has to be asked for, by who was told so.
  std::string told_lately(const hypervisor::Domain& domain);
  void note(const hypervisor::Domain& domain, std::string document);

  hypervisor::Hypervisor& hypervisor_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Told, std::less<>> told_;  // by domain
};

}  // namespace vg::handler
