// Memory for the JSON documents of one request: one bump allocator, dropped as a whole.
#pragma once

#include <boost/json/monotonic_resource.hpp>
#include <cstddef>
#include <memory>
#include <optional>

#include "json/value.h"

namespace vg::json {

// A core or a connection keeps one Arena and resets it between requests; everyday documents then never reach the heap.
// Values of different arenas deep-copy when one is assigned to the other, so build new values with storage() and keep
// what belongs to a request in one arena. Not for concurrent use.
class Arena {
 public:
  // A 6 KiB admission review needs about 20 KiB of values; object, patch and answer together fit in here.
  static constexpr std::size_t default_initial_bytes = 64 * 1024;

  explicit Arena(std::size_t initial_bytes = default_initial_bytes)
      : size_(initial_bytes), buffer_(std::make_unique_for_overwrite<unsigned char[]>(initial_bytes)) {
    reset();
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  StoragePtr storage() noexcept { return StoragePtr(&*resource_); }

  // Frees everything at once. No value that lives here may be used afterwards, not even destroyed by assignment.
  // The resource is made anew because its release() keeps the grown block size: every request that outgrows the
  // initial buffer would double the next block, without end. It stays at its address, so storage pointers stay good.
  void reset() noexcept { resource_.emplace(buffer_.get(), size_); }

 private:
  std::size_t size_;
  std::unique_ptr<unsigned char[]> buffer_;
  std::optional<boost::json::monotonic_resource> resource_;
};

}  // namespace vg::json
