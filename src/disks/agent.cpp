#include "disks/agent.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "base/helper_limits.h"
#include "base/log.h"

namespace vg::disks {

WorkerAgent::WorkerAgent(WorkerLink link, const Clock& clock, std::string blocked)
    : link_(std::move(link)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      clock_(clock),
      blocked_(std::move(blocked)) {}

WorkerAgent::~WorkerAgent() {
  ::shutdown(link_.channel.descriptor(), SHUT_RDWR);
  if (listener_.joinable()) listener_.join();
}

void WorkerAgent::start_listening() {
  listener_ = std::thread([this] { listen(); });
}

std::optional<std::string> WorkerAgent::problem() const {
  const std::lock_guard lock(mutex_);
  if (lost_) return "the process that works on disks is gone; restart the server";
  if (link_.heartbeat.silent_for() > limits::helper_silence_told)
    return "the process that works on disks does not answer; it will be replaced";
  if (!ready_) return "the process that works on disks is starting";
  return std::nullopt;
}

bool WorkerAgent::ready() const {
  const std::lock_guard lock(mutex_);
  return ready_;
}

std::optional<DiskClaim> WorkerAgent::claim(std::string_view ns, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = claims_.find({.ns = std::string(ns), .name = std::string(name)});
  return found == claims_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ImageRecord> WorkerAgent::record(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(name);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<DiskJobStatus> WorkerAgent::job(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return board_.status(id);
}

DiskHold WorkerAgent::hold(std::string_view ns, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return board_.hold({.ns = std::string(ns), .name = std::string(name)});
}

void WorkerAgent::start(DiskJob job) {
  const std::lock_guard lock(mutex_);
  if (auto* import = std::get_if<ImportHttp>(&job.work)) import->blocked = blocked_;
  if (auto* import = std::get_if<ImportRegistry>(&job.work)) import->blocked = blocked_;
  if (auto* wish = std::get_if<ReadDigest>(&job.work)) wish->from.blocked = blocked_;
  const std::string id = job.id;
  if (!board_.ask(std::move(job), clock_.wall_now())) return;
  start_what_may();
  if (board_.is_waiting(id)) tell({.job = id, .claim = {}});  // what it waits for is shown
}

void WorkerAgent::cancel(std::string_view id) {
  const std::lock_guard lock(mutex_);
  if (board_.cancel(id)) send(Cancel{.id = std::string(id)});
}

std::vector<DiskChange> WorkerAgent::take_changes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(changes_, {});
}

void WorkerAgent::on_change(std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
  if (changed_ && !changes_.empty()) changed_();
}

// --- with the lock ---------------------------------------------------------------------------------------------------

// Until none may: a job that cannot be sent ends at once, and its slot is the next one's.
void WorkerAgent::start_what_may() {
  if (!ready_ || lost_) return;
  for (auto jobs = board_.start(clock_.wall_now()); !jobs.empty(); jobs = board_.start(clock_.wall_now()))
    for (DiskJob& job : jobs) {
      tell({.job = job.id, .claim = {}});
      send(Start{.job = std::move(job)});
    }
}

void WorkerAgent::send(const Message& message) {
  const helpers::Sent sent = link_.channel.send(subject_of(message), write_message(message));
  if (link_.channel.has_queued()) (void)::eventfd_write(wake_.get(), 1);
  const auto* start = std::get_if<Start>(&message);
  if (sent == helpers::Sent::yes || !start) return;
  const std::string why = fmt::format("the process that works on disks cannot be asked: {}", text_of(sent));
  if (board_.ended(start->job.id, Failure{.message = why}, {}, clock_.wall_now()))
    tell({.job = start->job.id, .claim = {}});
}

void WorkerAgent::tell(DiskChange change) {
  changes_.push_back(std::move(change));
  if (changed_) changed_();
}

void WorkerAgent::hear_of(const Hello&) {
  ready_ = false;
  link_.channel.drop_queued();
  send(Welcome{});
  claims_.clear();
  records_.clear();
  for (std::string& id : board_.lost(clock_.wall_now())) tell({.job = std::move(id), .claim = {}});
}

void WorkerAgent::hear_of(const Ready&) {
  ready_ = true;
  for (const auto& [name, claim] : claims_) tell({.job = {}, .claim = name});
  start_what_may();
  tell({});
}

void WorkerAgent::hear_of(const ClaimIs& message) {
  if (message.claim)
    claims_.insert_or_assign(message.name, *message.claim);
  else
    claims_.erase(message.name);
  if (ready_) tell({.job = {}, .claim = message.name});
}

void WorkerAgent::hear_of(const RecordIs& message) {
  if (message.record)
    records_.insert_or_assign(message.name, *message.record);
  else
    records_.erase(message.name);
}

void WorkerAgent::hear_of(const JobProgress& message) {
  if (board_.progress(message.id, message.progress)) tell({.job = message.id, .claim = {}});
}

void WorkerAgent::hear_of(const JobEnded& message) {
  DiskClaimName claim = board_.claim_of(message.id);
  if (!board_.ended(message.id, message.failure, message.labels, clock_.wall_now())) return;
  tell({.job = message.id, .claim = std::move(claim)});
  start_what_may();
}

// Whoever waits for the job learns that nobody knows what became of it; if it still goes on, it is ended.
void WorkerAgent::hear_unreadable(const helpers::Message& raw) {
  log::error("what the process that works on disks said cannot be read",
             {{"job", raw.subject}, {"reason", raw.problem.empty() ? "it is not a message" : raw.problem}});
  if (raw.subject.empty()) return;
  send(Cancel{.id = raw.subject});
  hear_of(JobEnded{.id = raw.subject, .failure = Failure{.message = "its outcome cannot be read"}});
}

void WorkerAgent::hear(const helpers::Message& raw) {
  const auto message = raw.problem.empty() ? read_message(raw.body) : std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!message) return hear_unreadable(raw);
  std::visit([this](const auto& one) { hear_of(one); }, *message);
}

// --- the thread ------------------------------------------------------------------------------------------------------

// False when the other end is closed.
bool WorkerAgent::receive_all() {
  while (true) {
    const auto received = link_.channel.receive();
    if (!received) return false;
    if (!*received) return true;
    hear(**received);
  }
}

void WorkerAgent::tell_silence() {
  const auto silent = link_.heartbeat.silent_for();
  const bool is_silent = silent > limits::helper_silence_told;
  if (is_silent == std::exchange(silence_told_, is_silent)) return;
  if (is_silent)
    log::warning("the process that works on disks does not answer; it will be replaced");
  else
    log::info("the process that works on disks answers again");
}

void WorkerAgent::listen() {
  const auto look_interval = static_cast<int>(limits::helper_beat_interval.count());
  do {
    std::array<pollfd, 2> ready{{{link_.channel.descriptor(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    {
      const std::lock_guard lock(mutex_);
      link_.channel.flush();
      ready[0].events = link_.channel.events();
    }
    (void)::poll(ready.data(), ready.size(), look_interval);
    eventfd_t ignored = 0;
    (void)::eventfd_read(wake_.get(), &ignored);
    tell_silence();
  } while (receive_all());
  const std::lock_guard lock(mutex_);
  lost_ = true;
  for (std::string& id : board_.lost(clock_.wall_now())) tell({.job = std::move(id), .claim = {}});
}

}  // namespace vg::disks
