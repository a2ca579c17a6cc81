#include "local_guests.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/names.h"
#include "disks/outcome.h"
#include "runtime_folder.h"

namespace vg::cmd {
namespace {

namespace fs = std::filesystem;

// Where libvirtd of that node may have put what runs: the place depends on the environment that the node had.
std::vector<std::string> places_of(const std::string& state, std::string_view node) {
  std::vector<std::string> found;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string& home : {std::string(runtime ? runtime : ""), fmt::format("/run/user/{}", ::geteuid())})
    for (const std::string& place : runtime_candidates(state, node, home, ::geteuid()))
      if (std::ranges::find(found, place) == found.end()) found.push_back(place);
  return found;
}

std::vector<std::string> status_folders(const std::string& state, std::string_view node) {
  std::vector<std::string> found = places_of(state, node);
  for (std::string& place : found) place += "/libvirt/qemu/run";
  return found;
}

bool has_guests(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".pid" && lock_holder(entry.path()) != 0) return true;
  return error && error != std::errc::no_such_file_or_directory;
}

}  // namespace

std::optional<int> lock_holder(const std::string& file) {
  const disks::Descriptor opened(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!opened) return errno == ENOENT ? std::optional(0) : std::nullopt;
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(opened.get(), F_GETLK, &lock) != 0) return std::nullopt;
  if (lock.l_type == F_UNLCK) return 0;
  return lock.l_pid > 0 ? std::optional<int>(lock.l_pid) : std::nullopt;
}

bool LocalGuests::is_own(std::string_view node) const {
  std::error_code error;
  return dns1123_subdomain_defects(node).empty() && fs::is_directory(fs::path(state_) / "nodes" / node, error);
}

std::optional<std::string> LocalGuests::may_run(std::string_view node, std::string_view ns,
                                                std::string_view vmi) const {
  if (!is_own(node)) return std::nullopt;
  if (foreign_) return "whether its QEMU still runs on this host is not known, since another libvirt runs it";
  for (const std::string& folder : status_folders(state_, node)) {
    const auto holder = lock_holder(fmt::format("{}/{}_{}.pid", folder, ns, vmi));
    if (!holder) return "whether its QEMU still runs on this host cannot be found out";
    if (*holder != 0) return fmt::format("its QEMU, process {}, still runs on this host", *holder);
  }
  return std::nullopt;
}

std::vector<std::string> LocalGuests::nodes() const {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(state_) / "nodes", error))
    if (std::string name = entry.path().filename(); name.starts_with("node") && is_own(name))
      found.push_back(std::move(name));
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> LocalGuests::nodes_in_use() const {
  std::vector<std::string> found = foreign_ ? std::vector<std::string>() : nodes();
  std::erase_if(
      found, [&](const std::string& node) { return !std::ranges::any_of(status_folders(state_, node), has_guests); });
  return found;
}

std::vector<std::string> LocalGuests::folders() const {
  std::vector<std::string> found;
  std::error_code error;
  for (const std::string& node : nodes())
    for (const std::string& folder : places_of(state_, node))
      if (fs::is_directory(folder, error)) found.push_back(folder);
  return found;
}

}  // namespace vg::cmd
