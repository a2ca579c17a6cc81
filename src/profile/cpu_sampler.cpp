#include "profile/cpu_sampler.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "profile/threads.h"

namespace vg::profile {
namespace {

// A handler cannot be given anything, so what it works on stands here.
constinit std::atomic<StackTable*> table{nullptr};
constinit std::atomic<int> handlers_at_work{0};

struct Registers {
  std::uintptr_t instruction = 0;
  std::uintptr_t frame = 0;  // 0: this machine has no chain of frames
};

#if defined(__x86_64__)
constexpr bool known_machine = true;
Registers registers_of(const ucontext_t& context) noexcept {
  return {.instruction = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]),
          .frame = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RBP])};
}
#elif defined(__aarch64__)
constexpr bool known_machine = true;
Registers registers_of(const ucontext_t& context) noexcept {
  return {.instruction = context.uc_mcontext.pc, .frame = context.uc_mcontext.regs[29]};
}
#else
constexpr bool known_machine = false;
Registers registers_of(const ucontext_t&) noexcept { return {}; }
#endif

// What a frame pointer points to, on both machines.
struct Frame {
  std::uintptr_t caller_frame = 0;
  std::uintptr_t return_address = 0;
};

std::optional<Frame> read_frame(pid_t process, std::uintptr_t at) noexcept {
  Frame frame;
  const iovec here{.iov_base = &frame, .iov_len = sizeof frame};
  const iovec there{.iov_base = reinterpret_cast<void*>(at), .iov_len = sizeof frame};  // NOLINT: an address it is
  if (::process_vm_readv(process, &here, 1, &there, 1, 0) != static_cast<ssize_t>(sizeof frame)) return std::nullopt;
  return frame;
}

// Frames of callers lie further up, and not too far: anything else was no frame pointer. A large frame has a few KiB.
bool may_be_caller(std::uintptr_t frame, std::uintptr_t caller) noexcept {
  return caller > frame && caller - frame < limits::profile_frame_bytes_max && caller % sizeof(void*) == 0;
}

std::size_t walk(Registers from, std::span<std::uintptr_t> into) noexcept {
  const pid_t process = ::getpid();
  std::size_t depth = 0;
  into[depth++] = from.instruction;
  for (std::uintptr_t frame = from.frame; frame != 0 && depth < into.size();) {
    const auto found = read_frame(process, frame);
    if (!found || found->return_address < 4096) break;
    into[depth++] = found->return_address - 1;  // inside of the call and not behind it
    if (!may_be_caller(frame, found->caller_frame)) break;
    frame = found->caller_frame;
  }
  return depth;
}

// A timer that is due again before its signal was delivered sends no second one, but counts.
std::uint64_t times_due(const siginfo_t& info) noexcept {
  return info.si_code == SI_TIMER && info.si_overrun > 0 ? 1 + static_cast<std::uint64_t>(info.si_overrun) : 1;
}

void on_signal(int, siginfo_t* info, void* context) noexcept {
  const int error = errno;
  handlers_at_work.fetch_add(1);
  if (StackTable* const into = table.load()) {
    std::array<std::uintptr_t, StackTable::depth_max> stack;
    const std::size_t depth = walk(registers_of(*static_cast<const ucontext_t*>(context)), stack);
    into->add(std::span(stack).first(depth), times_due(*info));
  }
  handlers_at_work.fetch_sub(1);
  errno = error;
}

Status no_profile(std::string_view what) {
  return Status::internal_error(fmt::format("CPU profiling failed: {}: {}", what, std::strerror(errno)));
}

// It stays for good: without a handler a signal that is still on its way would end the process.
Result<void> install_handler() {
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (::sigaction(SIGPROF, &action, nullptr) != 0) return fail(no_profile("no handler for SIGPROF"));
  return {};
}

// The clock of the CPU time of a thread, as the kernel names it (pthread_getcpuclockid knows only pthread_t).
clockid_t cpu_clock_of(pid_t thread) {
  constexpr unsigned per_thread = 4, by_scheduler = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | per_thread | by_scheduler);
}

std::optional<timer_t> watch(pid_t thread) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event._sigev_un._tid = thread;
  timer_t timer{};
  if (::timer_create(cpu_clock_of(thread), &event, &timer) != 0) return std::nullopt;
  const timespec period{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(sampling_period).count()};
  const itimerspec every{.it_interval = period, .it_value = period};
  if (::timer_settime(timer, 0, &every, nullptr) == 0) return timer;
  ::timer_delete(timer);
  return std::nullopt;
}

}  // namespace

CpuSampler::~CpuSampler() {
  if (running()) stop();
}

Result<void> CpuSampler::start() {
  if (!known_machine) return fail(Status::internal_error("CPU profiling is not supported on this architecture"));
  if (running()) stop();
  if (auto installed = install_handler(); !installed) return installed;
  table_ = std::make_unique<StackTable>();
  StackTable* none = nullptr;
  if (!table.compare_exchange_strong(none, table_.get())) {
    table_.reset();
    return fail(Status::internal_error("CPU profiling is already active in this process"));
  }
  auto watched = watch_threads();
  if (!watched) stop();
  return watched;
}

// A thread may end before it is watched, which is no fault.
Result<void> CpuSampler::watch_threads() {
  for (const pid_t thread : thread_ids())
    if (const auto timer = watch(thread)) timers_.push_back(*timer);
  if (timers_.empty()) return fail(no_profile("no thread can be sampled"));
  return {};
}

CpuSamples CpuSampler::stop() {
  for (void* timer : std::exchange(timers_, {})) ::timer_delete(timer);
  if (!table_) return {};
  table.store(nullptr);
  while (handlers_at_work.load() != 0) std::this_thread::yield();
  const auto seen = std::move(table_);
  return {.stacks = seen->stacks(), .lost = seen->lost()};
}

}  // namespace vg::profile
