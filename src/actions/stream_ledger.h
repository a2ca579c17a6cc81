// Who is connected to what: how many streams there are, and may be.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "base/net.h"
#include "http/task_set.h"

namespace vg::actions {

class StreamLedger {
 public:
  // Both outlive this.
  StreamLedger(metrics::Registry& registry, const Clock& clock);

  struct Stream {
    std::string_view action;  // "console", "vnc", ...
    std::string_view ns;
    std::string_view name;
  };

  // A stream that is counted for as long as this lives.
  class Entry {
   public:
    Entry(Entry&& other) noexcept : ledger_(std::exchange(other.ledger_, nullptr)), key_(std::move(other.key_)) {}
    Entry& operator=(Entry&&) = delete;
    ~Entry() {
      if (ledger_) ledger_->leave(key_);
    }

   private:
    friend class StreamLedger;
    struct Key {
      std::size_t kind = 0;
      std::string ns, name;
      auto operator<=>(const Key&) const = default;
    };
    Entry(StreamLedger& ledger, Key key) : ledger_(&ledger), key_(std::move(key)) {}
    StreamLedger* ledger_;
    Key key_;
  };

  // Empty: there are as many as there may be.
  std::optional<Entry> enter(const Stream& stream);
  std::size_t open() const;
  // The streams that run.
  http::TaskSet& tasks() { return tasks_; }

 private:
  using Key = Entry::Key;
  using Instance = std::pair<std::string, std::string>;  // namespace, name

  void leave(const Key& key);
  void show(const Key& key, std::size_t count);
  void note_time(const Key& key);

  const Clock& clock_;
  std::array<metrics::Family<metrics::Gauge>*, 5> active_;  // by kind; none for vsock, as upstream
  metrics::Family<metrics::Gauge>& last_;

  // Streams come and go a few times a second at most.
  mutable std::mutex mutex_;
  std::size_t open_ = 0;
  std::map<Key, std::size_t> counts_;
  // The instances whose last connection is shown, the one of longest ago first.
  std::list<Instance> shown_;
  std::map<Instance, std::list<Instance>::iterator> places_;

  http::TaskSet tasks_;  // goes first: each has an entry
};

// What streams need beside the two ends.
struct StreamSupport {
  StreamLedger& ledger;
  // Pings of idle streams.
  std::chrono::milliseconds ping_interval = limits::websocket_ping_interval;
  // Where guests are, as the operator says; none: wherever guests can be (base/guest_address.h).
  std::vector<Cidr> guest_networks = {};
  // Every guest has a pod, whose address is dialled: without one there is nobody to vouch for an address.
  bool guests_have_pods = false;
};

}  // namespace vg::actions
