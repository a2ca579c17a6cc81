#include "engine/work_queue.h"

#include <algorithm>

#include "base/controller_limits.h"

namespace vg::engine {

void WorkQueue::make_ready(const Key& key, int priority) {
  const auto found = places_.find(key);
  if (found != places_.end()) {
    if (found->second.priority >= priority) return;
    ready_.erase({-found->second.priority, found->second.turn, key});
    found->second.priority = priority;
    ready_.emplace(-priority, found->second.turn, key);
    return;
  }
  const Place place{.priority = priority, .turn = turns_++};
  places_.emplace(key, place);
  ready_.emplace(-priority, place.turn, key);
}

void WorkQueue::add(const Key& key, int priority) {
  const auto working = working_.find(key);
  if (working == working_.end())
    make_ready(key, priority);
  else
    working->second = std::max(working->second.value_or(priority), priority);
}

void WorkQueue::add_at(const Key& key, Instant when) {
  const auto [timer, is_new] = timers_.emplace(key, when);
  if (!is_new) {
    if (timer->second <= when) return;
    by_time_.erase({timer->second, key});
    timer->second = when;
  }
  by_time_.emplace(when, key);
}

void WorkQueue::add_by(const Key& key, Instant when) {
  const auto [latest, is_new] = latest_.emplace(key, when);
  if (!is_new) {
    if (latest->second <= when) return;
    by_latest_.erase({latest->second, key});
    latest->second = when;
  }
  by_latest_.emplace(when, key);
}

void WorkQueue::drop_latest(const Key& key) {
  const auto latest = latest_.find(key);
  if (latest == latest_.end()) return;
  by_latest_.erase({latest->second, key});
  latest_.erase(latest);
}

std::optional<Key> WorkQueue::take(Instant now) {
  while (!by_latest_.empty() && by_latest_.begin()->first <= now) {
    const Key key = by_latest_.begin()->second;
    drop_latest(key);
    add(key);
  }
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    const Key key = by_time_.begin()->second;
    by_time_.erase(by_time_.begin());
    timers_.erase(key);
    add(key);
  }
  if (ready_.empty()) return std::nullopt;
  Key key = std::get<Key>(*ready_.begin());
  ready_.erase(ready_.begin());
  places_.erase(key);
  working_.emplace(key, std::nullopt);
  drop_latest(key);
  return key;
}

void WorkQueue::done(const Key& key) {
  const auto working = working_.find(key);
  if (working == working_.end()) return;
  const std::optional<int> meanwhile = working->second;
  working_.erase(working);
  if (meanwhile) make_ready(key, *meanwhile);
}

void WorkQueue::failed(const Key& key, Instant now) {
  unsigned& failures = failures_[key];
  const auto delay = std::min(limits::controller_backoff_min * (1L << std::min(failures, 30U)),
                              std::chrono::duration_cast<std::chrono::milliseconds>(limits::controller_backoff_max));
  ++failures;
  add_at(key, now + delay);
}

std::optional<std::uint64_t> WorkQueue::oldest_turn() const {
  std::optional<std::uint64_t> oldest;
  for (auto at = ready_.begin(); at != ready_.end(); at = ready_.upper_bound({std::get<0>(*at), UINT64_MAX, {}}))
    oldest = std::min(oldest.value_or(std::get<1>(*at)), std::get<1>(*at));
  return oldest;
}

std::optional<WorkQueue::Instant> WorkQueue::next_instant() const {
  std::optional<Instant> first;
  for (const auto* times : {&by_time_, &by_latest_})
    if (!times->empty() && (!first || times->begin()->first < *first)) first = times->begin()->first;
  return first;
}

}  // namespace vg::engine
