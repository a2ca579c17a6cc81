// Role-based access control over the roles and bindings in the store.
//
// What they say is kept as an immutable snapshot, indexed by who is bound, so that a decision costs a few look-ups and
// takes no lock. A snapshot is brought up to date when it is asked and the store has moved on: whoever was told that a
// binding was written, and asks afterwards, gets an answer that knows it. Only what changed is parsed and indexed
// again.
//
// Changes that take long to read (a role may have 20,000 rules) are read by a worker. Until it is done everybody is
// answered from the snapshot before, and the one who wrote waits (settle) before they are told that it is written.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "auth/policy_rule.h"
#include "base/published.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"

namespace vg::local {

inline constexpr std::string_view roles_resource = "rbac.authorization.k8s.io/roles";
inline constexpr std::string_view cluster_roles_resource = "rbac.authorization.k8s.io/clusterroles";
inline constexpr std::string_view role_bindings_resource = "rbac.authorization.k8s.io/rolebindings";
inline constexpr std::string_view cluster_role_bindings_resource = "rbac.authorization.k8s.io/clusterrolebindings";

struct RbacSnapshot;

// A ClusterRole whose stored rules are not those that its aggregation rule gathers.
struct StaleAggregation {
  std::string name;
  Revision revision = 0;  // of the stored role
  std::vector<auth::PolicyRule> rules;
};

class Rbac final : public Authorizer, public auth::RuleResolver {
 public:
  // The store must outlive this. After a snapshot that took longer than `snapshot_time_max` to make, the next one is
  // left to a worker.
  explicit Rbac(ObjectStore& store, std::chrono::nanoseconds snapshot_time_max = std::chrono::milliseconds(2));
  ~Rbac() override;

  Task<Result<AccessDecision>> authorize(Core& core, const User& user, const AccessAttributes& attributes) override;
  Task<void> settle(Core& core) override;
  // The same without a coroutine, from any thread. 503 while the store cannot be read.
  Result<AccessDecision> decide(const User& user, const AccessAttributes& attributes) const;

  std::vector<auth::PolicyRule> rules_for(const User& user, std::string_view ns) const override;
  Result<std::vector<auth::PolicyRule>> rules_of_role(std::string_view kind, std::string_view name,
                                                      std::string_view ns) const override;

  std::size_t bytes_for(const User& user, std::string_view ns) const override;
  std::size_t bytes_of_role(std::string_view kind, std::string_view name, std::string_view ns) const override;

  // Decisions never wait for it, but clients read the stored roles: somebody should write these rules there.
  std::vector<StaleAggregation> stale_aggregations() const;

 private:
  class Mirror;
  // Where changes are read: on a core only what is read at once.
  enum class Effort : std::uint8_t { core, worker };
  // Null when the store could not be read: then only the group that needs no role gets an answer.
  // Good until the next call on the same thread.
  const RbacSnapshot* current() const;
  bool catch_up(Revision wanted, Effort effort) const;
  bool read_changes(Revision wanted, Effort effort, bool& postponed) const;
  void hand_to_worker() const;

  ObjectStore& store_;
  const std::chrono::nanoseconds snapshot_time_max_;
  mutable std::atomic<Revision> checked_{0};  // the snapshot knows everything up to here
  mutable std::atomic<unsigned> working_{0};  // workers that read changes or are about to
  mutable std::mutex mirror_mutex_;           // held while changes are read: by a worker for long
  mutable std::unique_ptr<Mirror> mirror_;
  mutable bool slow_ = false;  // the last snapshot took long to make, and so will the next
  mutable Published<RbacSnapshot> snapshot_;
};

}  // namespace vg::local
