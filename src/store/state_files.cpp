#include "store/state_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <system_error>

#include "base/files.h"

namespace vg::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view pending = "exchange.pending";
// Made after the store, and never without it.
constexpr std::string_view later_than_the_store = "pki/service-account.key";

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
    return refuse(
        fmt::format("a restore into {} was interrupted, so its files may be of two stores; run the same command again, "
                    "for a restore with --replace",
                    state.native()));
  }
  const auto store = store_path(state);
  if (!present(store) && !present(mark_path(store)) && present(state / later_than_the_store)) {
    return refuse(fmt::format(
        "the store {} is missing, and {} shows that there was one. Nothing was changed. Put the file back, or a backup "
        "(\"virtgate restore\"), or begin anew with the same keys (\"virtgate state accept-loss\")",
        store, (state / later_than_the_store).native()));
  }
  return {};
}

DiskResult exchange_files(const fs::path& state, const fs::path& fresh, const fs::path& aside) {
  if (auto noted = write_file((state / pending).native(), "files are being exchanged\n", S_IRUSR | S_IWUSR); !noted)
    return std::unexpected(noted.error().message);
  try {
    std::set<fs::path> names;
    for (const char* suffix : {"", "-wal", "-shm", "-mark", "-journal"}) {
      names.insert(fs::path(store_path(state) + suffix).filename());
    }
    for (const auto& entry : fs::directory_iterator(fresh)) names.insert(entry.path().filename());
    for (const auto& name : names) {
      if (!present(state / name)) continue;
      if (!present(aside)) fs::create_directory(aside);
      fs::permissions(aside, fs::perms::owner_all);
      fs::rename(state / name, aside / name);
    }
    for (const auto& entry : fs::directory_iterator(fresh)) fs::rename(entry.path(), state / entry.path().filename());
    fs::remove(fresh);
  } catch (const fs::filesystem_error& error) {
    return std::unexpected(fmt::format("cannot exchange files in {}: {}; what was there is in {}", state.native(),
                                       error.what(), aside.native()));
  }
  sync_folder(aside);
  sync_folder(state);
  ::unlink((state / pending).c_str());
  sync_folder(state);
  return {};
}

}  // namespace vg::store
