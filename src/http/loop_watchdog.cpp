#include "http/loop_watchdog.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "base/off_loop.h"

namespace vg::http {

using std::chrono::milliseconds;

void CurrentRequest::set(std::string_view id, std::string_view path) noexcept {
  std::array<char, sizeof(std::uint64_t) * words> bytes;  // NOLINT: the first word says how much of it counts
  const std::size_t id_bytes = std::min(id.size(), id_bytes_max), path_bytes = std::min(path.size(), path_bytes_max);
  const std::uint64_t sizes = id_bytes << 32 | path_bytes;
  std::memcpy(bytes.data(), &sizes, sizeof sizes);
  std::memcpy(bytes.data() + sizeof sizes, id.data(), id_bytes);
  std::memcpy(bytes.data() + sizeof sizes + id_bytes, path.data(), path_bytes);
  const std::size_t used = 1 + (id_bytes + path_bytes + sizeof sizes - 1) / sizeof sizes;
  const std::uint32_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < used; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
    words_[i].store(word, std::memory_order_relaxed);
  }
  version_.store(version + 2, std::memory_order_release);
}

std::optional<CurrentRequest::Seen> CurrentRequest::seen() const {
  const std::uint32_t before = version_.load(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0) return std::nullopt;
  std::array<std::uint64_t, words> copy{};
  for (std::size_t i = 0; i < words; ++i) copy[i] = words_[i].load(std::memory_order_acquire);
  if (version_.load(std::memory_order_relaxed) != before) return std::nullopt;
  const auto id_bytes = std::min<std::size_t>(copy[0] >> 32, id_bytes_max);
  const auto path_bytes = std::min<std::size_t>(copy[0] & 0xffffffff, path_bytes_max);
  std::string text(reinterpret_cast<const char*>(copy.data() + 1), id_bytes + path_bytes);
  return Seen{.id = text.substr(0, id_bytes), .path = text.substr(id_bytes)};
}

LoopWatchdog::LoopWatchdog(std::vector<Watched> loops, metrics::Registry& registry, Options options)
    : options_(options),
      longest_(
          registry.gauge("virtgate_loop_stall_seconds_max", "The longest time for which an event loop was stalled.")),
      jobs_waiting_(registry.gauge("virtgate_off_loop_jobs_waiting", "Large requests that wait for a worker thread.")),
      jobs_refused_(registry.gauge("virtgate_off_loop_jobs_refused",
                                   "Large requests that were refused because too many waited.")) {
  auto& stalls = registry.counters("virtgate_loop_stalls_total",
                                   "Times that an event loop was stalled for a quarter of a second.", {"core"});
  for (const Watched& watched : loops)
    loops_.push_back({.watched = watched, .stalls = stalls.with({fmt::to_string(watched.core.index())})});
  thread_ = std::jthread([this] { run(); });
}

LoopWatchdog::~LoopWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
}

void LoopWatchdog::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  auto last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, options_.interval, [this] { return ending_; })) {
    const auto now = Clock::now();
    // Where this thread comes late itself, the machine or the whole process stood, and no loop is to blame.
    const auto late = now - last - options_.interval;
    if (late > options_.interval)
      for (Loop& loop : loops_) loop.asked_at += late;
    last = now;
    stalled_ms_.store(0, std::memory_order_relaxed);
    for (Loop& loop : loops_) look(loop, now);
    const OffLoopCounts jobs = off_loop_counts();
    jobs_waiting_.set(static_cast<double>(jobs.waiting));
    jobs_refused_.set(static_cast<double>(jobs.refused));
  }
}

void LoopWatchdog::look(Loop& loop, Clock::time_point now) {
  const auto stalled = std::chrono::duration_cast<milliseconds>(now - loop.asked_at);
  if (loop.answer->number.load(std::memory_order_acquire) == loop.asked) {
    if (loop.told)
      log::warning("the event loop runs again", {{"core", loop.watched.core.index()}, {"stalledMs", stalled.count()}});
    loop.told = false;
    loop.asked_at = now;
    ++loop.asked;
    loop.watched.core.post([answer = loop.answer, number = loop.asked] { answer->number.store(number); });
    return;
  }
  stalled_ms_.store(std::max<std::int64_t>(stalled_ms_.load(std::memory_order_relaxed), stalled.count()),
                    std::memory_order_relaxed);
  if (stalled < options_.stall) return;
  longest_.set(std::max(longest_.value(), std::chrono::duration<double>(stalled).count()));
  if (std::exchange(loop.told, true)) return;
  loop.stalls->add();
  tell(loop, stalled);
}

void LoopWatchdog::tell(const Loop& loop, milliseconds stalled) const {
  const auto seen = loop.watched.current.seen();
  log::warning("an event loop is stalled: its connections wait",
               {{"core", loop.watched.core.index()},
                {"stalledMs", stalled.count()},
                {"requestId", seen ? std::string_view(seen->id) : "-"},
                {"path", seen ? std::string_view(seen->path) : "-"}});
}

std::optional<std::string> LoopWatchdog::problem() const {
  const milliseconds stalled(stalled_ms_.load(std::memory_order_relaxed));
  if (stalled < options_.hopeless) return std::nullopt;
  return fmt::format("an event loop has been stalled for {} s",
                     std::chrono::duration_cast<std::chrono::seconds>(stalled).count());
}

}  // namespace vg::http
