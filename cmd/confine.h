// What a server gives up before it starts its first thread and reads its first byte: root, capabilities, most system
// calls, most files (src/sandbox).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sandbox/plan.h"

namespace vg::cmd {

struct ConfineOptions {
  std::string sandbox = "on";
  std::string user;          // empty: virtgate, where that is possible
  bool runs_guests = false;  // no flag: follows from --node

  // What is wrong with the values of flags.
  std::optional<std::string_view> problem() const;
};

inline constexpr std::string_view sandbox_help =
    "on: give up privileges, other system calls and other files, as far as the kernel can; off; required: refuse to "
    "start where a part is missing";

// Where the state is (`flag`, or the default place), once we are whoever the server will run as.
Result<std::filesystem::path> settle_user(const ConfineOptions& options, const std::string& flag);

// Why the user that the server would run as anyway cannot run guests; nothing: it can. Root does not run them, and does
// not become somebody else without being told where the folder is to be its own.
std::optional<std::string> why_no_user_for_guests(const ConfineOptions& options, const std::string& flag);

// A socket bound to the port if only the privileged may have it; -1: not needed. For http::ServerConfig::bound.
Result<int> bind_privileged(const std::string& host, std::int64_t port);

// From here on there is no way back. Children that need more are started before this.
Result<void> confine(const ConfineOptions& options, sandbox::Needs needs);

}  // namespace vg::cmd
