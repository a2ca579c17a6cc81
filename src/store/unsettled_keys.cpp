#include "store/unsettled_keys.h"

#include "base/store_limits.h"

namespace vg::store {

void UnsettledKeys::add(const std::vector<Change>& changes) {
  const std::lock_guard lock(mutex_);
  for (const auto& change : changes) {
    const auto& object = *change.object;
    if (keys_.size() < store_limits::unsettled_keys_max) {
      keys_.emplace(object.resource(), object.ns(), object.name());
    } else {
      all_ = true;
    }
  }
  any_.store(true, std::memory_order_release);
}

void UnsettledKeys::clear() {
  if (!any_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  keys_.clear();
  all_ = false;
  any_.store(false, std::memory_order_release);
}

bool UnsettledKeys::contains(std::string_view resource, std::string_view ns, std::string_view name) const {
  if (!any_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(mutex_);
  if (all_) return true;
  const auto found = keys_.lower_bound(std::tuple(resource, ns, name));
  if (found == keys_.end() || std::get<0>(*found) != resource) return false;
  if (name.empty()) return ns.empty() || std::get<1>(*found) == ns;
  return std::get<1>(*found) == ns && std::get<2>(*found) == name;
}

}  // namespace vg::store
