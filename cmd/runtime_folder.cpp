#include "runtime_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "auth/digest.h"
#include "base/handler_limits.h"

namespace vg::cmd {
namespace {

namespace fs = std::filesystem;

// Of this user, and closed to others: a link or somebody else's folder in a place that everybody can write to is not.
bool is_own_folder(const fs::path& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 077) == 0;
}

bool make_own_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  return is_own_folder(path);
}

}  // namespace

std::vector<std::string> runtime_candidates(const std::string& state, std::string_view node, std::string_view runtime,
                                            unsigned user) {
  const auto digest = auth::sha256(state);
  const std::string hash = fmt::format("{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
  std::vector<std::string> all;
  if (runtime.starts_with('/')) all.push_back(fmt::format("{}/virtgate-{}/{}", runtime, hash, node));
  all.push_back(fmt::format("{}/run/{}", state, node));
  all.push_back(fmt::format("/tmp/virtgate-{}-{}/{}", user, hash, node));
  std::erase_if(all, [](const std::string& path) { return path.size() > limits::node_runtime_folder_bytes_max; });
  return all;
}

void remove_unfinished_files(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".tmp" && entry.is_regular_file(error)) fs::remove(entry.path(), error);
}

Result<std::string> make_runtime_folder(const std::string& state, std::string_view node) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const auto candidates = runtime_candidates(state, node, runtime ? runtime : "", ::geteuid());
  for (const std::string& path : candidates)
    if (make_own_folder(fs::path(path).parent_path()) && make_own_folder(path)) return path;
  return fail(Status::internal_error(fmt::format(
      "no folder for sockets: {} is not a folder of this user alone, or cannot be created; remove it, or use a shorter "
      "--state",
      candidates.empty() ? state : candidates.back())));
}

}  // namespace vg::cmd
