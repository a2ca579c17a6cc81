#include "sandbox/syscalls.h"

#include <asm/termbits.h>
#include <fmt/format.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace vg::sandbox {
namespace {

// clang-format off
constexpr std::string_view allowed[] = {
    // Requests: sockets, event loops, timers, locks.
    "read", "write", "readv", "writev", "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg", "sendmmsg",
    "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "epoll_create1", "epoll_create", "poll", "ppoll",
    "select", "pselect6", "eventfd2", "eventfd", "timerfd_create", "timerfd_settime", "timerfd_gettime", "accept",
    "accept4", "bind", "connect", "listen", "shutdown", "getsockname", "getpeername", "getsockopt", "setsockopt",
    "socketpair", "pipe", "pipe2", "splice", "sendfile", "close", "close_range", "dup", "dup2", "dup3", "fcntl",
    "futex", "futex_waitv", "signalfd4", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
    // Files: the store, certificates, logs.
    "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "lseek", "fsync",
    "fdatasync", "sync_file_range", "ftruncate", "truncate", "fallocate", "fadvise64", "readahead", "flock", "stat",
    "fstat", "lstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2", "getdents64",
    "getdents", "readlink", "readlinkat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat",
    "renameat2", "link", "linkat", "symlink", "symlinkat", "umask", "getcwd", "chdir", "fchdir", "copy_file_range",
    // Memory.
    "brk", "munmap", "mremap", "madvise", "mincore", "msync", "mlock", "mlock2", "munlock", "membarrier",
    "get_mempolicy", "memfd_create",
    // Threads, signals, profilers.
    "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "arch_prctl", "exit", "exit_group", "gettid",
    "getpid", "getppid", "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam",
    "sched_getscheduler", "getpriority", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending",
    "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "restart_syscall", "timer_create", "timer_settime",
    "timer_gettime", "timer_getoverrun", "timer_delete", "setitimer", "getitimer", "wait4", "waitid", "getcpu",
    // Time, chance, and who and where we are.
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getrandom",
    "uname", "sysinfo", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "getpgrp",
    "getpgid", "getsid", "getrusage", "getrlimit", "setrlimit", "capget",
};

// Of a process that starts others, and of those: qemu-img, skopeo, unpackers. They may confine themselves further.
constexpr std::string_view allowed_to_programs[] = {
    "execve", "fork", "vfork", "kill", "tkill", "tgkill", "pidfd_open", "pidfd_send_signal", "setsid", "setpgid",
    "prctl", "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "sync", "syncfs",
    "memfd_create", "utimensat", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
    "creat", "openat2", "ioprio_set",
    "ioprio_get", "sched_setscheduler", "sched_get_priority_max", "sched_get_priority_min", "setpriority",
};

constexpr std::string_view deadly_to_servers[] = {"execve", "execveat"};

constexpr std::string_view deadly[] = {
    // Other processes.
    "ptrace", "process_vm_writev", "pidfd_getfd", "kcmp",
    // Other views of the machine.
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsmount", "fsconfig", "fspick",
    "mount_setattr", "setns", "unshare", "open_by_handle_at",
    // The kernel itself.
    "bpf", "perf_event_open", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    "userfaultfd", "keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "reboot", "swapon", "swapoff", "iopl", "ioperm", "acct", "quotactl", "settimeofday", "clock_settime", "adjtimex",
    "clock_adjtime", "modify_ldt",
};
// clang-format on

// A call that may be made with some arguments only.
struct Conditional {
  const char* call;
  scmp_arg_cmp when;
  std::uint32_t action = SCMP_ACT_ALLOW;
};

scmp_arg_cmp equals(unsigned argument, scmp_datum_t value) { return {argument, SCMP_CMP_EQ, value, 0}; }
scmp_arg_cmp bits(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

// Several rows of one call: any of them.
constexpr scmp_datum_t set_id_bits = 06000, special_bits = 07000, others_write = 022, others_all = 077;

// Of a process that starts no other.
std::vector<Conditional> calls_of_servers() {
  const auto self = static_cast<scmp_datum_t>(::getpid());
  return {
      // Threads, but no processes.
      {"clone", bits(0, CLONE_THREAD, CLONE_THREAD)},
      {"chmod", bits(1, special_bits | others_all, 0)},
      {"fchmodat", bits(2, special_bits | others_all, 0)},
      {"ioctl", equals(1, FIONBIO)},
      {"ioctl", equals(1, FIONREAD)},
      {"ioctl", equals(1, FIOCLEX)},
      {"ioctl", equals(1, FIONCLEX)},
      {"ioctl", equals(1, TCGETS)},
      {"ioctl", equals(1, TIOCGWINSZ)},
      {"prctl", equals(0, PR_SET_NAME)},
      {"prctl", equals(0, PR_GET_NAME)},
      {"prctl", equals(0, 0x53564d41)},  // names of memory areas
      // abort() and timers of threads.
      {"tgkill", equals(0, self)},
      // The profiler follows stacks that may end anywhere; of other processes it has nothing to read.
      {"process_vm_readv", equals(0, self)},
      {"process_vm_readv", {0, SCMP_CMP_NE, self, 0}, SCMP_ACT_KILL_PROCESS},
  };
}

std::vector<Conditional> calls_of_programs() {
  constexpr scmp_datum_t namespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  std::vector<Conditional> rows = {
      {"clone", bits(0, namespaces, 0)},
      {"chmod", bits(1, special_bits | others_write, 0)},
      {"fchmodat", bits(2, special_bits | others_write, 0)},
  };
  // Whatever differs from TIOCSTI in one of the bits that the kernel looks at: a filter compares all 64.
  for (scmp_datum_t bit = 1; bit <= std::numeric_limits<std::uint32_t>::max(); bit <<= 1)
    rows.push_back({"ioctl", bits(1, bit, ~scmp_datum_t{TIOCSTI} & bit)});
  return rows;
}

std::vector<Conditional> conditional_calls(const Allowed& more) {
  std::vector<Conditional> rows = {
      // No memory that is both written and run: what was written stays data.
      {"mmap", bits(2, PROT_WRITE | PROT_EXEC, 0)},
      {"mmap", bits(2, PROT_WRITE | PROT_EXEC, PROT_WRITE)},
      {"mmap", bits(2, PROT_WRITE | PROT_EXEC, PROT_EXEC)},
      {"mprotect", bits(2, PROT_EXEC, 0)},
      // Landlock says nothing of modes, and root without capabilities still owns the system's files: no program may
      // become one that runs as its owner, nothing may be opened for others by name, and nothing become writable.
      {"open", bits(2, set_id_bits, 0)},
      {"openat", bits(3, set_id_bits, 0)},
      {"fchmod", bits(1, special_bits | others_write, 0)},
      // Other limits of our own only: process 0 is the caller.
      {"prlimit64", equals(0, 0)},
      // Threads that give way to the event loops: thread 0 is the caller, which may only lower itself.
      {"sched_setattr", equals(0, 0)},
  };
  // Never what types into somebody's terminal.
  for (const Conditional& row : more.programs ? calls_of_programs() : calls_of_servers()) rows.push_back(row);
  // AF_NETLINK: which addresses this host has, for name look-ups.
  for (const scmp_datum_t family : {AF_INET, AF_INET6, AF_NETLINK})
    if (more.network) rows.push_back({"socket", equals(0, family)});
  if (more.network && more.programs) rows.push_back({"socket", equals(0, AF_VSOCK)});
  if (more.unix_sockets) rows.push_back({"socket", equals(0, AF_UNIX)});
  return rows;
}

// Names that this architecture or this version of the library does not know are passed over: there is nothing to allow.
int add(scmp_filter_ctx filter, std::uint32_t action, const char* name, std::span<const scmp_arg_cmp> when = {}) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR || number < 0) return 0;
  return seccomp_rule_add_array(filter, action, number, static_cast<unsigned>(when.size()), when.data());
}

int fill(scmp_filter_ctx filter, const Allowed& more) {
  // A tree over the numbers. The kernel remembers for each number whether the answer depends on the arguments, so the
  // calls of the first table cost no walk at all.
  (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);  // refusals stand in the kernel's audit log
  if (const int code = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); code != 0) return code;
  // Another architecture's calls (32-bit ones) mean something else by the same numbers.
  if (const int code = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS); code != 0) return code;
  for (const auto name : allowed)
    if (const int code = add(filter, SCMP_ACT_ALLOW, name.data()); code != 0) return code;
  for (const auto name : deadly) {
    if (more.programs && name.starts_with("io_uring")) continue;  // qemu-img does without
    if (const int code = add(filter, SCMP_ACT_KILL_PROCESS, name.data()); code != 0) return code;
  }
  for (const auto name : more.programs ? std::span<const std::string_view>(allowed_to_programs) : deadly_to_servers)
    if (const int code = add(filter, more.programs ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS, name.data()); code != 0)
      return code;
  for (const auto& row : conditional_calls(more))
    if (const int code = add(filter, row.action, row.call, {&row.when, 1}); code != 0) return code;
  return 0;
}

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

// Process or thread 0 is the caller. All bits of an argument are compared, of which the kernel takes the lower half of
// some: what differs only above is refused as well.
int refuse_others(scmp_filter_ctx filter) {
  const auto is_not = [](unsigned argument, scmp_datum_t value) {
    return scmp_arg_cmp{argument, SCMP_CMP_NE, value, 0};
  };
  struct Row {
    const char* call;
    std::vector<scmp_arg_cmp> when;
  };
  const std::vector<Row> rows = {
      {"prlimit64", {is_not(0, 0), is_not(2, 0)}},  // without new limits it only tells
      {"sched_setaffinity", {is_not(0, 0)}},
      {"sched_setscheduler", {is_not(0, 0)}},
      {"sched_setparam", {is_not(0, 0)}},
      {"sched_setattr", {is_not(0, 0)}},
      {"setpriority", {is_not(0, PRIO_PROCESS)}},
      {"setpriority", {is_not(1, 0)}},
      {"ioprio_set", {is_not(0, IOPRIO_WHO_PROCESS)}},
      {"ioprio_set", {is_not(1, 0)}},
      {"migrate_pages", {is_not(0, 0)}},
      {"move_pages", {is_not(0, 0)}},
  };
  if (const int code = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS); code != 0) return code;
  for (const Row& row : rows)
    if (const int code = add(filter, SCMP_ACT_ERRNO(EPERM), row.call, row.when); code != 0) return code;
  return 0;
}

// clone3, whose flags a filter cannot see, must fail this way for clone to be taken in its place.
Filter new_filter() { return {seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), seccomp_release}; }

}  // namespace

std::span<const std::string_view> allowed_calls() { return allowed; }
std::span<const std::string_view> deadly_calls() { return deadly; }

bool export_seccomp(const Allowed& more, int file) {
  const Filter filter = new_filter();
  return filter && fill(filter.get(), more) == 0 && seccomp_export_bpf(filter.get(), file) == 0;
}

std::expected<void, std::string> keep_off_others() {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (!filter) return std::unexpected("no memory for the filter");
  if (const int code = refuse_others(filter.get()); code != 0) return std::unexpected(std::strerror(-code));
  if (const int code = seccomp_load(filter.get()); code != 0) return std::unexpected(std::strerror(-code));
  return {};
}

std::expected<void, std::string> apply_seccomp(const Allowed& more) {
  const Filter filter = new_filter();
  if (!filter) return std::unexpected("no memory for the filter");
  if (const int code = fill(filter.get(), more); code != 0) return std::unexpected(std::strerror(-code));
  if (const int code = seccomp_load(filter.get()); code != 0) return std::unexpected(std::strerror(-code));
  return {};
}

}  // namespace vg::sandbox
