// The threads of this process, as the kernel tells of them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace vg::profile {

struct Thread {
  pid_t id = 0;
  std::string name;
  char state = '?';                 // 'R' runs, 'S' waits, ...
  std::chrono::nanoseconds cpu{0};  // time that it ran
};

std::vector<pid_t> thread_ids();
std::vector<Thread> threads();

// From the text of /proc/self/task/ID/stat.
Thread read_thread(pid_t id, std::string_view stat);

}  // namespace vg::profile
