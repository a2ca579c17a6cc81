// A cgroup (version 2) for each guest, where the host has delegated one to this user: limits of CPU and memory that
// the kernel keeps. What is read and written is decided by the functions here; a folder that looks like one of the
// kernel's is enough for tests.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::hypervisor {

// The folder of this process's cgroup, of /proc/self/cgroup and /proc/self/mountinfo; an error says why there is none.
Result<std::string> own_cgroup(std::string_view cgroups, std::string_view mounts);

struct CgroupFile {
  std::string name, text;
  bool operator==(const CgroupFile&) const = default;
};
// What is written for such limits, in thousandths of a CPU and bytes; 0: none.
std::vector<CgroupFile> cgroup_files(std::int64_t cpu_milli, std::int64_t memory_bytes, std::int64_t cpu_request_milli);

class GuestCgroups {
 public:
  // `own`: the folder of this process's cgroup. Its processes are moved to a cgroup below it, since one with processes
  // of its own has none with limits below it; one that has processes of others is left alone.
  static Result<GuestCgroups> open(std::string own, std::string_view node, const std::string& proc = "/proc");

  // Again with other limits, or after a migration: whatever is there already is not written again.
  Result<void> keep(const std::string& domain, pid_t process, const std::vector<CgroupFile>& files);
  // After the process has ended. One that has not stays, for the next one.
  void drop(const std::string& domain);

 private:
  GuestCgroups(std::string folder, std::string prefix) : folder_(std::move(folder)), prefix_(std::move(prefix)) {}
  std::string folder_of(const std::string& domain) const { return folder_ + "/" + prefix_ + domain; }
  void clear() const;

  struct Kept {
    pid_t process = 0;
    std::vector<CgroupFile> files;
  };
  std::string folder_, prefix_;
  std::map<std::string, Kept, std::less<>> kept_;
};

}  // namespace vg::hypervisor
