#include "helpers/heartbeat.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <condition_variable>
#include <mutex>

#include "base/helper_limits.h"

namespace vg::helpers {
namespace {

constexpr std::size_t page_bytes = 4096;

std::int64_t steady_now() {
  using std::chrono::nanoseconds;
  return nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::optional<Heartbeat> Heartbeat::make() {
  Descriptor page(::memfd_create("heartbeat", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Sealed: whoever reads a page that was cut off would be killed.
  if (!page || ::ftruncate(page.get(), page_bytes) != 0 ||
      ::fcntl(page.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return std::nullopt;
  return open(std::move(page));
}

std::optional<Heartbeat> Heartbeat::open(Descriptor page) {
  struct stat info{};
  ::fcntl(page.get(), F_SETFD, FD_CLOEXEC);
  if (::fstat(page.get(), &info) != 0 || info.st_size != page_bytes) return std::nullopt;
  void* memory = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, page.get(), 0);
  if (memory == MAP_FAILED) return std::nullopt;  // NOLINT: as the system defines it
  Heartbeat made(std::move(page), static_cast<Noted*>(memory));
  made.beat();
  return made;
}

void Heartbeat::close() {
  if (noted_) ::munmap(std::exchange(noted_, nullptr), page_bytes);
  page_.close();
}

void Heartbeat::beat() { noted_->store(steady_now(), std::memory_order_relaxed); }

std::chrono::milliseconds Heartbeat::silent_for() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(steady_now() - last()));
}

Beating::Beating(Heartbeat& heartbeat)
    : thread_([&heartbeat](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
          heartbeat.beat();
          stopped.wait_for(lock, stop, limits::helper_beat_interval, [] { return false; });
        }
      }) {}

}  // namespace vg::helpers
