#include "disks/board.h"

#include <algorithm>
#include <array>
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

struct Kind {
  std::size_t slots, each_max;  // each: of one namespace
  std::string_view name;
};
constexpr std::array<Kind, job_kinds> all_kinds{{
    {limits::disk_quick_running_max, limits::disk_quick_running_max, "small changes"},
    {limits::disk_removals_running_max, limits::disk_removals_running_max, "removals"},
    {limits::disk_copies_running_max, limits::disk_copies_running_max, "copies and conversions"},
    {limits::disk_fetches_running_max, limits::disk_fetches_each_max, "downloads"},
}};

std::size_t index_of(const DiskJob& job) { return static_cast<std::size_t>(kind_of(job.work)); }

}  // namespace

bool JobBoard::ask(DiskJob job, Time now) {
  const std::string id = job.id;
  Entry& entry = entries_[id];
  const bool is_new = entry.job.id.empty();
  const bool over = entry.status.state == DiskJobState::failed || entry.status.state == DiskJobState::succeeded;
  if (!is_new && !over) return false;
  std::erase(over_, id);
  slots_[index_of(job)].by_namespace[job.claim.ns].waiting.push_back(id);
  entry.job = std::move(job);
  entry.sequence = ++sequence_;
  entry.is_cancelled = false;
  entry.status.state = DiskJobState::waiting;
  entry.status.progress = -1;
  entry.status.changed = now;
  return true;
}

void JobBoard::drop_waiting(const Entry& entry) {
  auto& by_namespace = slots_[index_of(entry.job)].by_namespace;
  const auto own = by_namespace.find(entry.job.claim.ns);
  if (own == by_namespace.end()) return;
  std::erase(own->second.waiting, entry.job.id);
  if (own->second.taken == 0 && own->second.waiting.empty()) by_namespace.erase(own);
}

bool JobBoard::cancel(std::string_view id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  const bool runs = found->second.status.state == DiskJobState::running;
  // It holds its claims until the worker says that it is over.
  if (runs) return !std::exchange(found->second.is_cancelled, true);
  if (found->second.status.state == DiskJobState::waiting) drop_waiting(found->second);
  std::erase(over_, found->first);
  entries_.erase(found);
  return false;
}

// A namespace has no more slots than it leaves free, however few want one now: whoever comes next finds some.
std::string JobBoard::waits_for_slot(const DiskJob& job) const {
  const Kind& kind = all_kinds[index_of(job)];
  const Slots& slots = slots_[index_of(job)];
  const std::size_t left = kind.slots - std::min(slots.taken, kind.slots);
  if (left == 0) return fmt::format("one of the {} slots of this host for {}", kind.slots, kind.name);
  const auto own = slots.by_namespace.find(job.claim.ns);
  const std::size_t held = own == slots.by_namespace.end() ? 0 : own->second.taken;
  if (held < std::min(left, kind.each_max)) return {};
  return fmt::format("another job of namespace \"{}\", which has its share of the {} slots of this host for {}",
                     job.claim.ns, kind.slots, kind.name);
}

std::string JobBoard::waits_for_claim(const DiskJob& job) const {
  const auto is_free = [&](const DiskClaimName& claim, bool to_write) {
    const auto found = busy_.find(claim);
    return found == busy_.end() || (found->second.writer.empty() && (!to_write || found->second.readers == 0));
  };
  const auto busy = [](const DiskClaimName& claim) {
    return fmt::format("PVC \"{}/{}\", on which another job works", claim.ns, claim.name);
  };
  if (const DiskClaimName claim = written_by(job); !claim.name.empty() && !is_free(claim, true)) return busy(claim);
  for (const DiskClaimName& claim : read_by(job))
    if (!is_free(claim, false)) return busy(claim);
  return {};
}

std::string JobBoard::waits_for(const DiskJob& job) const {
  std::string claim = waits_for_claim(job);
  return claim.empty() ? waits_for_slot(job) : claim;
}

void JobBoard::take_hold(const DiskJob& job) {
  Slots& slots = slots_[index_of(job)];
  ++slots.taken;
  ++slots.by_namespace[job.claim.ns].taken;
  if (const DiskClaimName claim = written_by(job); !claim.name.empty()) busy_[claim].writer = job.id;
  for (const DiskClaimName& claim : read_by(job)) ++busy_[claim].readers;
}

void JobBoard::drop_hold(const DiskJob& job) {
  Slots& slots = slots_[index_of(job)];
  --slots.taken;
  if (const auto own = slots.by_namespace.find(job.claim.ns); --own->second.taken == 0 && own->second.waiting.empty())
    slots.by_namespace.erase(own);
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

// The first of a namespace that need not wait.
bool JobBoard::start_next(Share& share, Time now, std::vector<DiskJob>& begun) {
  for (auto id = share.waiting.begin(); id != share.waiting.end(); ++id) {
    Entry& entry = entries_.at(*id);
    if (!waits_for_slot(entry.job).empty()) return false;  // nor may any behind it
    if (!waits_for_claim(entry.job).empty()) continue;
    share.waiting.erase(id);
    take_hold(entry.job);
    entry.status.state = DiskJobState::running;
    entry.status.changed = now;
    begun.push_back(entry.job);
    return true;
  }
  return false;
}

// In rounds: one of each namespace, those with fewest slots first, then those that came first.
void JobBoard::start_kind(Slots& slots, Time now, std::vector<DiskJob>& begun) {
  std::vector<Share*> order;
  for (auto& [ns, share] : slots.by_namespace)
    if (!share.waiting.empty()) order.push_back(&share);
  std::ranges::sort(order, {}, [&](const Share* share) {
    return std::pair(share->taken, entries_.at(share->waiting.front()).sequence);
  });
  while (!order.empty()) std::erase_if(order, [&](Share* share) { return !start_next(*share, now, begun); });
}

std::vector<DiskJob> JobBoard::start(Time now) {
  std::vector<DiskJob> begun;
  for (Slots& slots : slots_) start_kind(slots, now, begun);
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
  if (found == entries_.end()) return std::nullopt;
  DiskJobStatus status = found->second.status;
  if (status.state == DiskJobState::waiting) status.waits_for = waits_for(found->second.job);
  return status;
}

bool JobBoard::is_waiting(std::string_view id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.status.state == DiskJobState::waiting;
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
  for (const Slots& slots : slots_) {
    const auto own = slots.by_namespace.find(claim.ns);
    if (own == slots.by_namespace.end()) continue;
    for (const std::string& id : own->second.waiting)
      if (written_by(entries_.at(id).job) == claim) return {.writer = id, .readers = hold.readers};
  }
  return hold;
}

}  // namespace vg::disks
