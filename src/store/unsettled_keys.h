// Objects of which somebody was told that the outcome of a write is unknown, until it is known again.
//
// A write whose sync failed, or has not come back, may be brought back by a crash; no later than the next commit that
// works it has happened or will never have. Whoever was told to read the object and finds it absent, or old, must be
// able to rely on that: until then it is not to be read at all (ObjectStore::unsettled).
//
// Any thread; `mutex_` guards everything but the flag, by which nearly every question is answered.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ports/object_store.h"

namespace vg::store {

class UnsettledKeys {
 public:
  void add(const std::vector<Change>& changes);
  void clear();
  // Without a name: of any object of the namespace; without a namespace: of any.
  bool contains(std::string_view resource, std::string_view ns, std::string_view name) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;

  std::atomic<bool> any_ = false;
  mutable std::mutex mutex_;
  std::set<Key, std::less<>> keys_;
  bool all_ = false;  // too many to be told apart
};

}  // namespace vg::store
