// The migrations of the whole cluster, and the VMIs that are to move, counted while changes come in: a pass that asks
// how many are running, or which VMIs leave a node, opens no object for it (spec migration-and-fleets 2.5, 2.9, 2.10,
// 7, 8).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace vg::controllers {

// Of a VMI whose pod is of another version than this one.
inline constexpr std::string_view outdated_label = "kubevirt.io/outdatedLauncherImage";

struct MigrationInfo {
  std::string ns, name, uid;
  std::string vmi;  // by name, in the same namespace
  std::string phase;
  std::uint64_t created = 0;   // in the order in which objects are made (World::creation_order)
  std::int64_t failed_at = 0;  // seconds since 1970; 0: it did not fail
  int priority = 0;            // of its place in the queue, whatever its phase
  bool source = false;         // the sending half of one between clusters
  bool deleting = false;
  bool backs_off = false;        // made by the evacuation or the workload updater, and not to start at once (2.9)
  bool workload_update = false;  // made by the workload updater

  static MigrationInfo read(const json::Object& migration, std::uint64_t created = 0);
  bool is_final() const { return phase == "Succeeded" || phase == "Failed"; }
  // 1: takes one of the places that there are for migrations. A target is made in the pass that leaves Pending, so no
  // target exists before.
  bool counts_as_running() const;
};

// What moving a VMI depends on.
struct MovableInfo {
  std::string ns, name;
  std::string node;
  std::string source_node;      // of its last migration
  std::string evacuation_node;  // that it is asked to leave
  bool not_up_to_date = false;  // WLU-02 or WLU-03, but for what the migrations of the moment say

  static MovableInfo read(const json::Object& vmi);
};

// WLU-02: the VMI controller marks whose launcher has another image than new ones get.
bool has_outdated_launcher(const json::Object& vmi);
// Of WLU-03: a condition says that a live update waits for a migration, or for the one that runs.
bool has_pending_change(const json::Object& vmi);

class Migrations {
 public:
  // ("namespace", "name"), in this order.
  using Name = std::pair<std::string, std::string>;

  void put(MigrationInfo migration);
  void forget(std::string_view ns, std::string_view name);
  void put_vmi(MovableInfo vmi);
  void forget_vmi(std::string_view ns, std::string_view name);

  const MigrationInfo* find(std::string_view ns, std::string_view name) const;
  // Of a VMI name, newest first.
  std::vector<const MigrationInfo*> of(std::string_view ns, std::string_view vmi) const;
  bool has_unfinished(std::string_view ns, std::string_view vmi) const;

  std::size_t running() const { return running_.size(); }
  // Running ones whose VMI is on this node, or came from it in its last migration (MIG-Q03).
  std::size_t running_from(std::string_view node) const;
  // Those in this phase, of the highest priority first, then in the order in which they were made; at most `most`.
  std::vector<const MigrationInfo*> in_phase(std::string_view phase, std::size_t most) const;

  // VMIs that are on this node and are asked to leave it.
  std::vector<Name> leaving(std::string_view node) const;
  // VMIs for which a live update is pending, or whose launcher is outdated.
  std::vector<Name> not_up_to_date() const { return {not_up_to_date_.begin(), not_up_to_date_.end()}; }
  // Running ones, and those of the workload updater that will.
  std::size_t running_or_updating() const;
  // VMIs that have an unfinished migration of the workload updater.
  std::vector<Name> being_updated() const;

 private:
  // By priority, highest first, then by age.
  struct Place {
    int priority = 0;
    std::uint64_t created = 0;
    Name name;
    std::strong_ordering operator<=>(const Place& other) const;
    bool operator==(const Place&) const = default;
  };
  static Place place_of(const MigrationInfo& migration);

  std::map<Name, MigrationInfo> migrations_;
  std::map<Name, std::set<Name>> of_vmi_;                       // VMI to migrations
  std::set<Name> running_;                                      // migrations
  std::map<std::string, std::set<Place>, std::less<>> phases_;  // of unfinished ones
  std::set<Name> updating_;                                     // migrations
  std::map<Name, MovableInfo> vmis_;
  std::map<std::string, std::set<Name>, std::less<>> leaving_;  // node to VMIs
  std::set<Name> not_up_to_date_;                               // VMIs
};

}  // namespace vg::controllers
