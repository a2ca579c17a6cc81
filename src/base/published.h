// Something immutable that many threads read all the time and that is replaced now and then. A reader takes no lock and
// writes to no shared counter: each thread keeps what it read last until there is something newer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace vg {

template <class T>
class Published {
 public:
  Published() = default;
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;
  ~Published() {
    if (kept_.id == id_) kept_ = {};  // other threads let go of it with the next that they read
  }

  void publish(std::shared_ptr<const T> next) {
    {
      const std::lock_guard lock(mutex_);
      current_.swap(next);
    }
    version_.fetch_add(1, std::memory_order_release);
    // The one before goes here, outside of the lock.
  }

  bool any() const { return version_.load(std::memory_order_acquire) != 0; }

  // Null before the first one. Good until the next call on the same thread.
  const T* get() const {
    if (kept_.id != id_ || kept_.version != version_.load(std::memory_order_acquire)) keep();
    return kept_.value.get();
  }

  // For a thread that reads it once and is not to keep it.
  std::shared_ptr<const T> share() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

 private:
  struct Kept {
    std::uint64_t id = 0, version = 0;
    std::shared_ptr<const T> value;
  };
  void keep() const {
    const std::lock_guard lock(mutex_);
    kept_ = {.id = id_, .version = version_.load(std::memory_order_relaxed), .value = current_};
  }

  inline static thread_local Kept kept_;
  inline static std::atomic<std::uint64_t> next_id_{1};

  const std::uint64_t id_ = next_id_.fetch_add(1);  // tells instances apart in the threads' memory
  std::atomic<std::uint64_t> version_{0};
  mutable std::mutex mutex_;  // held for a moment
  std::shared_ptr<const T> current_;
};

}  // namespace vg
