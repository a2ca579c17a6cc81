// The nodes as placement sees them (spec vmi-lifecycle 5): Node objects read once, and what is placed on each.
//
// A placement is an attempt to host a VMI on a node: an entry of the VMI's status.activePods, uid to node, as a
// launcher pod is upstream. There is no other record of it, so a server that was killed finds them all again.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/controller_limits.h"
#include "base/quantity.h"
#include "base/selector.h"
#include "json/document.h"
#include "json/value.h"

namespace vg::controllers {

// Amounts by resource name: cpu in thousandths, everything else in whole units.
using Amounts = std::map<std::string, std::int64_t, std::less<>>;

// Of one resource; 0 when there is none.
std::int64_t amount_in(const Amounts& amounts, std::string_view resource);

// The amount that a quantity of this resource stands for, in the units of Amounts. What is none reads as 0.
std::int64_t amount_of(std::string_view resource, const json::Value& value);

// Wall clocks jump, and nodes have their own: how long something took is reckoned with this one alone.
using Steady = std::chrono::steady_clock::time_point;

// A node that gives no sign of life for longer has lost what runs on it (NODE-C01).
inline constexpr std::chrono::minutes heartbeat_life{5};

struct Taint {
  std::string key, value, effect;
  bool operator==(const Taint&) const = default;
};

// The label by which a node says that it takes VMIs.
inline constexpr std::string_view schedulable_label = "kubevirt.io/schedulable";

struct NodeInfo {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  std::vector<Taint> taints;
  bool unschedulable = false;
  std::optional<std::int64_t> heartbeat;  // seconds since 1970; absent: none, or not readable
  Amounts allocatable;
  Steady heard = {};            // when the heartbeat was seen to change: that it does is the sign of life
  bool is_first_stale = false;  // it was old when it was first seen, and has not changed since

  static NodeInfo read(const json::Object& node);
  std::optional<std::string_view> label(std::string_view key) const;
  // NODE-C01: it had a heartbeat, and it has not changed for too long.
  bool is_silent(Steady now) const { return heartbeat && now - heard > heartbeat_life; }
  // It has a heartbeat, which is current.
  bool is_alive(Steady now) const { return heartbeat && !is_first_stale && !is_silent(now); }
  // It could take what the other cannot, or the other way round: everything but the time of the heartbeat.
  bool offers_the_same_as(const NodeInfo& other) const;
};

// Where others must, or must not be (SCH-06): one term of a pod (anti-)affinity, or of a spread constraint.
struct PodTerm {
  LabelSelector selector;  // of the labels of VMIs
  bool selects = false;    // without a selector nothing is meant
  bool all_namespaces = false;
  std::vector<std::string> namespaces;  // else these; the own one is among them
  std::string topology_key;             // a label of nodes
  std::int64_t weight = 0;              // of a preference
};

// Something that is placed, or wants to be.
struct Placed {
  std::string uid;  // of the placement
  std::string ns, vmi;
  std::string node;
  Amounts requests;
  std::map<std::string, std::string, std::less<>> labels;  // of the VMI, for affinity
  std::vector<PodTerm> keeps_away = {};                    // whom it does not want beside it
  std::optional<std::uint32_t> cid = {};                   // of its vsock device
  std::optional<std::int64_t> tsc_frequency = {};          // that the guest was promised

  // The same one, asking for the same; whom it keeps away does not change once it is there.
  bool is_like(const Placed& other) const {
    return uid == other.uid && node == other.node && requests == other.requests && labels == other.labels &&
           cid == other.cid && tsc_frequency == other.tsc_frequency;
  }
};

class Nodes {
 public:
  using Infos = std::map<std::string, NodeInfo, std::less<>>;

  Nodes() = default;
  Nodes(Nodes&&) = default;
  Nodes& operator=(Nodes&&) = default;
  Nodes(const Nodes&) = delete;  // parts of it point to others
  Nodes& operator=(const Nodes&) = delete;

  // `wall` only says whether the heartbeat of a node that was not known, or one that was set back, is worth anything.
  void put(NodeInfo node, Steady now, std::chrono::system_clock::time_point wall);
  // The node as it is in this object, heard of now if its heartbeat is another than the one that is known.
  NodeInfo read(const json::Object& node, Steady now) const;
  void forget(std::string_view name);
  const Infos& infos() const { return infos_; }
  const NodeInfo* find(std::string_view name) const;

  // A placement that has a node. One of the same uid is replaced.
  void place(Placed placed);
  void remove(std::string_view uid);
  // Of one VMI, whatever their number.
  void remove_of(std::string_view ns, std::string_view vmi);
  // These instead of those that it had. Nothing happens when they are alike.
  void replace_of(std::string_view ns, std::string_view vmi, std::vector<Placed> placed);
  const Amounts& used(std::string_view node) const;
  std::vector<const Placed*> on(std::string_view node) const;
  std::vector<const Placed*> all() const;
  // Those that do not want everybody beside them; few, if any.
  const std::map<std::string, const Placed*, std::less<>>& keeping_away() const { return keeping_away_; }
  bool is_cid_taken(std::uint32_t cid) const { return cids_.contains(cid); }
  // With how many have it.
  const std::map<std::int64_t, std::size_t>& tsc_frequencies() const { return frequencies_; }
  // Another number whenever a placement may be possible that was not before.
  std::uint64_t version() const { return version_; }

 private:
  Infos infos_;
  std::map<std::string, Placed, std::less<>> placed_;                     // by uid
  std::map<std::string, Amounts, std::less<>> used_;                      // by node
  std::map<std::string, std::vector<std::string>, std::less<>> of_vmi_;   // "ns/name" to uids
  std::map<std::string, std::vector<std::string>, std::less<>> on_node_;  // to uids
  std::map<std::string, const Placed*, std::less<>> keeping_away_;        // by uid
  std::map<std::uint32_t, std::size_t> cids_;
  std::map<std::int64_t, std::size_t> frequencies_;
  std::uint64_t version_ = 0;
};

}  // namespace vg::controllers
