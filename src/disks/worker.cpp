#include "disks/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT: kill and SIGKILL are POSIX's
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <list>
#include <map>

#include "base/disk_limits.h"
#include "base/helper_limits.h"
#include "disks/jobs.h"
#include "disks/messages.h"
#include "helpers/kept_process.h"
#include "helpers/pass_on.h"
#include "sandbox/landlock.h"

namespace vg::disks {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr std::chrono::milliseconds progress_interval{500};
constexpr int worker_failed = 1;

helpers::Sent send_message(helpers::Channel& channel, const Message& message) {
  return channel.send(subject_of(message), write_message(message));
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
  const bool others = std::holds_alternative<CopyClaim>(job.work) || std::holds_alternative<CopyFromRecord>(job.work) ||
                      std::holds_alternative<TakeRecord>(job.work) || std::holds_alternative<StageRecord>(job.work) ||
                      kind_of(job.work) == JobKind::removal;
  rules.push_back({others ? folder : fmt::format("{}/{}/{}", folder, job.claim.ns, job.claim.name), Access::write});
  return rules;
}

// Imports from registries go through a proxy of their own (guard_proxy.h), which has whatever port is free.
std::optional<std::uint16_t> proxy_port(const DiskJob& job) {
  const bool pulls = std::holds_alternative<ImportRegistry>(job.work) || std::holds_alternative<ReadDigest>(job.work);
  return pulls ? std::optional<std::uint16_t>(0) : std::nullopt;
}

// Where the kernel has walls, nothing goes on without them.
Outcome<> confine(const std::string& folder, const DiskJob& job) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int abi = sandbox::landlock_abi();
  if (abi == 0 || sandbox::sanitized_build) return {};
  if (const auto done = sandbox::apply_landlock(visible(folder, job), proxy_port(job), abi); !done)
    return failed(DiskError::other, fmt::format("the job cannot be confined: {}", done.error()));
  return {};
}

// Nothing is left to do but to say how it ended.
[[noreturn]] void end_job(helpers::Channel& worker, const JobEnded& ended) {
  if (send_message(worker, ended) != helpers::Sent::yes)
    send_message(worker, JobEnded{.id = ended.id, .failure = Failure{.message = "the job has too much to tell"}});
  while (worker.has_queued()) {
    worker.wait_to_send(limits::helper_beat_interval);
    worker.flush();
  }
  ::_exit(0);
}

[[noreturn]] void run_job(const DiskFolder& disks, const std::string& folder, const DiskJob& job,
                          helpers::Channel worker) {
  if (const auto confined = confine(folder, job); !confined)
    end_job(worker, {.id = job.id, .failure = confined.error()});
  auto last = steady_clock::now();
  const auto done = carry_out(disks, job, system_clock::now(), [&](int progress) {
    if (steady_clock::now() - last < progress_interval) return;
    last = steady_clock::now();
    send_message(worker, JobProgress{.id = job.id, .progress = progress});
  });
  if (done) end_job(worker, {.id = job.id, .labels = *done});
  end_job(worker, {.id = job.id, .failure = done.error()});
}

// What it has begun may be a million files.
[[noreturn]] void clean_up_after(const DiskFolder& disks, const DiskJob& job) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  clean_up(disks, job);
  ::_exit(0);
}

// --- the worker ------------------------------------------------------------------------------------------------------

struct Running {
  DiskJob job;
  pid_t process = -1;
  helpers::Channel channel;
  std::optional<JobEnded> ended = {};
  steady_clock::time_point told = {};  // of its progress
  bool is_cleaning = false;            // it has failed, and what it had begun is removed
};

class Worker {
 public:
  Worker(DiskFolder disks, std::string folder, helpers::Channel server, helpers::Heartbeat& heartbeat)
      : disks_(std::move(disks)), folder_(std::move(folder)), server_(std::move(server)), heartbeat_(heartbeat) {}

  // False when the server is gone.
  bool announce() {
    disks_.clear_unfinished();
    say(Hello{});
    if (!await_welcome()) return false;
    for (auto& [name, claim] : disks_.claims()) tell_claim(name, std::move(claim));
    for (const auto& [name, record] : disks_.records()) say(RecordIs{.name = name, .record = record});
    say(Ready{});
    return true;
  }

  int run() {
    while (true) {
      heartbeat_.beat();
      server_.flush();
      std::vector<pollfd> ready{{server_.descriptor(), server_.events(), 0}};
      for (const Running& one : running_) ready.push_back({one.channel.descriptor(), POLLIN, 0});
      const auto wait = std::min<std::int64_t>(limits::helper_beat_interval.count(), until_next_look());
      if (::poll(ready.data(), ready.size(), static_cast<int>(wait)) < 0 && errno != EINTR) return worker_failed;
      std::size_t at = 1;
      for (Running& one : running_)
        if (ready[at++].revents != 0) hear(one);
      std::erase_if(running_, [](const Running& one) { return !one.channel; });
      if (ready[0].revents != 0 && !obey_all()) return 0;
      if (until_next_look() > 0) continue;
      if (!disks_.is_at(folder_)) return worker_failed;  // the next one opens what is there now
      look_again();
    }
  }

 private:
  // What was sent before was for a worker that is gone, and is over.
  bool await_welcome() {
    while (true) {
      const auto received = server_.receive();
      if (!received) return false;
      if (!*received) {
        server_.wait_to_receive(limits::helper_beat_interval);
        server_.flush();
        continue;
      }
      const auto message = read_message((*received)->body);
      if (message && std::holds_alternative<Welcome>(*message)) return true;
    }
  }

  // Waits for a server that is slow: nothing of this may be lost, and there is nothing to do for others meanwhile.
  void say(const Message& message) {
    while (send_message(server_, message) == helpers::Sent::full) {
      heartbeat_.beat();
      server_.wait_to_send(limits::helper_beat_interval);
    }
  }

  std::int64_t until_next_look() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_look_ - steady_clock::now());
    return std::max<std::int64_t>(0, left.count());
  }

  // What others did: somebody took folders away or put them back, a guest's program wrote its first file. The more
  // there is to look at, the more seldom.
  void look_again() {
    const auto began = steady_clock::now();
    std::map<DiskClaimName, DiskClaim> found;
    for (auto& [name, claim] : disks_.claims([this] { heartbeat_.beat(); }))
      found.insert_or_assign(name, std::move(claim));
    for (const auto& [name, claim] : std::map(told_))
      if (!found.contains(name) && !is_worked_on(name)) tell_claim(name, std::nullopt);
    for (auto& [name, claim] : found)
      if (!is_worked_on(name)) tell_claim(name, std::move(claim));
    const auto ended = steady_clock::now();
    next_look_ = ended + std::max<steady_clock::duration>(limits::disk_look_interval,
                                                          limits::disk_look_pauses * (ended - began));
  }

  // What it is while a job is at work is told when that is over.
  bool is_worked_on(const DiskClaimName& name) const {
    return std::ranges::any_of(running_, [&](const Running& one) { return one.job.claim == name; });
  }

  // News only.
  void tell_claim(const DiskClaimName& name, std::optional<DiskClaim> claim) {
    const auto before = told_.find(name);
    if (before == told_.end() ? !claim : claim == before->second) return;
    say(ClaimIs{.name = name, .claim = claim});
    if (claim)
      told_.insert_or_assign(name, std::move(*claim));
    else
      told_.erase(name);
  }

  // False when the server is gone.
  bool obey_all() {
    while (true) {
      const auto received = server_.receive();
      if (!received) return false;
      if (!*received) return true;
      heartbeat_.beat();
      obey(**received);
    }
  }

  void obey(const helpers::Message& raw) {
    const auto message = raw.problem.empty() ? read_message(raw.body) : std::nullopt;
    if (!message) {
      const std::string why = raw.problem.empty() ? "it is none that is known" : raw.problem;
      if (!raw.subject.empty())
        say(JobEnded{.id = raw.subject, .failure = Failure{.message = fmt::format("the job cannot be read: {}", why)}});
      return;
    }
    if (const auto* start = std::get_if<Start>(&*message)) begin(start->job);
    if (const auto* cancel = std::get_if<Cancel>(&*message))
      for (const Running& one : running_)
        if (one.job.id == cancel->id && !one.is_cleaning) ::kill(one.process, SIGKILL);
  }

  void begin(const DiskJob& job) {
    if (kind_of(job.work) == JobKind::quick) {
      const auto done = carry_out(disks_, job, system_clock::now(), [](int) {});
      JobEnded ended{.id = job.id};
      if (!done) ended.failure = done.error();
      if (!done) clean_up(disks_, job);
      return conclude(job, ended);
    }
    Running one{.job = job, .channel = {}};
    if (!fork_for(one, [&](helpers::Channel worker) { run_job(disks_, folder_, job, std::move(worker)); }))
      return conclude(job, {.id = job.id, .failure = system_failed("a job cannot be started").error()});
    running_.push_back(std::move(one));
  }

  // Readable when it says something, and once it has ended. False: nothing was started, and nothing is changed.
  template <class Body>
  bool fork_for(Running& one, const Body& body) {
    auto ends = helpers::Channel::make_pair();
    const pid_t process = ends ? ::fork() : -1;
    if (process < 0) return false;
    if (process == 0) {
      heartbeat_.close();
      server_.close();
      ends->first.close();
      running_.clear();
      body(std::move(ends->second));
      ::_exit(worker_failed);
    }
    one.process = process;
    one.channel = std::move(ends->first);
    return true;
  }

  // One message at a time: a job that was taken over by what it reads could say more and more, and keep us from others.
  void hear(Running& one) {
    const auto received = one.channel.receive();
    if (!received) return hear_end(one);
    if (!*received) return;
    auto message = (*received)->problem.empty() ? read_message((*received)->body) : std::nullopt;
    // It reads bytes of others: whatever it says is about its own job.
    if (auto* ended = message ? std::get_if<JobEnded>(&*message) : nullptr)
      (one.ended = std::move(*ended))->id = one.job.id;
    const auto* progress = message ? std::get_if<JobProgress>(&*message) : nullptr;
    if (!progress || steady_clock::now() - one.told < progress_interval / 2) return;
    one.told = steady_clock::now();
    say(JobProgress{.id = one.job.id, .progress = progress->progress});
  }

  void hear_end(Running& one) {
    one.channel.close();
    ::kill(one.process, SIGKILL);  // it may have closed its end and gone on
    while (::waitpid(one.process, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (!one.ended)
      one.ended = JobEnded{.id = one.job.id, .failure = Failure{.message = "the process that worked on it was ended"}};
    const DiskJob job = one.job;  // in the new process the list is gone
    if (one.ended->failure && !std::exchange(one.is_cleaning, true) &&
        fork_for(one, [&](const helpers::Channel&) { clean_up_after(disks_, job); }))
      return;
    conclude(one.job, *one.ended);
  }

  // What is there now, before it is told that the job is over.
  void conclude(const DiskJob& job, const JobEnded& ended) {
    if (!job.claim.name.empty() && !std::holds_alternative<TakeRecord>(job.work)) {
      const auto folder = disks_.claim(job.claim);
      const bool is_there = folder && read_note(folder->get());
      tell_claim(job.claim, is_there ? std::optional(describe_claim(folder->get())) : std::nullopt);
    }
    if (const auto* take = std::get_if<TakeRecord>(&job.work)) tell_record(take->record);
    if (const auto* stage = std::get_if<StageRecord>(&job.work)) tell_record(stage->as);
    if (const auto* copy = std::get_if<CopyFromRecord>(&job.work); copy && copy->adopt) tell_record(copy->record);
    if (const auto* removal = std::get_if<RemoveRecord>(&job.work)) tell_record(removal->record);
    say(ended);
  }

  void tell_record(const std::string& name) {
    const auto folder = disks_.record(name);
    RecordIs is{.name = name, .record = {}};
    if (folder) is.record = describe_record(folder->get());
    say(is);
  }

  DiskFolder disks_;
  std::string folder_;
  helpers::Channel server_;
  helpers::Heartbeat& heartbeat_;
  std::list<Running> running_;
  std::map<DiskClaimName, DiskClaim> told_;  // what the server knows of claims
  steady_clock::time_point next_look_ = steady_clock::now() + limits::disk_look_interval;
};

int run_worker(int socket, const std::string& folder, helpers::Heartbeat& heartbeat) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);                                      // its jobs are killed with it (helpers/kept_process.cpp)
  std::optional<helpers::Beating> starting(heartbeat);  // over many disks that takes long
  auto disks = DiskFolder::open(folder);
  if (!disks) return worker_failed;
  Worker worker(std::move(*disks), folder, helpers::Channel(Descriptor(socket)), heartbeat);
  if (!worker.announce()) return 0;
  starting.reset();
  return worker.run();
}

}  // namespace

int supervise_worker(int socket, int heartbeat, const std::string& folder) {
  // A terminal's Ctrl-C is for the server; when that ends, so does this.
  (void)::signal(SIGINT, SIG_IGN);
  (void)::signal(SIGPIPE, SIG_IGN);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  auto page = helpers::Heartbeat::open(Descriptor(heartbeat));
  if (!page) return worker_failed;
  helpers::KeptProcess worker(
      std::move(*page), [&](helpers::Heartbeat& own) { return run_worker(socket, folder, own); },
      limits::helper_silent_looks_max);
  helpers::keep_running(socket, {&worker, 1}, nullptr);
  return 0;
}

Outcome<WorkerLink> start_worker(const std::string& program, const std::string& folder) {
  auto ends = helpers::Channel::make_pair();
  auto heartbeat = helpers::Heartbeat::make();
  if (!ends || !heartbeat) return system_failed("the process that works on disks cannot be started");
  const int socket = ends->second.descriptor(), page = heartbeat->descriptor();
  const std::string socket_text = fmt::to_string(socket), page_text = fmt::to_string(page);
  const std::array<const char*, 6> arguments{program.c_str(),   "disk-worker",  socket_text.c_str(),
                                             page_text.c_str(), folder.c_str(), nullptr};
  const pid_t child = ::fork();
  if (child < 0) return system_failed("the process that works on disks cannot be started");
  if (child == 0) {
    helpers::pass_on_only(std::array{socket, page});
    ::execv("/proc/self/exe", const_cast<char* const*>(arguments.data()));  // NOLINT: exec does not change them
    ::_exit(worker_failed);
  }
  return WorkerLink{.channel = std::move(ends->first), .heartbeat = std::move(*heartbeat)};
}

}  // namespace vg::disks
