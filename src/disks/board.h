// Which jobs there are and which may run: one that writes a claim has it for itself, those that read one share it (spec
// copies STO-04). Pure: whoever uses it tells the time.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "disks/outcome.h"
#include "disks/registry.h"
#include "ports/disk_agent.h"

namespace vg::disks {

class JobBoard {
 public:
  using Time = std::chrono::system_clock::time_point;

  // False when it waits or runs already.
  bool ask(DiskJob job, Time now);
  // True when it runs, so that the worker has to be told.
  bool cancel(std::string_view id);
  // Those that may begin now; they count as running from here on.
  std::vector<DiskJob> start(Time now);
  // False when nobody knows the job.
  bool progress(std::string_view id, int progress);
  bool ended(std::string_view id, const std::optional<Failure>& failure, Labels labels, Time now);
  // The worker is gone, and all that it was working on. Their ids.
  std::vector<std::string> lost(Time now);

  std::optional<DiskJobStatus> status(std::string_view id) const;
  // Which one it is about; an empty name for none.
  DiskClaimName claim_of(std::string_view id) const;
  DiskHold hold(const DiskClaimName& claim) const;

 private:
  struct Entry {
    DiskJob job;
    DiskJobStatus status;
  };
  struct Busy {
    std::string writer;
    int readers = 0;
  };
  bool may_start(const DiskJob& job) const;
  void take_hold(const DiskJob& job);
  void drop_hold(const DiskJob& job);
  void remember(const std::string& id);

  std::map<std::string, Entry, std::less<>> entries_;
  std::deque<std::string> waiting_;  // in the order in which they were asked for
  std::deque<std::string> over_;     // the oldest first
  std::map<DiskClaimName, Busy> busy_;
  std::size_t running_slow_ = 0;
  std::map<std::string, std::size_t, std::less<>> fetches_of_;  // running, by namespace
};

}  // namespace vg::disks
