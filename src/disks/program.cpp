#include "disks/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT: kill and SIGKILL are POSIX's
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/disk_limits.h"
#include "disks/room.h"
#include "sandbox/landlock.h"
#include "sandbox/program.h"

namespace vg::disks {
namespace {

constexpr int not_found_code = 127;

struct Pipe {
  Descriptor read, write;
};
Outcome<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failed("a program cannot be started");
  return Pipe{.read = Descriptor(ends[0]), .write = Descriptor(ends[1])};
}

void limit(__rlimit_resource what, rlim_t most) {
  const rlimit both{.rlim_cur = most, .rlim_max = most};
  ::setrlimit(what, &both);
}

// Where programs are, the language of their messages, and the ways out through proxies (spec storage DV-85).
std::vector<std::string> environment(const Program& program) {
  std::vector<std::string> all{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent"};
  if (!program.proxy_variables.empty()) {
    all.insert(all.end(), program.proxy_variables.begin(), program.proxy_variables.end());
    return all;
  }
  for (const char* name : {"http_proxy", "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY"})
    if (const char* value = ::getenv(name)) all.push_back(fmt::format("{}={}", name, value));  // NOLINT: one thread
  return all;
}

// Nothing of a network is for the others, and no files but those that they are told of.
bool needs_network(const Program& program) {
  return program.command.front() == "curl" || program.command.front() == "skopeo";
}

struct Walls {
  std::span<const sock_filter> filter;
  Descriptor ruleset;
};
// Where there could be walls and are none, nothing is started.
Outcome<Walls> walls_of(const Program& program) {
  const bool network = needs_network(program);
  Walls walls{.filter = sandbox::program_filter(network), .ruleset = {}};
  const auto unconfined = [&](std::string_view why) {
    return failed(DiskError::other, fmt::format("{} cannot be confined: {}", program.command.front(), why));
  };
  if (walls.filter.empty() && !sandbox::sanitized_build) return unconfined("there is no filter of system calls");
  if (network) return walls;  // curl and skopeo are below a process that has walls of its own
  using Access = sandbox::PathRule::Access;
  std::vector<sandbox::PathRule> rules;
  if (program.folder >= 0) rules.push_back({fmt::format("/proc/self/fd/{}", program.folder), Access::write});
  for (const std::string& word : program.command)
    if (word.starts_with('/'))
      rules.push_back({word, &word == &program.command.front() ? Access::program : Access::read});
  const auto ruleset = sandbox::program_ruleset(std::move(rules));
  if (!ruleset) return unconfined(ruleset.error());
  walls.ruleset = Descriptor(*ruleset);
  return walls;
}

// In the child. Only async-signal-safe calls and memory that was made before.
[[noreturn]] void become(const Program& program, const Walls& walls, char* const* command, char* const* variables,
                         int in, int out, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (program.folder >= 0 && ::fchdir(program.folder) != 0) ::_exit(not_found_code);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (const int ruleset : {program.ruleset, walls.ruleset.get()})
    if (ruleset >= 0 && !sandbox::apply_ruleset(ruleset)) ::_exit(not_found_code);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  limit(RLIMIT_CORE, 0);
  if (!sandbox::sanitized_build)  // which takes terabytes of addresses where the program is this one
    limit(RLIMIT_AS, program.memory_bytes > 0 ? program.memory_bytes : limits::disk_program_memory_bytes_max);
  limit(RLIMIT_CPU, program.cpu_seconds > 0
                        ? program.cpu_seconds
                        : limits::disk_program_cpu_seconds_min +
                              static_cast<std::uint64_t>(program.image_bytes) / limits::disk_bytes_per_cpu_second_min);
  limit(RLIMIT_FSIZE, static_cast<rlim_t>(program.bytes_max));
  if (!sandbox::apply_filter(walls.filter)) ::_exit(not_found_code);
  ::execvpe(command[0], command, variables);
  ::_exit(not_found_code);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

void append_bounded(std::string& to, std::string_view text) {
  to.append(text.substr(
      0, limits::disk_program_output_bytes_max - std::min(to.size(), limits::disk_program_output_bytes_max)));
}

bool writes(const Program& program) { return program.folder >= 0 && program.bytes_max > 0; }

// How long poll may wait for a program; -1: for ever.
int wait_of(const Program& program, std::chrono::steady_clock::time_point start) {
  if (writes(program)) return static_cast<int>(limits::disk_room_interval.count());
  if (program.time_max.count() == 0) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(start + program.time_max - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

// Looks at what others could not: whether the program may go on. Now and then, however often it is called.
class Overseer {
 public:
  explicit Overseer(const Program& program) : program_(program) {}
  Outcome<> look() {
    const auto now = std::chrono::steady_clock::now();
    if (program_.time_max.count() > 0 && now - start_ > program_.time_max) timed_out = true;
    if (!writes(program_) || now < next_) return {};
    next_ = now + limits::disk_room_interval;
    if (room_on(program_.folder) == 0) return no_room();
    return program_.look && ++looks_ % 8 == 0 ? program_.look() : Outcome<>();
  }
  std::chrono::steady_clock::time_point start() const { return start_; }
  bool timed_out = false;

 private:
  const Program& program_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), next_ = start_;
  int looks_ = 0;
};

// False when the program is to end.
bool hand_on(const Program& program, bool complains, std::string_view text, Ended& ended) {
  if (complains) {
    const auto complaints = program.take_errors ? program.take_errors(text) : std::optional(text);
    if (complaints) append_bounded(ended.errors, *complaints);
    return complaints.has_value();
  }
  if (program.take) return program.take(text);
  append_bounded(ended.output, text);
  return true;
}

// Reads both until they end. False from `take` is the end as well, and so is the end of its time.
void listen(const Program& program, Descriptor& out, Descriptor& errors, Ended& ended) {
  std::array<char, 64 * 1024> buffer{};
  Overseer overseer(program);
  while (out || errors) {
    std::array<pollfd, 2> ready{{{out.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}}};
    const int events = ::poll(ready.data(), ready.size(), wait_of(program, overseer.start()));
    if (events < 0 && errno != EINTR) return;
    if (auto may_go_on = overseer.look(); !may_go_on) ended.stopped = may_go_on.error();
    ended.timed_out = overseer.timed_out;
    if (ended.stopped || ended.timed_out) return;
    if (events <= 0) continue;
    // Complaints first, and the output once there are none, so that what was written first is taken first.
    const bool complains = ready[1].fd >= 0 && ready[1].revents != 0;
    Descriptor& end = complains ? errors : out;
    const ssize_t got = ::read(end.get(), buffer.data(), buffer.size());
    if (got <= 0)
      end.close();
    else if (!hand_on(program, complains, std::string_view(buffer.data(), static_cast<std::size_t>(got)), ended)) {
      ended.cut_short = true;
      return;
    }
  }
}

// Small: what is longer than a pipe holds would have to be written while it is read.
Outcome<Descriptor> input_of(const Program& program) {
  if (program.input_file >= 0) return Descriptor(::fcntl(program.input_file, F_DUPFD_CLOEXEC, 3));
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  ::fcntl(pipe->write.get(), F_SETPIPE_SZ, static_cast<int>(limits::disk_program_input_bytes_max));
  ::fcntl(pipe->write.get(), F_SETFL, O_NONBLOCK);
  if (::write(pipe->write.get(), program.input.data(), program.input.size()) !=
      static_cast<ssize_t>(program.input.size()))
    return failed(DiskError::other, "too much was to be told to a program");
  return std::move(pipe->read);
}

}  // namespace

bool Ended::wrote_too_much() const {
  return code == 128 + SIGXFSZ || errors.contains("File too large") || errors.contains("File size limit");
}

Outcome<Ended> run(const Program& program) {
  auto input = input_of(program);
  auto out = make_pipe();
  auto errors = make_pipe();
  if (!input) return std::unexpected(input.error());
  if (!out) return std::unexpected(out.error());
  if (!errors) return std::unexpected(errors.error());
  std::vector<std::string> command = program.command, variables = environment(program);
  const std::vector<char*> arguments = pointers(command), settings = pointers(variables);
  const auto walls = walls_of(program);
  if (!walls) return std::unexpected(walls.error());
  const pid_t child = ::fork();
  if (child < 0) return system_failed("a program cannot be started");
  if (child == 0)
    become(program, *walls, arguments.data(), settings.data(), input->get(),
           program.output_file >= 0 ? program.output_file : out->write.get(), errors->write.get());
  out->write.close();
  errors->write.close();
  Ended ended;
  listen(program, out->read, errors->read, ended);
  if (ended.cut_short || ended.timed_out || ended.stopped) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (ended.stopped) return std::unexpected(*ended.stopped);
  if (ended.code == not_found_code)
    return failed(DiskError::not_installed, fmt::format("the program {} is not installed on this host", command[0]));
  return ended;
}

std::string complaint(const Ended& ended) {
  if (ended.timed_out) return "it took too long";
  std::string_view text = ended.errors;
  while (text.ends_with('\n')) text.remove_suffix(1);
  text.remove_prefix(text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1);
  if (text.empty()) return fmt::format("it ended with code {}", ended.code);
  std::string line(text.substr(0, 300));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return line;
}

}  // namespace vg::disks
