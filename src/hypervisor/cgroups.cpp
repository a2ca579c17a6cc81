#include "hypervisor/cgroups.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/hypervisor_limits.h"

namespace vg::hypervisor {
namespace {

using std::string_view;

constexpr string_view own_name = "virtgate";  // where processes go that are no guest's
constexpr string_view how_to =
    "start the server with a cgroup of its own, for example by systemd with Delegate=yes, or `systemd-run --user "
    "--scope "
    "-p Delegate=yes`";

template <class Act>
void each_line(string_view text, char end, Act act) {
  while (!text.empty()) {
    const string_view line = text.substr(0, text.find(end));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    act(line);
  }
}

std::vector<string_view> words_of(string_view line) {
  std::vector<string_view> words;
  each_line(line, ' ', [&](string_view word) {
    if (!word.empty()) words.push_back(word);
  });
  return words;
}

Result<std::string> read(const std::string& path) { return read_file(path, limits::cgroup_file_bytes_max); }

// In one write, as the kernel wants it; a file of the kernel's is never made or made shorter.
bool write(const std::string& path, string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  const bool done = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  ::close(file);
  errno = error;
  return done;
}

Failed cgroup_refused(const std::string& folder, string_view why) {
  return fail(Status::internal_error(fmt::format("{} {}; {}", folder, why, how_to)));
}

// Programs of ours, by the names that the kernel keeps of them.
bool is_ours(string_view program) {
  constexpr std::array names = std::to_array<string_view>({"virtgate", "libvirtd", "qemu-system", "swtpm"});
  return std::ranges::any_of(names, [&](string_view name) { return program.starts_with(name); });
}

Result<void> move_own(const std::string& folder, const std::string& proc) {
  const auto processes = read(folder + "/cgroup.procs");
  if (!processes) return cgroup_refused(folder, "cannot be read");
  std::vector<std::string> own;
  std::string other;
  each_line(*processes, '\n', [&](string_view pid) {
    const auto program = read(fmt::format("{}/{}/comm", proc, pid));
    if (program && !is_ours(*program)) other = *program;
    own.emplace_back(pid);
  });
  if (!other.empty()) {
    while (other.ends_with('\n')) other.pop_back();
    return cgroup_refused(folder, fmt::format("has processes that are not ours ({})", other));
  }
  if (own.empty()) return {};
  const std::string below = fmt::format("{}/{}", folder, own_name);
  if (::mkdir(below.c_str(), 0755) != 0 && errno != EEXIST)
    return cgroup_refused(folder, "cannot have others below it");
  for (const std::string& pid : own)
    if (!write(below + "/cgroup.procs", pid) && errno != ESRCH)
      return cgroup_refused(folder, fmt::format("does not let its processes go: {}", std::strerror(errno)));
  return {};
}

}  // namespace

Result<std::string> own_cgroup(string_view cgroups, string_view mounts) {
  string_view path;
  each_line(cgroups, '\n', [&](string_view line) {
    if (line.starts_with("0::/")) path = line.substr(3);
  });
  std::string root, inside;
  // 35 24 0:30 ROOT /sys/fs/cgroup rw,... - cgroup2 cgroup2 rw,...
  each_line(mounts, '\n', [&](string_view line) {
    const auto words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 7 || words.end() - dash < 2 || dash[1] != "cgroup2" || !root.empty()) return;
    inside = words[3];
    root = words[4];
  });
  if (path.empty() || root.empty()) return fail(Status::internal_error("this host has no cgroups of version 2"));
  if (path.contains("/..")) return fail(Status::internal_error("the cgroup of this process is not in sight"));
  if (inside != "/" && path.starts_with(inside)) path.remove_prefix(inside.size());
  return root + std::string(path == "/" ? "" : path);
}

std::vector<CgroupFile> cgroup_files(std::int64_t cpu_milli, std::int64_t memory_bytes,
                                     std::int64_t cpu_request_milli) {
  constexpr std::int64_t period_us = 100'000, shortest_us = 1'000;
  constexpr std::int64_t weight_most = 10'000, shares_most = 262'144;
  const std::int64_t quota = std::max(cpu_milli * period_us / 1000, shortest_us);
  // As a kubelet converts requests, by the shares of version 1.
  const std::int64_t shares = std::clamp<std::int64_t>(cpu_request_milli * 1024 / 1000, 2, shares_most);
  const std::int64_t weight = 1 + (shares - 2) * (weight_most - 1) / (shares_most - 2);
  return {
      {"cpu.max", cpu_milli > 0 ? fmt::format("{} {}", quota, period_us) : fmt::format("max {}", period_us)},
      {"cpu.weight", fmt::to_string(cpu_request_milli > 0 ? weight : 100)},
      {"memory.max", memory_bytes > 0 ? fmt::to_string(memory_bytes) : std::string("max")},
  };
}

Result<GuestCgroups> GuestCgroups::open(std::string own, string_view node, const std::string& proc) {
  // An earlier process of this server has moved us already.
  if (own.ends_with(fmt::format("/{}", own_name))) own.resize(own.size() - own_name.size() - 1);
  const auto controllers = read(own + "/cgroup.controllers");
  if (!controllers) return cgroup_refused(own, "is not a cgroup of version 2");
  for (const string_view wanted : {"cpu", "memory"})
    if (std::ranges::none_of(words_of(controllers->substr(0, controllers->find('\n'))),
                             [&](string_view one) { return one == wanted; }))
      return cgroup_refused(own, fmt::format("has no controller \"{}\"", wanted));
  for (const string_view file : {"", "/cgroup.procs", "/cgroup.subtree_control"})
    if (::access(fmt::format("{}{}", own, file).c_str(), W_OK) != 0)
      return cgroup_refused(own, fmt::format("is not delegated to user {}", ::geteuid()));
  if (auto moved = move_own(own, proc); !moved) return fail(std::move(moved.error()));
  if (!write(own + "/cgroup.subtree_control", "+cpu +memory"))
    return cgroup_refused(own, fmt::format("hands on no controllers: {}", std::strerror(errno)));
  GuestCgroups made(std::move(own), fmt::format("guest-{}-", node));
  made.clear();
  return made;
}

// Of guests that ended while nobody looked: the kernel keeps what still has processes.
void GuestCgroups::clear() const {
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, unknown))
    if (entry.path().filename().native().starts_with(prefix_)) ::rmdir(entry.path().c_str());
}

Result<void> GuestCgroups::keep(const std::string& domain, pid_t process, const std::vector<CgroupFile>& files) {
  Kept& kept = kept_[domain];
  if (kept.process == process && kept.files == files) return {};
  const std::string folder = folder_of(domain);
  const auto failed = [&](string_view what) {
    return fail(Status::internal_error(fmt::format("cgroup {}: {}: {}", folder, what, std::strerror(errno))));
  };
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return failed("cannot be made");
  for (const CgroupFile& file : files)
    if (!write(folder + "/" + file.name, file.text)) return failed(file.name);
  if (kept.process != process && !write(folder + "/cgroup.procs", fmt::to_string(process)))
    return failed("cgroup.procs");
  kept = {.process = process, .files = files};
  return {};
}

void GuestCgroups::drop(const std::string& domain) {
  kept_.erase(domain);
  ::rmdir(folder_of(domain).c_str());
}

}  // namespace vg::hypervisor
