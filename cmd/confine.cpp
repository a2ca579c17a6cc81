#include "confine.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "http/tcp.h"
#include "local/state_folder.h"
#include "sandbox/enter.h"

namespace vg::cmd {
namespace {

constexpr std::int64_t first_port_for_everybody = 1024;

std::optional<uid_t> owner_of(const std::filesystem::path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return info.st_uid;
}

Result<std::filesystem::path> place_of(const std::string& flag, const local::Environment& environment) {
  if (!flag.empty()) return std::filesystem::path(flag);
  return local::default_state_folder(environment);
}

// The account's own: what stands in the environment is root's.
local::Environment home_of(const sandbox::Account& account) {
  return [home = account.home](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "HOME" ? std::optional(home) : std::nullopt;
  };
}

// Nothing: whoever we are.
Result<std::optional<sandbox::UserDecision>> decide_user(const ConfineOptions& options, const std::string& flag,
                                                         const std::filesystem::path& place) {
  const bool off = sandbox::parse_mode(options.sandbox) == sandbox::Mode::off;
  if (options.user.empty() && ((off && !options.runs_guests) || ::geteuid() != 0)) return std::nullopt;
  auto decision =
      sandbox::decide_user({.started_as = ::geteuid(),
                            .asked = options.user,
                            .account = options.user.empty() ? sandbox::find_local_account(sandbox::default_user)
                                                            : sandbox::find_account(options.user),
                            .state = place.native(),
                            .state_given = !flag.empty(),
                            .state_owner = owner_of(place),
                            .runs_guests = options.runs_guests});
  if (!decision) return fail(std::move(decision.error()));
  return std::move(*decision);
}

}  // namespace

std::optional<std::string_view> ConfineOptions::problem() const {
  if (!sandbox::parse_mode(sandbox)) return "--sandbox must be on, off or required";
  return std::nullopt;
}

Result<std::filesystem::path> settle_user(const ConfineOptions& options, const std::string& flag) {
  auto place = place_of(flag, local::process_environment());
  if (!place) return fail(std::move(place.error()));
  const auto decided = decide_user(options, flag, *place);
  if (!decided) return fail(decided.error());
  if (!*decided) return place;
  const sandbox::UserDecision& decision = **decided;
  if (!decision.advice.empty()) log::info(decision.advice);
  if (!decision.become) return place;
  place = place_of(flag, home_of(*decision.become));
  if (!place) return fail(std::move(place.error()));
  if (auto became = sandbox::become(*decision.become, *place); !became) return fail(std::move(became.error()));
  return place;
}

std::optional<std::string> why_no_user_for_guests(const ConfineOptions& options, const std::string& flag) {
  const auto place = place_of(flag, local::process_environment());
  if (!place) return place.error().message;
  if (::geteuid() != 0) return std::nullopt;
  const auto decided = decide_user(options, flag, *place);
  if (!decided) return decided.error().message;
  if (*decided && (*decided)->become) return std::nullopt;
  return fmt::format(
      "root must not run guests, and the state folder {} would be root's; with --node libvirt the server "
      "becomes the user {}, or start it as an ordinary user",
      place->native(), sandbox::default_user);
}

Result<int> bind_privileged(const std::string& host, std::int64_t port) {
  if (port == 0 || port >= first_port_for_everybody) return -1;
  return http::bind_tcp(host, static_cast<std::uint16_t>(port));
}

Result<void> confine(const ConfineOptions& options, sandbox::Needs needs) {
  // OpenSSL's own ways to say where its files are.
  const auto environment = local::process_environment();
  for (const char* name : {"SSL_CERT_FILE", "OPENSSL_CONF"})
    if (auto file = environment(name)) needs.read_files.push_back(std::move(*file));
  if (auto folder = environment("SSL_CERT_DIR")) needs.read_files.push_back(*folder + "/any");
  needs.read_files = sandbox::reachable(needs.read_files);
  const auto mode = sandbox::parse_mode(options.sandbox).value_or(sandbox::Mode::required);
  return sandbox::enter(sandbox::make_plan(mode, needs, sandbox::this_machine()));
}

}  // namespace vg::cmd
