// A layer under SQLite's files for tests: it fails on demand, holds syncs back, counts them, and remembers which bytes
// a power cut could take.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "store/file_layer.h"

namespace vg::store {

class FaultVfs final : public FileLayer {
 public:
  explicit FaultVfs(std::string name) : FileLayer(std::move(name), nullptr) {}

  // An SQLite result code that every write (sync) gives until it is set to 0 again. Only files whose names end so.
  std::atomic<int> fail_write = 0;
  std::atomic<int> fail_sync = 0;
  std::atomic<const char*> fail_suffix = "";
  std::atomic<int> failed_writes = 0;
  std::atomic<int> syncs = 0;
  std::atomic<int> log_syncs = 0;  // those of the write-ahead log among them
  // A failing write leaves half of its bytes behind, as real ones may.
  std::atomic<bool> half_writes = false;

  // While held, no sync comes back.
  void hold_syncs() {
    const std::lock_guard lock(gate_mutex_);
    held_ = true;
  }
  void release_syncs() {
    {
      const std::lock_guard lock(gate_mutex_);
      held_ = false;
    }
    gate_.notify_all();
  }
  // Returns when a commit is inside a held sync of the log; the mark is synced by a thread of its own, also when no
  // commit is under way.
  void wait_for_held_log_sync() {
    std::unique_lock lock(gate_mutex_);
    gate_.wait(lock, [this] { return log_inside_ > 0; });
  }

  // What the disk may hold if the power went now: all that was synced, and of the rest any part, torn at sectors.
  void power_cut(const std::filesystem::path& into, std::mt19937& random) {
    std::filesystem::create_directories(into);
    const std::lock_guard lock(disk_mutex_);
    for (const auto& [path, image] : disk_) {
      auto bytes = image.durable;
      for (const auto& write : image.pending) {
        if (random() % 2 == 0) continue;
        auto part = write;
        if (!part.truncate && random() % 4 == 0) part.bytes.resize(random() % (part.bytes.size() / 512 + 1) * 512);
        part.apply(bytes);
      }
      std::ofstream out(into / std::filesystem::path(path).filename(), std::ios::binary);
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
  }
  // Remembering costs a copy of every byte, so only the test that cuts the power asks for it.
  std::atomic<bool> remember = false;

 private:
  struct PendingWrite {
    std::size_t offset = 0;
    std::string bytes = {};
    bool truncate = false;  // to `offset`
    void apply(std::string& to) const {
      if (truncate) return to.resize(std::min(to.size(), offset));
      if (to.size() < offset + bytes.size()) to.resize(offset + bytes.size());
      std::memcpy(to.data() + offset, bytes.data(), bytes.size());
    }
  };
  struct Image {
    std::string durable;
    std::vector<PendingWrite> pending;
  };

  int fault(const std::atomic<int>& code, const File& file) const {
    const int wanted = code.load();
    return wanted != 0 && file.path().ends_with(fail_suffix.load()) ? wanted : SQLITE_OK;
  }

  void opened(File& file) override {
    if (!remember) return;
    const std::lock_guard lock(disk_mutex_);
    auto& image = disk_[std::string(file.path())];
    std::ifstream in(std::string(file.path()), std::ios::binary);
    image.durable.assign(std::istreambuf_iterator<char>(in), {});
    image.pending.clear();
  }
  int remove(const char* path, int sync_folder) override {
    {
      const std::lock_guard lock(disk_mutex_);
      disk_.erase(path);
    }
    return FileLayer::remove(path, sync_folder);
  }
  int write(File& file, const void* bytes, int size, sqlite3_int64 at) override {
    if (const int code = fault(fail_write, file); code != SQLITE_OK) {
      if (half_writes) (void)FileLayer::write(file, bytes, size / 2, at);
      ++failed_writes;
      return code;
    }
    note(file, {.offset = static_cast<std::size_t>(at),
                .bytes = {static_cast<const char*>(bytes), static_cast<std::size_t>(size)}});
    return FileLayer::write(file, bytes, size, at);
  }
  int truncate(File& file, sqlite3_int64 size) override {
    note(file, {.offset = static_cast<std::size_t>(size), .truncate = true});
    return FileLayer::truncate(file, size);
  }
  int sync(File& file, int flags) override {
    pass_gate(file.is_log());
    if (const int code = fault(fail_sync, file); code != SQLITE_OK) return code;
    ++syncs;
    if (file.is_log()) ++log_syncs;
    const int code = FileLayer::sync(file, flags);
    const std::lock_guard lock(disk_mutex_);
    if (const auto image = disk_.find(file.path()); image != disk_.end()) {
      for (const auto& write : image->second.pending) write.apply(image->second.durable);
      image->second.pending.clear();
    }
    return code;
  }
  void note(const File& file, PendingWrite write) {
    if (!remember) return;
    const std::lock_guard lock(disk_mutex_);
    disk_[std::string(file.path())].pending.push_back(std::move(write));
  }
  void pass_gate(bool is_log) {
    std::unique_lock lock(gate_mutex_);
    if (is_log) ++log_inside_;
    gate_.notify_all();
    gate_.wait(lock, [this] { return !held_; });
    if (is_log) --log_inside_;
  }

  std::mutex gate_mutex_;
  std::condition_variable gate_;
  bool held_ = false;
  int log_inside_ = 0;
  std::mutex disk_mutex_;
  std::map<std::string, Image, std::less<>> disk_;
};

}  // namespace vg::store
