// A layer under SQLite's files for tests: it fails on demand, holds syncs back, counts them, and remembers which bytes
// a power cut could take.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
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

namespace vg::store {

class FaultVfs {
 public:
  explicit FaultVfs(std::string name) : name_(std::move(name)), real_(sqlite3_vfs_find(nullptr)) {
    vfs_ = *real_;
    vfs_.zName = name_.c_str();
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.pAppData = this;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    if (sqlite3_vfs_register(&vfs_, 0) != SQLITE_OK) std::abort();
  }
  ~FaultVfs() { sqlite3_vfs_unregister(&vfs_); }
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;
  const char* name() const { return name_.c_str(); }

  // An SQLite result code that every write (sync) gives until it is set to 0 again. Only files whose names end so.
  std::atomic<int> fail_write = 0;
  std::atomic<int> fail_sync = 0;
  std::atomic<const char*> fail_suffix = "";
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
  struct File {
    sqlite3_file base;
    FaultVfs* owner;
    std::string* path;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    bool is_log() const { return path->ends_with("-wal"); }
  };
  static File* self(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return self(file)->real(); }

  int fault(const std::atomic<int>& code, const File& file) const {
    const int wanted = code.load();
    return wanted != 0 && std::string_view(*file.path).ends_with(fail_suffix.load()) ? wanted : SQLITE_OK;
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
    auto* owner = static_cast<FaultVfs*>(vfs->pAppData);
    auto* self = ::new (file) File{};
    const int code = owner->real_->xOpen(owner->real_, path, self->real(), flags, out_flags);
    if (code != SQLITE_OK) return code;
    self->owner = owner;
    self->path = new std::string(path == nullptr ? "" : path);
    self->base.pMethods = &methods();
    if (owner->remember) {
      const std::lock_guard lock(owner->disk_mutex_);
      auto& image = owner->disk_[*self->path];
      std::ifstream in(*self->path, std::ios::binary);
      image.durable.assign(std::istreambuf_iterator<char>(in), {});
      image.pending.clear();
    }
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* path, int sync) {
    auto* owner = static_cast<FaultVfs*>(vfs->pAppData);
    {
      const std::lock_guard lock(owner->disk_mutex_);
      owner->disk_.erase(path);
    }
    return owner->real_->xDelete(owner->real_, path, sync);
  }
  static int close(sqlite3_file* file) {
    delete self(file)->path;
    return real(file)->pMethods->xClose(real(file));
  }
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    auto* owner = self(file)->owner;
    if (const int code = owner->fault(owner->fail_write, *self(file)); code != SQLITE_OK) {
      if (owner->half_writes) (void)real(file)->pMethods->xWrite(real(file), bytes, size / 2, offset);
      return code;
    }
    owner->note(*self(file), {.offset = static_cast<std::size_t>(offset),
                              .bytes = {static_cast<const char*>(bytes), static_cast<std::size_t>(size)}});
    return real(file)->pMethods->xWrite(real(file), bytes, size, offset);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    self(file)->owner->note(*self(file), {.offset = static_cast<std::size_t>(size), .truncate = true});
    return real(file)->pMethods->xTruncate(real(file), size);
  }
  static int sync(sqlite3_file* file, int flags) {
    auto* owner = self(file)->owner;
    owner->pass_gate(self(file)->is_log());
    if (const int code = owner->fault(owner->fail_sync, *self(file)); code != SQLITE_OK) return code;
    ++owner->syncs;
    if (self(file)->is_log()) ++owner->log_syncs;
    const int code = real(file)->pMethods->xSync(real(file), flags);
    const std::lock_guard lock(owner->disk_mutex_);
    if (const auto image = owner->disk_.find(*self(file)->path); image != owner->disk_.end()) {
      for (const auto& write : image->second.pending) write.apply(image->second.durable);
      image->second.pending.clear();
    }
    return code;
  }
  void note(const File& file, PendingWrite write) {
    if (!remember) return;
    const std::lock_guard lock(disk_mutex_);
    disk_[*file.path].pending.push_back(std::move(write));
  }
  void pass_gate(bool is_log) {
    std::unique_lock lock(gate_mutex_);
    if (is_log) ++log_inside_;
    gate_.notify_all();
    gate_.wait(lock, [this] { return !held_; });
    if (is_log) --log_inside_;
  }

  // Version 1: no shared memory and no mapping, which the store must not need.
  static const sqlite3_io_methods& methods() {
    static const sqlite3_io_methods table = [] {
      sqlite3_io_methods m{};
      m.iVersion = 1;
      m.xClose = close;
      m.xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
        return real(f)->pMethods->xRead(real(f), to, n, at);
      };
      m.xWrite = write;
      m.xTruncate = truncate;
      m.xSync = sync;
      m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); };
      m.xLock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); };
      m.xUnlock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); };
      m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
        return real(f)->pMethods->xCheckReservedLock(real(f), out);
      };
      m.xFileControl = [](sqlite3_file* f, int op, void* arg) {
        return real(f)->pMethods->xFileControl(real(f), op, arg);
      };
      m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
      m.xDeviceCharacteristics = [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); };
      return m;
    }();
    return table;
  }

  const std::string name_;
  sqlite3_vfs* const real_;
  sqlite3_vfs vfs_;
  std::mutex gate_mutex_;
  std::condition_variable gate_;
  bool held_ = false;
  int log_inside_ = 0;
  std::mutex disk_mutex_;
  std::map<std::string, Image, std::less<>> disk_;
};

}  // namespace vg::store
