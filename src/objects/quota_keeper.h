// ResourceQuotas, enforced and counted where the store settles the order of writes (ports/commit_guard.h).
//
// A write that takes of a quota, or gives back, changes status.used of the quota in its own transaction, or is refused
// there. So usage is exact whoever writes, nobody tries again, and what it costs depends on the quotas of the namespace
// alone; a namespace without any costs one look into a map.
//
// A quota that is new, or names more than before, is counted once: a thread of its own reads the namespace while
// everybody goes on, and what is written meanwhile is noted beside the quota and added at the end. Until then what the
// status does not name is not enforced, as in Kubernetes; the request that wrote the quota is answered after that.
//
// Who writes the status alone sees it as written, in the answer and in watches, until it was counted again at once.
// Nothing follows it meanwhile: what is used is known beside it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/core.h"
#include "base/task.h"
#include "json/value.h"
#include "objects/quota_usage.h"
#include "objects/quotas.h"
#include "ports/commit_guard.h"

namespace vg::resources {

class QuotaKeeper final : public CommitGuard, public Quotas {
 public:
  enum class Usages : std::uint8_t {
    kept,      // status.hard and status.used are this server's: counted here, given back at once
    reported,  // somebody else counts (kube-controller-manager) and writes the status; here usage is only taken from it
  };
  QuotaKeeper(Usages usages, const Clock& clock) : usages_(usages), clock_(clock) {}
  ~QuotaKeeper() override { stop(); }

  // The store that has this as its guard, before the first write to it; it outlives stop().
  void attach(ObjectStore& store);
  // Counts what has to be counted, in the background.
  void start();
  void stop();

  bool concerns(const ObjectKey& key) const override;
  Result<std::vector<Write>> complete(std::span<const Item> items, const View& view, Revision revision) override;
  void undone() override;

  std::optional<Status> find_problem(const ObjectKey& key, const json::Object* before,
                                     const json::Object& after) const override;
  Task<void> counted(Core& core, ObjectKey quota) override;

 private:
  struct Delta {
    Revision revision = 0;
    std::string resource;
    Usage usage;
  };
  struct Count {
    Usage used;
    std::map<std::string, Revision, std::less<>> seen;  // by resource: the revision that was counted
  };
  // What is used while the status says what a client wrote.
  struct Truth {
    Revision since = 0;  // the first such write
    Usage used;
  };
  struct Counting {
    std::uint64_t id = 0;
    Revision from = 0;  // everything after it is noted
    std::vector<Delta> deltas;
    std::optional<Count> count;
    bool finished = false;  // the status has it; kept until that is known to be on the disk
    Revision finished_at = 0;
    std::optional<Truth> truth = std::nullopt;
  };
  struct Settled {
    bool stands = false;      // the status as it was written
    bool wants_more = false;  // than was counted
  };
  struct Loaded;
  struct Plan;
  using Name = std::pair<std::string, std::string>;  // namespace and name of a quota

  std::optional<Status> complete_namespace(std::string_view ns, std::span<const Item> items, const View& view,
                                           Revision revision, Plan& plan);
  std::vector<Loaded> load(std::string_view ns, std::span<const Item> items, const View& view, Plan& plan);
  std::shared_ptr<const Quota> read(const StoredObject& stored);
  Quota read_true(const StoredObject& stored) const;
  std::optional<Status> find_oversize(std::span<const Loaded> quotas) const;
  // With mutex_ held.
  Settled settle_written(Loaded& loaded, const Counting* pending) const;
  void settle_status(Loaded& loaded, std::string_view ns, Revision revision, Plan& plan) const;
  // With mutex_ held.
  void begin_counting(const Name& name, Revision from);
  static std::optional<Truth> truth_at(const Counting& counting, Revision now);
  void enqueue(const Name& name);
  void carry_out(Plan& plan);

  void run(const std::stop_token& stop);
  bool count_quota(const Name& name, const std::stop_token& stop);
  std::optional<Count> count(std::string_view ns, const Quota& quota, const std::stop_token& stop) const;
  void put_down(const Name& name, const StoredObject& stored, const std::stop_token& stop);
  void wake(const Name& name);

  const Usages usages_;
  const Clock& clock_;
  ObjectStore* store_ = nullptr;

  // The quotas there are, by namespace. Of the store's thread.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> quotas_;
  // Some of them, as they were read at a revision. Of the store's thread.
  struct Read {
    Revision revision = 0;
    std::shared_ptr<const Quota> quota;
  };
  std::map<Name, Read> read_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Name, Counting> counting_;
  std::deque<Name> queue_;
  std::set<Name> queued_;  // what is in the queue: once each, however often the disk fails
  std::multimap<Name, std::function<void()>> waiting_;
  std::uint64_t next_id_ = 1;
  std::optional<Name> putting_down_;  // what the thread below wrote last
  std::jthread thread_;
};

}  // namespace vg::resources
