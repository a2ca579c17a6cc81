// Copies of the disks of running guests to image records (spec copies STO-03 (b), SNAP-71): the hypervisor writes them
// while the guest runs on, all as of one point in time. What becomes of them is told by a note in the folder of each
// record (disks/live_copy.h), where a job of the disk worker waits for it.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "handler/server/target.h"
#include "http/task_set.h"
#include "hypervisor/hypervisor.h"

namespace vg::handler {

struct CopyWish {
  std::string claim, record;
};
// {"copies":[{"claim":"root","record":"..."}]}. Names that cannot be those of folders are refused.
Result<std::vector<CopyWish>> read_wishes(std::string_view body);

class DiskCopies {
 public:
  DiskCopies(hypervisor::Hypervisor& hypervisor, std::string disks, http::TaskSet& tasks)
      : hypervisor_(hypervisor), disks_(std::move(disks)), tasks_(tasks) {}

  // Answers when the point in time is over, or at once when such a copy is being made: it is asked for again after a
  // restart of the server.
  Task<Result<void>> begin(Core& core, Target target, std::string body);

 private:
  void start_following(Core& core, std::string domain, std::vector<std::string> records, std::int64_t at_ms);
  Task<void> follow(Core& core, std::string domain, std::vector<std::string> records, std::int64_t at_ms);

  hypervisor::Hypervisor& hypervisor_;
  const std::string disks_;
  http::TaskSet& tasks_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> followed_;  // domains whose copy is looked after
};

}  // namespace vg::handler
