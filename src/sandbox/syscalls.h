// The system calls of a server: which it needs, which end it, and the filter that the kernel is given.
//
// A call that is in neither table fails with ENOSYS, as on an older kernel: a C library that is newer than the tables
// then takes another way, and a rare call that was forgotten fails one request instead of the server.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace vg::sandbox {

std::span<const std::string_view> allowed_calls();  // whatever their arguments
std::span<const std::string_view> deadly_calls();   // nothing that serves makes them: whoever does is an intruder

struct Allowed {
  // Name services may be asked through them. They are also the way to whoever does things for root.
  bool unix_sockets = false;
  // Other programs may be started, and processes be ended. They are under the same filter: the kernel and other views
  // of the machine stay out of reach for them.
  bool programs = false;
  bool network = true;
};

// For all threads of the process, and for good. Needs no_new_privs.
std::expected<void, std::string> apply_seccomp(const Allowed& more);
// The same filter into a file, for a process that is started later. False: it cannot be had.
bool export_seccomp(const Allowed& more, int file);

// For a process that may do everything else, and all that it starts: limits, priorities and CPUs of other processes
// cannot be changed. Landlock keeps signals and debuggers within, but not these, and whoever sets the CPU time of
// another process of the user ends it.
std::expected<void, std::string> keep_off_others();

}  // namespace vg::sandbox
