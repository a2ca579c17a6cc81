#include "store/watch_hub.h"

#include <algorithm>

namespace vg::store {

void WatchHub::add(Subscription& subscription) {
  const std::lock_guard lock(mutex_);
  resources_[subscription.resource_][subscription.topic_].all.push_back(&subscription);
  ++size_;
}

void WatchHub::remove(Subscription& subscription) {
  const std::lock_guard lock(mutex_);
  const auto topics = resources_.find(subscription.resource_);
  if (topics == resources_.end()) return;
  const auto found = topics->second.find(subscription.topic_);
  if (found == topics->second.end()) return;
  auto& all = found->second.all;
  const auto place = std::find(all.begin(), all.end(), &subscription);
  if (place == all.end()) return;
  *place = all.back();
  all.pop_back();
  --size_;
  if (all.empty()) topics->second.erase(found);
  if (topics->second.empty()) resources_.erase(topics);
}

void WatchHub::wake(Topics& topics, const std::string& name) {
  const auto found = topics.find(name);
  if (found == topics.end() || found->second.last_round == round_) return;
  found->second.last_round = round_;
  for (auto* subscription : found->second.all) {
    if (subscription->armed_.exchange(false, std::memory_order_seq_cst)) subscription->waker_();
  }
}

void WatchHub::notify(const std::vector<Change>& changes) {
  const std::lock_guard lock(mutex_);
  if (size_ == 0) return;
  ++round_;
  for (const auto& change : changes) {
    const auto topics = resources_.find(change.object->resource());
    if (topics == resources_.end()) continue;
    const auto ns = change.object->ns();
    const auto name = change.object->name();
    wake(topics->second, topic(any, any));
    wake(topics->second, topic(ns, any));
    wake(topics->second, topic(ns, name));
    wake(topics->second, topic(any, name));
  }
}

std::size_t WatchHub::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace vg::store
