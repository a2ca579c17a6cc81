#include "hypervisor/confinement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "hypervisor/reaper.h"
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

// swtpm_setup, by which libvirt makes TPMs, writes there and nowhere else.
constexpr std::string_view temporary = "/tmp";

constexpr char own_letter = 'o';

constexpr int signal_scope_abi = 6;  // of Landlock: signals stay within

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

PathRule rule_of_own(std::string_view folder) {
  return {
      .path = std::string(folder.substr(0, folder.rfind('/'))), .access = Access::data, .from = std::string(folder)};
}

}  // namespace

std::vector<PathRule> visible_to_guests(const GuestFolders& folders) {
  std::vector<PathRule> rules;
  // Where our own folders are below one of these, so are the server's keys.
  const auto add_unless_ours = [&](std::string_view place) {
    if (std::ranges::none_of(folders.write, [&](const std::string& path) { return is_below(path, place); }))
      rules.push_back({std::string(place), Access::data});
  };
  for (const char* path : programs) rules.push_back({path, Access::program});
  for (const char* path : readable) rules.push_back({path, Access::read});
  for (const char* path : writable) rules.push_back({path, Access::data});
  // Modes say which of them are for this user.
  for (const std::string_view path : sandbox::host_folders) add_unless_ours(path);
  rules.push_back({"/dev", Access::hardware});
  for (const std::string& path : folders.read) rules.push_back({path, Access::read});
  for (const std::string& path : folders.write) rules.push_back({path, Access::data});
  if (!folders.own.empty()) rules.push_back(rule_of_own(folders.own));
  for (const std::string& path : folders.load) rules.push_back({path, Access::program});
  add_unless_ours(temporary);
  return rules;
}

std::string word_of(const PathRule& rule) {
  if (!rule.from.empty()) return fmt::format("@{}{}", own_letter, rule.from);
  for (const auto& [letter, access] : letters)
    if (access == rule.access) return fmt::format("@{}{}", letter, rule.path);
  return {};
}

std::optional<PathRule> rule_of(std::string_view word) {
  if (word.size() < 3 || word[0] != '@' || word[2] != '/') return std::nullopt;
  if (word[1] == own_letter && word.rfind('/') > 2) return rule_of_own(word.substr(2));
  for (const auto& [letter, access] : letters)
    if (letter == word[1]) return PathRule{.path = std::string(word.substr(2)), .access = access};
  return std::nullopt;
}

bool signals_stay_within(const std::vector<std::string>& words, int landlock_abi) {
  return landlock_abi >= signal_scope_abi &&
         std::ranges::any_of(words, [](const std::string& word) { return rule_of(word).has_value(); });
}

Result<Confinement> confine_guests(sandbox::Mode mode, const GuestFolders& folders, const GuestHost& host) {
  Confinement made;
  if (mode == sandbox::Mode::off)
    made.missing = "--sandbox=off";
  else if (host.landlock_abi == 0)
    made.missing = "Landlock (not supported by the kernel, or not permitted by the container runtime)";
  else if (host.bridges)
    made.missing = "this host allows guests on its bridges, for which qemu-bridge-helper must become root";
  if (made.missing.empty() && host.landlock_abi < signal_scope_abi)
    made.reach = "processes of this user by signals (Linux 6.12 or later is required to prevent that)";
  if (made.missing.empty() && !host.why_not_isolated.empty())
    made.reach += fmt::format("{}sockets of this user (unprivileged user namespaces are required to prevent that: {})",
                              made.reach.empty() ? "" : "; ", host.why_not_isolated);
  if (mode == sandbox::Mode::required && !(made.missing.empty() && made.reach.empty()))
    return fail(Status::internal_error(
        made.missing.empty()
            ? fmt::format("--sandbox=required, but libvirtd and QEMU reach {}", made.reach)
            : fmt::format("--sandbox=required, but libvirtd and QEMU cannot be confined: {}", made.missing)));
  if (!made.missing.empty()) return made;
  if (host.why_not_isolated.empty()) made.words.emplace_back(isolate_word);
  for (const PathRule& rule : visible_to_guests(folders)) made.words.push_back(word_of(rule));
  return made;
}

}  // namespace vg::hypervisor
