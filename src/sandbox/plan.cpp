#include "sandbox/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace vg::sandbox {
namespace {

using Access = PathRule::Access;

// Libraries that are loaded late (name service modules), time zones, certificates of authorities.
constexpr std::string_view system_folders[] = {"/usr", "/lib", "/lib64"};

// Where else programs are, and this one.
constexpr std::string_view program_folders[] = {"/bin", "/sbin", "/proc/self/exe"};

// Without capabilities root still owns files such as the passwords' one, so it gets no more of /etc than what name
// look-ups and TLS read. Other users get the whole: a file that is replaced while the server runs stays readable, and
// modes keep them out of what is not theirs.
constexpr std::string_view etc_for_root[] = {
    "/etc/hosts",    "/etc/host.conf",   "/etc/resolv.conf", "/etc/nsswitch.conf",   "/etc/gai.conf",
    "/etc/services", "/etc/protocols",   "/etc/passwd",      "/etc/group",           "/etc/localtime",
    "/etc/timezone", "/etc/ld.so.cache", "/etc/ssl",         "/etc/ca-certificates", "/etc/pki",
};

// Our own process, the CPUs that there are, and settings of the kernel.
constexpr std::string_view kernel_folders[] = {"/proc/self", "/proc/sys", "/sys/devices/system/cpu"};

constexpr std::string_view devices[] = {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"};

std::string folder_of(const std::string& file) {
  const auto folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? "." : folder.native();
}

// Such as /etc: too much to be given away for one file in it.
bool is_top_level(const std::filesystem::path& folder) {
  return folder.is_absolute() && folder.relative_path().parent_path().empty();
}

std::vector<PathRule> path_rules(const Needs& needs, const Machine& machine) {
  std::vector<PathRule> rules;
  const auto add = [&](std::string path, Access access) {
    PathRule rule{.path = std::move(path), .access = access};
    if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(std::move(rule));
  };
  for (const auto folder : system_folders) add(std::string(folder), needs.programs ? Access::program : Access::read);
  if (needs.programs)
    for (const auto path : program_folders) add(std::string(path), Access::program);
  if (machine.root) {
    for (const auto path : etc_for_root) add(std::string(path), Access::read);
  } else {
    add("/etc", Access::read);
  }
  for (const auto folder : kernel_folders) add(std::string(folder), Access::read);
  for (const auto device : devices) add(std::string(device), Access::device);
  // Network managers put a new file in its place: the folder counts. Directly in /etc it is among the above.
  if (!machine.resolver.empty() && folder_of(machine.resolver) != "/etc")
    add(folder_of(machine.resolver), Access::read);
  for (const auto& file : needs.read_files)
    if (!file.empty()) add(is_top_level(folder_of(file)) ? file : folder_of(file), Access::read);
  for (const auto& folder : needs.write_folders) add(folder, Access::write);
  for (const auto& rule : needs.rules) add(rule.path, rule.access);
  return rules;
}

}  // namespace

std::optional<Mode> parse_mode(std::string_view text) {
  if (text == "on") return Mode::on;
  if (text == "off") return Mode::off;
  if (text == "required") return Mode::required;
  return std::nullopt;
}

Plan make_plan(Mode mode, const Needs& needs, const Machine& machine) {
  Plan plan{.mode = mode};
  if (mode == Mode::off) return plan;
  plan.capabilities = true;
  if (sanitized_build) {
    plan.missing.emplace_back("seccomp and Landlock (this build has a sanitizer)");
    return plan;
  }
  plan.seccomp = true;
  plan.programs = needs.programs;
  plan.unix_sockets = !machine.root;
  plan.landlock = machine.landlock_abi > 0;
  if (!plan.landlock) {
    plan.missing.emplace_back("Landlock (not supported by the kernel, or not permitted by the container runtime)");
    return plan;
  }
  plan.paths = path_rules(needs, machine);
  plan.bind_port = needs.listen_port;
  return plan;
}

Result<UserDecision> decide_user(const UserQuestion& question) {
  const auto& account = question.account;
  if (!question.asked.empty()) {
    if (!account)
      return fail(Status::bad_request(
          fmt::format("--user: user \"{0}\" not found; create it: useradd --system {0}", question.asked)));
    if (account->uid == question.started_as) return UserDecision{};
    if (question.started_as != 0)
      return fail(
          Status::bad_request(fmt::format("--user {}: only root can change the user, and the server was started "
                                          "as user id {}; start it as root, or leave --user out",
                                          question.asked, question.started_as)));
    if (question.state_given && question.state_owner && *question.state_owner != account->uid)
      return fail(
          Status::bad_request(fmt::format("--user {0}: the state folder {1} belongs to user id {2}; run: chown "
                                          "-R {0} {1}",
                                          question.asked, question.state, *question.state_owner)));
    return UserDecision{.become = account, .advice = {}};
  }
  if (question.started_as != 0) return UserDecision{};
  const bool theirs = question.state_owner && account && *question.state_owner == account->uid;
  const bool fresh = !question.state_owner && (!question.state_given || question.runs_guests);
  if (account && account->uid != 0 && (theirs || fresh)) return UserDecision{.become = account, .advice = {}};
  if (question.runs_guests)
    return fail(Status::bad_request(
        account
            ? fmt::format("root must not run guests, and the state folder {1} belongs to user id {2}; run: chown -R "
                          "{0} {1}, or start the server as an ordinary user",
                          account->name, question.state, question.state_owner.value_or(0))
            : fmt::format("root must not run guests; create a user for it: useradd --system --create-home "
                          "--home-dir /var/lib/{0} {0}, or start the server as an ordinary user",
                          default_user)));
  if (account)
    return UserDecision{.become = {},
                        .advice = fmt::format("running as root without capabilities because root owns the state "
                                              "folder; to run as {0}: chown -R {0} {1}, then --user {0} --state {1}",
                                              account->name, question.state)};
  return UserDecision{.become = {},
                      .advice = fmt::format("running as root without capabilities; use an unprivileged user instead: "
                                            "useradd --system {0}, then --user {0}",
                                            default_user)};
}

}  // namespace vg::sandbox
