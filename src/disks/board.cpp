#include "disks/board.h"

#include <algorithm>
#include <utility>

#include "base/disk_limits.h"
#include "disks/jobs.h"

namespace vg::disks {
namespace {

bool reads_its_claim(const DiskJob& job) { return std::holds_alternative<TakeRecord>(job.work); }

// The claims that a job reads.
std::vector<DiskClaimName> read_by(const DiskJob& job) {
  if (reads_its_claim(job)) return {job.claim};
  if (const auto* copy = std::get_if<CopyClaim>(&job.work)) return {copy->from};
  return {};
}

// The one that it writes; an empty name for none.
DiskClaimName written_by(const DiskJob& job) { return reads_its_claim(job) ? DiskClaimName() : job.claim; }

// How long it takes is up to somebody else.
bool fetches(const DiskJob& job) {
  return std::holds_alternative<ImportHttp>(job.work) || std::holds_alternative<ImportRegistry>(job.work) ||
         std::holds_alternative<ReadDigest>(job.work);
}

}  // namespace

bool JobBoard::ask(DiskJob job, Time now) {
  const std::string id = job.id;
  Entry& entry = entries_[id];
  const bool is_new = entry.job.id.empty();
  const bool over = entry.status.state == DiskJobState::failed || entry.status.state == DiskJobState::succeeded;
  if (!is_new && !over) return false;
  std::erase(over_, id);
  entry.job = std::move(job);
  entry.status.state = DiskJobState::waiting;
  entry.status.progress = -1;
  entry.status.changed = now;
  waiting_.push_back(id);
  return true;
}

bool JobBoard::cancel(std::string_view id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  const bool runs = found->second.status.state == DiskJobState::running;
  if (runs) return true;  // it holds its claims until the worker says that it is over
  std::erase(waiting_, found->first);
  std::erase(over_, found->first);
  entries_.erase(found);
  return false;
}

bool JobBoard::may_start(const DiskJob& job) const {
  if (!is_quick(job.work) && running_slow_ >= limits::disk_jobs_running_max) return false;
  const auto own = fetches(job) ? fetches_of_.find(job.claim.ns) : fetches_of_.end();
  if (own != fetches_of_.end() && own->second >= limits::disk_fetches_each_max) return false;
  const auto free = [&](const DiskClaimName& claim, bool to_write) {
    const auto found = busy_.find(claim);
    return found == busy_.end() || (found->second.writer.empty() && (!to_write || found->second.readers == 0));
  };
  if (!written_by(job).name.empty() && !free(written_by(job), true)) return false;
  return std::ranges::all_of(read_by(job), [&](const DiskClaimName& claim) { return free(claim, false); });
}

void JobBoard::take_hold(const DiskJob& job) {
  if (!is_quick(job.work)) ++running_slow_;
  if (fetches(job)) ++fetches_of_[job.claim.ns];
  if (const DiskClaimName claim = written_by(job); !claim.name.empty()) busy_[claim].writer = job.id;
  for (const DiskClaimName& claim : read_by(job)) ++busy_[claim].readers;
}

void JobBoard::drop_hold(const DiskJob& job) {
  if (!is_quick(job.work)) --running_slow_;
  if (fetches(job) && --fetches_of_[job.claim.ns] == 0) fetches_of_.erase(job.claim.ns);
  const auto settle = [&](const DiskClaimName& claim, auto change) {
    const auto found = busy_.find(claim);
    if (found == busy_.end()) return;
    change(found->second);
    if (found->second.writer.empty() && found->second.readers == 0) busy_.erase(found);
  };
  if (const DiskClaimName claim = written_by(job); !claim.name.empty())
    settle(claim, [](Busy& busy) { busy.writer.clear(); });
  for (const DiskClaimName& claim : read_by(job)) settle(claim, [](Busy& busy) { --busy.readers; });
}

std::vector<DiskJob> JobBoard::start(Time now) {
  std::vector<DiskJob> begun;
  std::deque<std::string> still;
  for (std::string& id : std::exchange(waiting_, {})) {
    Entry& entry = entries_.at(id);
    if (!may_start(entry.job)) {
      still.push_back(std::move(id));
      continue;
    }
    take_hold(entry.job);
    entry.status.state = DiskJobState::running;
    entry.status.changed = now;
    begun.push_back(entry.job);
  }
  waiting_ = std::move(still);
  return begun;
}

bool JobBoard::progress(std::string_view id, int progress) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  found->second.status.progress = std::clamp(std::max(progress, found->second.status.progress), 0, 10000);
  return true;
}

void JobBoard::remember(const std::string& id) {
  over_.push_back(id);
  if (over_.size() <= limits::disk_jobs_remembered_max) return;
  entries_.erase(over_.front());
  over_.pop_front();
}

bool JobBoard::ended(std::string_view id, const std::optional<Failure>& failure, Labels labels, Time now) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.status.state != DiskJobState::running) return false;
  Entry& entry = found->second;
  drop_hold(entry.job);
  entry.job.work = RemoveRecord{};  // secrets are not kept longer than they are needed
  entry.status.changed = now;
  entry.status.state = failure ? DiskJobState::failed : DiskJobState::succeeded;
  entry.status.error = failure ? failure->error : DiskError::none;
  entry.status.message = failure ? failure->message : std::string();
  entry.status.failures = failure ? entry.status.failures + 1 : 0;
  entry.status.labels = std::move(labels);
  if (!failure) entry.status.progress = 10000;
  remember(found->first);
  return true;
}

std::vector<std::string> JobBoard::lost(Time now) {
  std::vector<std::string> ids;
  for (const auto& [id, entry] : entries_)
    if (entry.status.state == DiskJobState::running) ids.push_back(id);
  for (const std::string& id : ids) ended(id, Failure{.message = "the process that works on disks ended"}, {}, now);
  return ids;
}

std::optional<DiskJobStatus> JobBoard::status(std::string_view id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.status);
}

DiskClaimName JobBoard::claim_of(std::string_view id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? DiskClaimName() : found->second.job.claim;
}

DiskHold JobBoard::hold(const DiskClaimName& claim) const {
  DiskHold hold;
  if (const auto found = busy_.find(claim); found != busy_.end())
    hold = {.writer = found->second.writer, .readers = found->second.readers};
  if (!hold.writer.empty()) return hold;
  for (const std::string& id : waiting_)
    if (const auto entry = entries_.find(id); entry != entries_.end() && written_by(entry->second.job) == claim) {
      hold.writer = id;
      break;
    }
  return hold;
}

}  // namespace vg::disks
