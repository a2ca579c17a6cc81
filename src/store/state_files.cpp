#include "store/state_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "base/files.h"

namespace vg::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view pending = "exchange.pending";
// Made after the store, and never without it.
constexpr std::string_view later_than_the_store = "pki/service-account.key";
// More than a server gives out between a backup and its loss; resource versions are 64 bits long.
constexpr Revision revision_gap = Revision{1} << 32;
// 1024 in a millisecond: more than a server gives out.
constexpr int revisions_a_millisecond_bits = 10;

bool holds_bytes(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error)) &&
         !(fs::is_regular_file(path, error) && fs::is_empty(path, error));
}

bool present(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

Failed refuse(std::string message) {
  return fail({.code = 500, .reason = "InternalError", .message = std::move(message), .details = {}});
}

void sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace

std::string store_path(const fs::path& state) { return (state / "store.db").native(); }

Result<void> check_state(const fs::path& state) {
  if (present(state / pending)) {
    return refuse(fmt::format(
        "a restore into {0}, or a \"virtgate state accept-loss\", was interrupted, so its files may be of two "
        "stores; run the same command again, for a restore with --replace",
        state.native()));
  }
  const auto store = store_path(state);
  // An empty one is as good as none: the mark is made before it.
  if (!holds_bytes(store) && !present(mark_path(store)) && present(state / later_than_the_store)) {
    return refuse(fmt::format(
        "the store {} is {}, and {} shows that there was one. Nothing was changed. Restore the file or a backup "
        "(\"virtgate restore\"), or start empty with the same keys (\"virtgate state accept-loss\")",
        store, present(store) ? "empty" : "missing", (state / later_than_the_store).native()));
  }
  return {};
}

fs::path exchange_folder(const fs::path& state) { return state / "exchange.new"; }

namespace {

// Old files first, all of them: once the new store begins to leave `fresh`, what lies in its place is no old one.
DiskResult move_files(const fs::path& state, const fs::path& fresh, const fs::path& aside) {
  try {
    std::set<fs::path> names;
    if (present(store_path(fresh)) && present(mark_path(store_path(fresh)))) {
      for (const char* suffix : {"", "-wal", "-shm", "-mark", "-journal"}) {
        names.insert(fs::path(store_path(state) + suffix).filename());
      }
      for (const auto& entry : fs::directory_iterator(fresh)) names.insert(entry.path().filename());
    }
    for (const auto& name : names) {
      if (!present(state / name)) continue;
      if (!present(aside)) fs::create_directory(aside);
      fs::permissions(aside, fs::perms::owner_all);
      fs::rename(state / name, aside / name);
    }
    if (present(fresh)) {
      for (const auto& entry : fs::directory_iterator(fresh)) fs::rename(entry.path(), state / entry.path().filename());
      fs::remove(fresh);
    }
  } catch (const fs::filesystem_error& error) {
    return std::unexpected(fmt::format("cannot exchange files in {}: {}; the old files are in {}", state.native(),
                                       error.what(), aside.native()));
  }
  sync_folder(aside);
  sync_folder(state);
  ::unlink((state / pending).c_str());
  sync_folder(state);
  return {};
}

}  // namespace

DiskResult exchange_files(const fs::path& state, const fs::path& fresh, const fs::path& aside) {
  if (auto noted = write_file((state / pending).native(), aside.filename().native(), S_IRUSR | S_IWUSR); !noted)
    return std::unexpected(noted.error().message);
  return move_files(state, fresh, aside);
}

std::expected<bool, std::string> finish_exchange(const fs::path& state) {
  if (!present(state / pending)) return false;
  const auto aside = read_file((state / pending).native(), 255);
  if (!aside) return std::unexpected(aside.error().message);
  const bool plain = aside->starts_with("damaged-") || aside->starts_with("replaced-");
  const fs::path name = plain && !aside->contains('/') ? *aside : "replaced-before";
  if (auto moved = move_files(state, exchange_folder(state), state / name); !moved)
    return std::unexpected(std::move(moved.error()));
  return true;
}

// The clock sees what no file here may show any more: an earlier restore of the same backup, for example.
Revision revision_beyond(Revision known, std::chrono::system_clock::time_point now) {
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const auto by_clock = static_cast<Revision>(std::max<std::int64_t>(passed, 0)) << revisions_a_millisecond_bits;
  return std::max(known + revision_gap, by_clock);
}

}  // namespace vg::store
