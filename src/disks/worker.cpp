#include "disks/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT: kill and SIGKILL are POSIX's
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <list>
#include <thread>

#include "base/disk_limits.h"
#include "disks/jobs.h"
#include "disks/messages.h"
#include "sandbox/landlock.h"

namespace vg::disks {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr std::chrono::milliseconds progress_interval{500};
constexpr int worker_failed = 1;

bool send_message(int socket, const Message& message) {
  const std::string text = write_message(message);
  return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// Nothing when the other end is closed; an empty message for what cannot be read.
std::optional<std::optional<Message>> receive_message(int socket) {
  std::string text(limits::disk_message_bytes_max, '\0');
  const ssize_t got = ::recv(socket, text.data(), text.size(), 0);
  if (got <= 0) return std::nullopt;
  return read_message(std::string_view(text).substr(0, static_cast<std::size_t>(got)));
}

// --- the process of one job ------------------------------------------------------------------------------------------

// What programs need, and the folders that the job works in.
std::vector<sandbox::PathRule> visible(const std::string& folder, const DiskJob& job) {
  using Access = sandbox::PathRule::Access;
  std::vector<sandbox::PathRule> rules;
  for (const char* path : {"/usr", "/lib", "/lib64", "/bin"}) rules.push_back({path, Access::program});
  for (const char* path : {"/etc/ld.so.cache", "/etc/ssl", "/etc/ca-certificates", "/etc/resolv.conf", "/etc/hosts",
                           "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/host.conf", "/etc/services", "/etc/containers",
                           "/run/systemd/resolve", "/run/resolvconf", "/proc/self", "/sys/devices/system/cpu"})
    rules.push_back({path, Access::read});
  for (const char* path : {"/dev/null", "/dev/urandom", "/dev/zero"}) rules.push_back({path, Access::device});
  if (std::holds_alternative<ReadDigest>(job.work)) {
    rules.push_back({fmt::format("{}/{}", folder, scratch_folder), Access::write});
    return rules;
  }
  const bool copies = std::holds_alternative<CopyClaim>(job.work) || std::holds_alternative<CopyFromRecord>(job.work) ||
                      std::holds_alternative<TakeRecord>(job.work) || std::holds_alternative<StageRecord>(job.work);
  rules.push_back({copies ? folder : fmt::format("{}/{}/{}", folder, job.claim.ns, job.claim.name), Access::write});
  return rules;
}

// Imports from registries go through a proxy of their own (guard_proxy.h), which has whatever port is free.
std::optional<std::uint16_t> proxy_port(const DiskJob& job) {
  const bool pulls = std::holds_alternative<ImportRegistry>(job.work) || std::holds_alternative<ReadDigest>(job.work);
  return pulls ? std::optional<std::uint16_t>(0) : std::nullopt;
}

void confine(const std::string& folder, const DiskJob& job) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (const int abi = sandbox::landlock_abi(); abi > 0 && !sandbox::sanitized_build)
    (void)sandbox::apply_landlock(visible(folder, job), proxy_port(job), abi);
}

[[noreturn]] void run_job(const DiskFolder& disks, const std::string& folder, const DiskJob& job, int socket) {
  confine(folder, job);
  auto last = steady_clock::now();
  const auto done = carry_out(disks, job, system_clock::now(), [&](int progress) {
    if (steady_clock::now() - last < progress_interval) return;
    last = steady_clock::now();
    send_message(socket, JobProgress{.id = job.id, .progress = progress});
  });
  JobEnded ended{.id = job.id};
  if (done)
    ended.labels = *done;
  else
    ended.failure = done.error();
  send_message(socket, ended);
  ::_exit(0);
}

// --- the worker ------------------------------------------------------------------------------------------------------

struct Running {
  DiskJob job;
  pid_t process = -1;
  Descriptor socket;
  std::optional<JobEnded> ended = {};
};

class Worker {
 public:
  Worker(DiskFolder disks, std::string folder, int socket)
      : disks_(std::move(disks)), folder_(std::move(folder)), socket_(socket) {}

  int run() {
    disks_.clear_unfinished();
    if (!greet()) return 0;
    while (true) {
      std::vector<pollfd> ready{{socket_, POLLIN, 0}};
      for (const Running& one : running_) ready.push_back({one.socket.get(), POLLIN, 0});
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return worker_failed;
      std::size_t at = 1;
      for (Running& one : running_)
        if (ready[at++].revents != 0) hear(one);
      std::erase_if(running_, [](const Running& one) { return !one.socket; });
      if (ready[0].revents != 0 && !obey()) return 0;
    }
  }

 private:
  bool greet() {
    if (!send_message(socket_, Hello{})) return false;
    for (const auto& [name, claim] : disks_.claims())
      if (!send_message(socket_, ClaimIs{.name = name, .claim = claim})) return false;
    for (const auto& [name, record] : disks_.records())
      if (!send_message(socket_, RecordIs{.name = name, .record = record})) return false;
    return send_message(socket_, Ready{});
  }

  // False when the server is gone.
  bool obey() {
    const auto message = receive_message(socket_);
    if (!message) return false;
    if (!*message) return true;
    if (const auto* start = std::get_if<Start>(&**message)) begin(start->job);
    if (const auto* cancel = std::get_if<Cancel>(&**message))
      for (const Running& one : running_)
        if (one.job.id == cancel->id) ::kill(one.process, SIGKILL);
    return true;
  }

  void begin(DiskJob job) {
    if (is_quick(job.work)) {
      const auto done = carry_out(disks_, job, system_clock::now(), [](int) {});
      JobEnded ended{.id = job.id};
      if (!done) ended.failure = done.error();
      return conclude(job, ended);
    }
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
      return conclude(job, {.id = job.id, .failure = system_failed("a job cannot be started").error()});
    Descriptor own(ends[0]), theirs(ends[1]);
    const pid_t process = ::fork();
    if (process < 0) return conclude(job, {.id = job.id, .failure = system_failed("a job cannot be started").error()});
    if (process == 0) {
      ::close(socket_);
      own.close();
      running_.clear();
      run_job(disks_, folder_, job, theirs.get());
    }
    running_.push_back({.job = std::move(job), .process = process, .socket = std::move(own)});
  }

  void hear(Running& one) {
    auto message = receive_message(one.socket.get());
    if (message && *message) {
      if (auto* ended = std::get_if<JobEnded>(&**message)) one.ended = std::move(*ended);
      if (const auto* progress = std::get_if<JobProgress>(&**message)) send_message(socket_, *progress);
    }
    if (message) return;
    int status = 0;
    while (::waitpid(one.process, &status, 0) < 0 && errno == EINTR) {
    }
    one.socket.close();
    conclude(one.job, one.ended.value_or(JobEnded{
                          .id = one.job.id, .failure = Failure{.message = "the process that worked on it was ended"}}));
  }

  // What is there now, before it is told that the job is over.
  void conclude(const DiskJob& job, const JobEnded& ended) {
    if (ended.failure) clean_up(disks_, job);
    if (!job.claim.name.empty() && !std::holds_alternative<TakeRecord>(job.work)) {
      const auto folder = disks_.claim(job.claim);
      ClaimIs is{.name = job.claim, .claim = {}};
      if (folder && read_note(folder->get())) is.claim = describe_claim(folder->get());
      send_message(socket_, is);
    }
    if (const auto* take = std::get_if<TakeRecord>(&job.work)) tell_record(take->record);
    if (const auto* stage = std::get_if<StageRecord>(&job.work)) tell_record(stage->as);
    if (const auto* copy = std::get_if<CopyFromRecord>(&job.work); copy && copy->adopt) tell_record(copy->record);
    if (const auto* removal = std::get_if<RemoveRecord>(&job.work)) tell_record(removal->record);
    send_message(socket_, ended);
  }

  void tell_record(const std::string& name) {
    const auto folder = disks_.record(name);
    RecordIs is{.name = name, .record = {}};
    if (folder) is.record = describe_record(folder->get());
    send_message(socket_, is);
  }

  DiskFolder disks_;
  std::string folder_;
  int socket_;
  std::list<Running> running_;
};

int run_worker(int socket, const std::string& folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto disks = DiskFolder::open(folder);
  if (!disks) return worker_failed;
  return Worker(std::move(*disks), folder, socket).run();
}

}  // namespace

int supervise_worker(int socket, const std::string& folder) {
  // A terminal's Ctrl-C is for the server; when that ends, so does this.
  (void)::signal(SIGINT, SIG_IGN);
  (void)::signal(SIGPIPE, SIG_IGN);
  auto pause = limits::disk_worker_pause_min;
  while (true) {
    const auto began = steady_clock::now();
    const pid_t worker = ::fork();
    if (worker == 0) ::_exit(run_worker(socket, folder));
    int status = worker_failed;
    while (worker > 0 && ::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
    }
    if (worker > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (steady_clock::now() - began > limits::disk_worker_pause_max) pause = limits::disk_worker_pause_min;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, limits::disk_worker_pause_max);
  }
}

Outcome<Descriptor> start_worker(const std::string& program, const std::string& folder) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return system_failed("the process that works on disks cannot be started");
  Descriptor own(ends[0]), theirs(ends[1]);
  const std::string number = fmt::to_string(theirs.get());
  const std::array<const char*, 5> arguments{program.c_str(), "disk-worker", number.c_str(), folder.c_str(), nullptr};
  const pid_t child = ::fork();
  if (child < 0) return system_failed("the process that works on disks cannot be started");
  if (child == 0) {
    ::fcntl(theirs.get(), F_SETFD, 0);
    ::execv("/proc/self/exe", const_cast<char* const*>(arguments.data()));  // NOLINT: exec does not change them
    ::_exit(worker_failed);
  }
  return own;
}

}  // namespace vg::disks
