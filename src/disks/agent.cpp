#include "disks/agent.h"

#include <sys/socket.h>

#include <utility>

#include "base/disk_limits.h"
#include "base/log.h"

namespace vg::disks {

WorkerAgent::WorkerAgent(Descriptor socket, const Clock& clock, std::string blocked)
    : socket_(std::move(socket)), clock_(clock), blocked_(std::move(blocked)) {}

WorkerAgent::~WorkerAgent() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  if (listener_.joinable()) listener_.join();
}

void WorkerAgent::start_listening() {
  listener_ = std::thread([this] { listen(); });
}

std::optional<std::string> WorkerAgent::problem() const {
  const std::lock_guard lock(mutex_);
  if (lost_) return "the process that works on disks is gone; restart the server";
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
  if (!board_.ask(std::move(job), clock_.wall_now())) return;
  start_what_may();
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

void WorkerAgent::start_what_may() {
  if (!ready_ || lost_) return;
  for (DiskJob& job : board_.start(clock_.wall_now())) {
    tell({.job = job.id, .claim = {}});
    send(Start{.job = std::move(job)});
  }
}

// A worker takes messages as they come, and only so many jobs are sent to it that they fit into the socket.
void WorkerAgent::send(const Message& message) {
  const std::string text = write_message(message);
  if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) return;
  const auto* start = std::get_if<Start>(&message);
  if (!start) return;
  board_.ended(start->job.id, Failure{.message = "the process that works on disks cannot be asked"}, {},
               clock_.wall_now());
  tell({.job = start->job.id, .claim = {}});
}

void WorkerAgent::tell(DiskChange change) {
  changes_.push_back(std::move(change));
  if (changed_) changed_();
}

void WorkerAgent::hear_of(const Hello&) {
  ready_ = false;
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

void WorkerAgent::hear(const Message& message) {
  const std::lock_guard lock(mutex_);
  std::visit([this](const auto& one) { hear_of(one); }, message);
}

// --- the thread ------------------------------------------------------------------------------------------------------

void WorkerAgent::listen() {
  std::string text(limits::disk_message_bytes_max, '\0');
  while (true) {
    const ssize_t got = ::recv(socket_.get(), text.data(), text.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (const auto message = read_message(std::string_view(text).substr(0, static_cast<std::size_t>(got))))
      hear(*message);
  }
  const std::lock_guard lock(mutex_);
  lost_ = true;
  for (std::string& id : board_.lost(clock_.wall_now())) tell({.job = std::move(id), .claim = {}});
}

}  // namespace vg::disks
