// A copy of some objects of the API server that follows them: list once, watch from there on, resume where a watch
// ended, list again when that place is gone. While the server cannot be reached the copy stays as it was, and says so.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/task.h"
#include "http/core.h"
#include "kube/client.h"
#include "kube/watch_events.h"

namespace vg::kube {

struct ReflectorTimes {
  // Pauses after failures: short enough that a server which came back is noticed within seconds.
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{2000};
  // Watches are ended by the server after so long (up to twice, at random), and resumed.
  std::chrono::seconds watch{300};
  // Bookmarks come about once a minute. A connection that is silent for longer may be dead without our knowing.
  std::chrono::milliseconds silence{150000};
  // A copy that could not be refreshed for so long counts as stale.
  std::chrono::milliseconds stale_after{6000};
};

class Reflector {
 public:
  struct Options {
    std::string name;  // for log, health and metrics: "kubevirts"
    std::string group, version, plural;
    std::string ns = {};              // empty: all namespaces
    std::string field_selector = {};  // "metadata.name=kubevirt-ca"; empty: all objects
    std::string label_selector = {};  // likewise
    ReflectorTimes times = {};
  };
  using ObjectPtr = std::shared_ptr<const CachedObject>;

  // Client, registry and clock outlive this.
  Reflector(Client& client, Options options, metrics::Registry& metrics, const Clock& clock);
  // On the core, or after its loop has stopped.
  ~Reflector() = default;
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Before start(): called on the core after the copy changed, and after each failure to reach the server.
  void on_change(std::function<void()> fn) { changed_ = std::move(fn); }
  void on_trouble(std::function<void()> fn) { trouble_ = std::move(fn); }
  // On the core.
  void start(Core& core);
  // On the core, and not from inside a callback: whatever is under way, a pause too, ends, and is begun anew where it
  // is. For when connections may be dead without a sign.
  void refresh();

  // The rest from any thread.

  const std::string& name() const { return options_.name; }
  bool synced() const { return synced_.load(std::memory_order_acquire); }
  // Nothing when the copy is there and fresh, else what is wrong with it.
  std::optional<std::string> problem() const;
  // How long ago the server was heard of.
  std::chrono::milliseconds age() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.steady_now() -
                                                                 heard_.load(std::memory_order_relaxed));
  }
  ObjectPtr find(std::string_view ns, std::string_view name) const;
  // By namespace and name; an empty namespace means all.
  std::vector<ObjectPtr> list(std::string_view ns) const;

 private:
  using Key = std::pair<std::string, std::string>;
  using Objects = std::map<Key, ObjectPtr>;
  enum class Ended { orderly, expired, failed };

  void begin();
  Task<void> run(Core& core);
  Task<Result<Ended>> turn(Core& core);
  std::chrono::milliseconds pause_after(const Result<Ended>& ended);
  Task<Result<void>> relist(Core& core);
  Result<void> add_page(json::Value& page, Objects& objects);
  Task<Result<Ended>> watch(Core& core);
  Task<Result<Ended>> read_events(http::AnswerStream& stream);
  Result<Ended> take_lines(LineSplitter& lines);
  Result<Ended> take(WatchEvent event);
  std::string selector_query() const;
  ResourceName resource() const { return {options_.group, options_.version, options_.plural}; }
  void replace(Objects objects, std::string resource_version);
  void worked();
  void failed(const Status& why);

  Client& client_;
  const Options options_;
  const Clock& clock_;
  std::function<void()> changed_, trouble_;
  std::shared_ptr<metrics::Gauge> count_, fresh_;
  std::shared_ptr<metrics::Counter> lists_, failures_;

  // Of the core.
  Core* core_ = nullptr;
  std::string resource_version_;
  bool must_list_ = true;
  bool progressed_ = false;  // in this turn: an event came, or the watch lasted
  int setbacks_ = 0;         // turns in a row without progress
  std::atomic<bool> synced_{false};
  std::atomic<Clock::Steady> heard_{};

  mutable std::shared_mutex mutex_;
  Objects objects_;
  std::string last_failure_;
  std::optional<Clock::Steady> failing_since_;

  Background running_;
};

}  // namespace vg::kube
