// Which objects of one controller are to be looked at next. An object is never looked at twice at once: what happens to
// it meanwhile has it looked at again afterwards. Pure: whoever uses it tells the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "controllers/world.h"

namespace vg::engine {

using controllers::Key;

class WorkQueue {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  // Soon. Of several priorities for one object the highest counts.
  void add(const Key& key, int priority = 0);
  // Not before then, unless something else has it looked at earlier.
  void add_at(const Key& key, Instant when);
  // At the latest then: any pass that begins before counts.
  void add_by(const Key& key, Instant when);
  // The next one, which counts as being worked on until done() is called. Those of the highest priority come first, and
  // among them those that wait longest.
  std::optional<Key> take(Instant now);
  void done(const Key& key);
  // Its last pass failed: again after a while, which doubles each time.
  void failed(const Key& key, Instant now);
  // Its last pass did not fail.
  void succeeded(const Key& key) { failures_.erase(key); }
  // When take() may have something because of the time; absent when only add() helps.
  std::optional<Instant> next_instant() const;

  std::size_t waiting() const { return ready_.size(); }
  // Numbers of turns tell what has waited since when: the next one that is given, and that of the object that waits
  // longest, whatever its priority.
  std::uint64_t next_turn() const { return turns_; }
  std::optional<std::uint64_t> oldest_turn() const;
  bool is_working(const Key& key) const { return working_.contains(key); }
  std::size_t working() const { return working_.size(); }
  bool idle() const { return ready_.empty() && working_.empty(); }

 private:
  struct Place {
    int priority = 0;
    std::uint64_t turn = 0;
  };
  void make_ready(const Key& key, int priority);
  void drop_latest(const Key& key);

  std::map<Key, Place> places_;                          // of what is ready
  std::set<std::tuple<int, std::uint64_t, Key>> ready_;  // by priority (negative: highest first), then turn
  std::map<Key, std::optional<int>> working_;            // with the priority of what came meanwhile
  std::map<Key, Instant> timers_;
  std::set<std::pair<Instant, Key>> by_time_;
  std::map<Key, Instant> latest_;
  std::set<std::pair<Instant, Key>> by_latest_;
  std::map<Key, unsigned> failures_;  // in a row
  std::uint64_t turns_ = 0;
};

}  // namespace vg::engine
