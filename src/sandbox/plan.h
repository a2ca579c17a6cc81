// What the sandbox will do, decided before anything is done: from what the server needs and from what the machine has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::sandbox {

enum class Mode {
  off,
  on,        // what the machine has; the log says what is missing
  required,  // all of it, or the server does not start
};
// The value of --sandbox.
std::optional<Mode> parse_mode(std::string_view text);

// Leak checks trace their own process and reports start a symbolizer: a filter would end what it should watch.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool sanitized_build = true;
#else
inline constexpr bool sanitized_build = false;
#endif
#else
inline constexpr bool sanitized_build = false;
#endif

struct PathRule {
  // program: read and executed; data: as write, but no symbolic links are made, which others would follow; hardware:
  // devices that are told what to do.
  enum class Access { read, write, device, program, data, hardware };
  std::string path;
  Access access = Access::read;
  std::string from = {};  // a folder that is seen at `path` in a view of one's own (isolate.h), in place of that one
  bool operator==(const PathRule&) const = default;
};

// What a server needs beside the files of every program.
struct Needs {
  std::vector<std::string> write_folders = {};  // all below may be read, written, made, renamed and removed
  std::vector<std::string> read_files = {};     // looked at again while it runs, so others may be put in their place
  std::optional<std::uint16_t> listen_port = {};
  // It starts programs, which have its sandbox as well, and ends processes that it did not start. `rules`: what it and
  // they reach beside the rest.
  bool programs = false;
  std::vector<PathRule> rules = {};
};

struct Machine {
  bool root = false;          // the user id, whatever it is still allowed to do
  int landlock_abi = 0;       // 0: the kernel has none
  std::string resolver = {};  // the file that /etc/resolv.conf stands for
};

struct Plan {
  Mode mode = Mode::on;
  bool capabilities = false;  // none are left, and none come back
  bool landlock = false;
  bool seccomp = false;
  bool programs = false;
  bool unix_sockets = false;         // for name services; a root would be obeyed by everybody who listens on one
  std::vector<PathRule> paths = {};  // those that do not exist are passed over
  std::optional<std::uint16_t> bind_port = {};
  std::vector<std::string> missing = {};  // what this machine does not have
};

Plan make_plan(Mode mode, const Needs& needs, const Machine& machine);

// Somebody of /etc/passwd.
struct Account {
  std::string name = {};
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home = {};
  bool operator==(const Account&) const = default;
};

inline constexpr std::string_view default_user = "virtgate";

struct UserQuestion {
  uid_t started_as = 0;
  std::string asked = {};                 // --user; empty: not given
  std::optional<Account> account = {};    // of `asked`, else of default_user; none: there is no such user
  std::string state = {};                 // the state folder if nobody changes
  bool state_given = false;               // by a flag; otherwise it is in the home of whoever started the server
  std::optional<uid_t> state_owner = {};  // none: there is no such folder yet
  bool runs_guests = false;               // libvirt run by root is another thing: root must become somebody else
};

struct UserDecision {
  std::optional<Account> become = {};  // none: stay who we are
  std::string advice = {};             // for the log
};

// Whose rights the server has from here on. Who asks for a user gets that one or a refusal. Who does not gets
// `virtgate` where nothing that is there would become unreachable.
Result<UserDecision> decide_user(const UserQuestion& question);

}  // namespace vg::sandbox
