// What the files of a store pass through: the mark is written while SQLite syncs its write-ahead log.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "store/file_layer.h"

namespace vg::store {

class LogLayer final : public FileLayer {
 public:
  struct Hooks {
    std::function<void()> frames_written;                       // to the log, behind its header
    std::function<int(const std::function<int()>& sync)> sync;  // in place of a sync of the log, which it calls
  };
  LogLayer(const char* below, Hooks hooks)
      : FileLayer(fmt::format("virtgate-store-{}", ++layers_made), below), hooks_(std::move(hooks)) {}

 private:
  static constexpr sqlite3_int64 log_header_bytes = 32;

  int write(File& file, const void* bytes, int size, sqlite3_int64 at) override {
    if (file.is_log() && at >= log_header_bytes) hooks_.frames_written();
    return FileLayer::write(file, bytes, size, at);
  }
  int sync(File& file, int flags) override {
    if (!file.is_log()) return FileLayer::sync(file, flags);
    return hooks_.sync([&] { return FileLayer::sync(file, flags); });
  }
  // SQLite cuts the database to its size after each checkpoint. Where it has that already, this would only give back
  // what ClaimedRoom set aside.
  int truncate(File& file, sqlite3_int64 bytes) override {
    sqlite3_int64 now = 0;
    if (size(file, now) == SQLITE_OK && now == bytes) return SQLITE_OK;
    return FileLayer::truncate(file, bytes);
  }

  static inline std::atomic<std::uint64_t> layers_made = 0;  // in this process: each has a name of its own
  const Hooks hooks_;
};

}  // namespace vg::store
