#include "hypervisor/confinement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sandbox/host_folders.h"

namespace vg::hypervisor {
namespace {

using sandbox::PathRule;
using Access = PathRule::Access;

struct Letter {
  char letter;
  Access access;
};
constexpr std::array letters{Letter{'r', Access::read}, Letter{'x', Access::program}, Letter{'d', Access::device},
                             Letter{'w', Access::data}, Letter{'h', Access::hardware}};

// Modes keep an ordinary user out of what is secret in /etc. Nothing of /run but names and devices: a user's own folder
// is there.
constexpr std::array readable{"/etc", "/proc", "/sys", "/run/systemd/resolve", "/run/resolvconf", "/run/udev"};
constexpr std::array programs{"/usr", "/lib", "/lib64", "/bin", "/sbin"};
// Huge pages are files; a delegated group of processes is a folder.
constexpr std::array writable{"/dev/hugepages", "/sys/fs/cgroup"};

// swtpm_setup, by which libvirt makes TPMs, writes there and nowhere else. Not where our own folders are in it.
constexpr std::string_view temporary = "/tmp";

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

}  // namespace

std::vector<PathRule> visible_to_guests(const GuestFolders& folders) {
  std::vector<PathRule> rules;
  for (const char* path : programs) rules.push_back({path, Access::program});
  for (const char* path : readable) rules.push_back({path, Access::read});
  for (const char* path : writable) rules.push_back({path, Access::data});
  // Modes say which of them are for this user.
  for (const std::string_view path : sandbox::host_folders) rules.push_back({std::string(path), Access::data});
  rules.push_back({"/dev", Access::hardware});
  for (const std::string& path : folders.read) rules.push_back({path, Access::read});
  for (const std::string& path : folders.write) rules.push_back({path, Access::data});
  if (std::ranges::none_of(folders.write, [](const std::string& path) { return is_below(path, temporary); }))
    rules.push_back({std::string(temporary), Access::data});
  return rules;
}

std::string word_of(const PathRule& rule) {
  for (const auto& [letter, access] : letters)
    if (access == rule.access) return fmt::format("@{}{}", letter, rule.path);
  return {};
}

std::optional<PathRule> rule_of(std::string_view word) {
  if (word.size() < 3 || word[0] != '@' || word[2] != '/') return std::nullopt;
  for (const auto& [letter, access] : letters)
    if (letter == word[1]) return PathRule{.path = std::string(word.substr(2)), .access = access};
  return std::nullopt;
}

Result<Confinement> confine_guests(sandbox::Mode mode, const GuestFolders& folders, int landlock_abi, bool bridges) {
  Confinement made;
  if (mode == sandbox::Mode::off)
    made.missing = "--sandbox=off";
  else if (landlock_abi == 0)
    made.missing = "Landlock (not supported by the kernel, or not permitted by the container runtime)";
  else if (bridges)
    made.missing = "this host allows guests on its bridges, for which qemu-bridge-helper must become root";
  if (mode == sandbox::Mode::required && !made.missing.empty())
    return fail(Status::internal_error(
        fmt::format("--sandbox=required, but libvirtd and QEMU cannot be confined: {}", made.missing)));
  if (made.missing.empty())
    for (const PathRule& rule : visible_to_guests(folders)) made.words.push_back(word_of(rule));
  return made;
}

}  // namespace vg::hypervisor
