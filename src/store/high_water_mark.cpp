#include "store/high_water_mark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/files.h"
#include "base/store_limits.h"
#include "store/checksum.h"

namespace vg::store {
namespace {

// One sector, which disks write whole or not at all; the slots are a page of the cache apart.
constexpr std::size_t slot_bytes = 512;
constexpr std::size_t slot_distance = 4096;
constexpr std::string_view magic = "vgmark-1";
constexpr std::size_t boot_bytes_max = 40;

using Slot = std::array<char, slot_bytes>;

std::uint64_t little_endian(std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(value);
  return value;
}

class Writer {
 public:
  explicit Writer(Slot& slot) : to_(slot.data()) {}
  void text(std::string_view bytes, std::size_t room) {
    std::memcpy(to_, bytes.data(), std::min(bytes.size(), room));
    to_ += room;
  }
  void number(std::uint64_t value) {
    value = little_endian(value);
    std::memcpy(to_, &value, sizeof value);
    to_ += sizeof value;
  }
  void seal(const Seal& seal) {
    for (const auto value :
         {seal.sequence, seal.revision, seal.rows, seal.contents.sum().low, seal.contents.sum().high}) {
      number(value);
    }
  }

 private:
  char* to_;
};

class Reader {
 public:
  explicit Reader(const char* from) : from_(from) {}
  std::string_view text(std::size_t room) {
    const std::string_view bytes(from_, room);
    from_ += room;
    return bytes;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, from_, sizeof value);
    from_ += sizeof value;
    return little_endian(value);
  }
  Seal seal() {
    Seal seal;
    seal.sequence = number();
    seal.revision = number();
    seal.rows = number();
    const auto low = number();
    seal.contents = SetHash({.low = low, .high = number()});
    return seal;
  }

 private:
  const char* from_;
};

std::uint64_t slot_checksum(const char* slot) {
  Checksum sum;
  sum.text({slot, slot_bytes - sizeof(std::uint64_t)});
  return sum.value();
}

Slot slot_of(const Mark& mark, std::uint64_t writes) {
  Slot slot{};
  Writer writer(slot);
  writer.text(magic, magic.size());
  writer.number(writes);
  writer.seal(mark.confirmed);
  writer.seal(mark.intended);
  writer.text(mark.boot, boot_bytes_max);
  const auto sum = little_endian(slot_checksum(slot.data()));
  std::memcpy(slot.data() + slot_bytes - sizeof sum, &sum, sizeof sum);
  return slot;
}

struct ReadSlot {
  Mark mark;
  std::uint64_t writes = 0;
};

std::optional<ReadSlot> read_slot(std::string_view file, std::size_t number) {
  if (file.size() < number * slot_distance + slot_bytes) return std::nullopt;
  const char* slot = file.data() + number * slot_distance;
  Reader reader(slot);
  if (reader.text(magic.size()) != magic) return std::nullopt;
  ReadSlot found;
  found.writes = reader.number();
  found.mark.confirmed = reader.seal();
  found.mark.intended = reader.seal();
  const auto boot = reader.text(boot_bytes_max);
  found.mark.boot = boot.substr(0, boot.find('\0'));
  if (Reader(slot + slot_bytes - sizeof(std::uint64_t)).number() != slot_checksum(slot)) return std::nullopt;
  return found;
}

}  // namespace

std::string mark_path(const std::string& store_path) { return store_path + "-mark"; }

std::string this_boot() {
  auto text = read_file("/proc/sys/kernel/random/boot_id", 128);
  if (!text) return {};
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return text->substr(0, boot_bytes_max);
}

std::expected<MarkReading, std::string> read_mark(const std::string& path) {
  auto file = read_file(path, std::size_t{1} << 20);
  if (!file && file.error().code == 404) return MarkReading{};
  MarkReading reading{.exists = true};
  if (!file && file.error().code == 413) {  // far longer than we write it
    reading.slot_damaged = true;
    return reading;
  }
  if (!file) return std::unexpected(file.error().message);
  for (const std::size_t number : {0, 1}) {
    auto slot = read_slot(*file, number);
    if (!slot) {
      reading.slot_damaged = true;
    } else if (!reading.newest || slot->writes > reading.writes) {
      reading.newest = std::move(slot->mark);
      reading.writes = slot->writes;
    }
  }
  return reading;
}

DiskResult put_mark(const std::string& path, const Mark& mark) {
  // Blocks that are written over later and never grow: a sync of the mark then has no metadata to write.
  std::string file(2 * slot_distance, '\0');
  for (const std::size_t number : {0, 1}) {
    const auto slot = slot_of(mark, number);
    std::memcpy(file.data() + number * slot_distance, slot.data(), slot.size());
  }
  if (auto written = write_file(path, file, S_IRUSR | S_IWUSR); !written)
    return std::unexpected(written.error().message);
  return {};
}

std::expected<std::unique_ptr<HighWaterMark>, std::string> HighWaterMark::open(const std::string& path,
                                                                               const char* vfs_name,
                                                                               const MarkReading& found) {
  std::unique_ptr<HighWaterMark> mark(new HighWaterMark());
  sqlite3_vfs* vfs = sqlite3_vfs_find(vfs_name);
  auto* file = static_cast<sqlite3_file*>(std::calloc(1, static_cast<std::size_t>(vfs->szOsFile)));
  // SQLite's layer wants a name that ends with two zeros.
  std::string name = path;
  name.push_back('\0');
  const int code = vfs->xOpen(vfs, name.c_str(), file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_SUPER_JOURNAL, nullptr);
  if (code != SQLITE_OK) {
    if (file->pMethods != nullptr) file->pMethods->xClose(file);
    std::free(file);
    return std::unexpected(fmt::format("cannot open {}: {}", path, sqlite3_errstr(code)));
  }
  mark->file_ = file;
  mark->lock_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  mark->writes_ = found.writes;
  mark->thread_ = std::thread([self = mark.get()] { self->run(); });
  return mark;
}

HighWaterMark::~HighWaterMark() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  if (file_ != nullptr) {
    file_->pMethods->xClose(file_);
    std::free(file_);
  }
  if (lock_ >= 0) ::close(lock_);
}

DiskResult HighWaterMark::write(const Mark& mark) {
  const auto slot = slot_of(mark, writes_ + 1);
  const auto at = static_cast<sqlite3_int64>((writes_ + 1) % 2) * static_cast<sqlite3_int64>(slot_distance);
  int code = file_->pMethods->xWrite(file_, slot.data(), static_cast<int>(slot.size()), at);
  if (code == SQLITE_OK) code = file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
  // After a failure the same slot is written again: the other one stays good.
  if (code != SQLITE_OK)
    return std::unexpected(fmt::format("the mark of the store cannot be written ({})", sqlite3_errstr(code)));
  ++writes_;
  return {};
}

void HighWaterMark::begin(Mark mark) {
  {
    const std::lock_guard lock(mutex_);
    urgent_ = std::move(mark);
    settled_.reset();
    waiting_ = true;
  }
  changed_.notify_one();
}

DiskResult HighWaterMark::wait() {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return !waiting_; });
  return outcome_;
}

void HighWaterMark::settle(const Seal& seal, const std::string& boot) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    settled_ = Mark{.confirmed = seal, .intended = seal, .boot = boot};
    wake = resting_;
  }
  if (wake) changed_.notify_one();
}

void HighWaterMark::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto busy = [this] { return urgent_ || stopping_; };
    // The next commit confirms this one, if it comes soon.
    if (!changed_.wait_for(lock, store_limits::mark_settle_delay, busy) && !settled_) {
      resting_ = true;
      changed_.wait(lock, [&] { return busy() || settled_; });
      resting_ = false;
      continue;
    }
    const bool urgent = urgent_.has_value();
    const auto mark = urgent ? std::exchange(urgent_, std::nullopt) : std::exchange(settled_, std::nullopt);
    if (!mark) return;  // stopping, and all is written
    lock.unlock();
    auto done = write(*mark);
    lock.lock();
    if (!urgent) {
      // Half a slot may stand there now, which a start would take for damage. A newer one is as good.
      if (!done && !settled_ && !stopping_) settled_ = mark;
      continue;
    }
    outcome_ = std::move(done);
    waiting_ = false;
    answered_.notify_all();
  }
}

bool HighWaterMark::begin_moving() { return lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) == 0; }
void HighWaterMark::end_moving() {
  if (lock_ >= 0) ::flock(lock_, LOCK_UN);
}

}  // namespace vg::store
