// Which jobs there are and which may run: one that writes a claim has it for itself, those that read one share it (spec
// copies STO-04). What keeps the network busy has other slots than what keeps the disk busy, and no namespace has all
// of them. Pure: whoever uses it tells the time.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "disks/jobs.h"
#include "disks/outcome.h"
#include "disks/registry.h"
#include "ports/disk_agent.h"

namespace vg::disks {

class JobBoard {
 public:
  using Time = std::chrono::system_clock::time_point;

  // False when it waits or runs already.
  bool ask(DiskJob job, Time now);
  // True when it runs, so that the worker has to be told; once.
  bool cancel(std::string_view id);
  // Those that may begin now; they count as running from here on.
  std::vector<DiskJob> start(Time now);
  // False when nobody knows the job.
  bool progress(std::string_view id, int progress);
  bool ended(std::string_view id, const std::optional<Failure>& failure, Labels labels, Time now);
  // The worker is gone, and all that it was working on. Their ids.
  std::vector<std::string> lost(Time now);

  std::optional<DiskJobStatus> status(std::string_view id) const;
  bool is_waiting(std::string_view id) const;
  // Which one it is about; an empty name for none.
  DiskClaimName claim_of(std::string_view id) const;
  DiskHold hold(const DiskClaimName& claim) const;

 private:
  struct Entry {
    DiskJob job;
    DiskJobStatus status;
    std::uint64_t sequence = 0;  // of being asked for
    bool is_cancelled = false;
  };
  // Of one kind of jobs.
  struct Share {
    std::size_t taken = 0;
    std::deque<std::string> waiting = {};  // in the order in which they were asked for
  };
  struct Slots {
    std::size_t taken = 0;
    std::map<std::string, Share, std::less<>> by_namespace = {};
  };
  struct Busy {
    std::string writer;
    int readers = 0;
  };
  // Empty: for nothing.
  std::string waits_for(const DiskJob& job) const;
  std::string waits_for_slot(const DiskJob& job) const;
  std::string waits_for_claim(const DiskJob& job) const;
  void start_kind(Slots& slots, Time now, std::vector<DiskJob>& begun);
  bool start_next(Share& share, Time now, std::vector<DiskJob>& begun);
  void drop_waiting(const Entry& entry);
  void take_hold(const DiskJob& job);
  void drop_hold(const DiskJob& job);
  void remember(const std::string& id);

  std::map<std::string, Entry, std::less<>> entries_;
  std::deque<std::string> over_;  // the oldest first
  std::map<DiskClaimName, Busy> busy_;
  std::array<Slots, job_kinds> slots_;
  std::uint64_t sequence_ = 0;
};

}  // namespace vg::disks
