#include "controllers/migrations.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

constexpr std::string_view evacuation_annotation = "kubevirt.io/evacuationMigration";
constexpr std::string_view update_annotation = "kubevirt.io/workloadUpdateMigration";
constexpr std::string_view no_backoff_annotation = "kubevirt.io/func-test-ignore-migration-backoff";

struct NamedPriority {
  std::string_view name;
  int value;
};
// 2.5
constexpr std::array priorities{NamedPriority{"system-critical", 100}, NamedPriority{"user-triggered", 50},
                                NamedPriority{"system-maintenance", 20}};

int priority_named(std::string_view name) {
  const auto found = std::ranges::find(priorities, name, &NamedPriority::name);
  return found == priorities.end() ? 0 : found->value;
}

std::int64_t seconds_of(std::string_view time) {
  const auto parsed = parse_rfc3339(time);
  return parsed ? parsed->seconds : 0;
}

bool has_annotation(const json::Object& object, std::string_view name) {
  const json::Object* metadata = json::get_object(object, "metadata");
  const json::Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  return annotations && json::find(*annotations, name);
}

std::int64_t time_of_phase(const json::Object& status, std::string_view phase) {
  const json::Array* times = json::get_array(status, "phaseTransitionTimestamps");
  if (!times) return 0;
  for (const json::Value& entry : *times)
    if (json::get_string_or(entry, "phase") == phase)
      return seconds_of(json::get_string_or(entry, "phaseTransitionTimestamp"));
  return 0;
}

template <class Map, class Key, class Member>
void drop(Map& map, const Key& key, const Member& member) {
  const auto found = map.find(key);
  if (found == map.end()) return;
  found->second.erase(member);
  if (found->second.empty()) map.erase(found);
}

Migrations::Name name_of(std::string_view ns, std::string_view name) { return {std::string(ns), std::string(name)}; }

}  // namespace

MigrationInfo MigrationInfo::read(const json::Object& migration, std::uint64_t created) {
  MigrationInfo info{.ns = std::string(metadata_text(migration, "namespace")),
                     .name = std::string(metadata_text(migration, "name")),
                     .uid = std::string(metadata_text(migration, "uid")),
                     .vmi = {},
                     .phase = {},
                     .created = created,
                     .deleting = is_being_deleted(migration),
                     .workload_update = has_annotation(migration, update_annotation)};
  info.backs_off = (info.workload_update || has_annotation(migration, evacuation_annotation)) &&
                   !has_annotation(migration, no_backoff_annotation);
  if (const json::Object* spec = json::get_object(migration, "spec")) {
    info.vmi = json::get_string_or(*spec, "vmiName");
    info.priority = priority_named(json::get_string_or(*spec, "priority"));
    info.source = json::get_object(*spec, "sendTo") && !json::get_object(*spec, "receive");
  }
  if (const json::Object* status = json::get_object(migration, "status")) {
    info.phase = json::get_string_or(*status, "phase");
    info.failed_at = time_of_phase(*status, "Failed");
  }
  return info;
}

bool MigrationInfo::counts_as_running() const {
  if (phase == "Scheduling") return !source;
  static constexpr std::array<std::string_view, 4> phases{"Scheduled", "PreparingTarget", "TargetReady", "Running"};
  return std::ranges::find(phases, phase) != phases.end();
}

bool has_outdated_launcher(const json::Object& vmi) {
  const json::Object* metadata = json::get_object(vmi, "metadata");
  const json::Object* labels = metadata ? json::get_object(*metadata, "labels") : nullptr;
  return labels && json::find(*labels, outdated_label);
}

bool has_pending_change(const json::Object& vmi) {
  const json::Object* status = json::get_object(vmi, "status");
  return find_condition(status, "HotVCPUChange") || is_true(status, "HotMemoryChange") ||
         is_true(status, "MigrationRequired") || is_true(status, "VolumesChange");
}

MovableInfo MovableInfo::read(const json::Object& vmi) {
  MovableInfo info;
  info.ns = metadata_text(vmi, "namespace");
  info.name = metadata_text(vmi, "name");
  info.not_up_to_date = has_outdated_launcher(vmi) || has_pending_change(vmi);
  const json::Object* status = json::get_object(vmi, "status");
  if (!status) return info;
  info.node = json::get_string_or(*status, "nodeName");
  info.evacuation_node = json::get_string_or(*status, "evacuationNodeName");
  if (const json::Object* state = json::get_object(*status, "migrationState"))
    info.source_node = json::get_string_or(*state, "sourceNode");
  return info;
}

std::strong_ordering Migrations::Place::operator<=>(const Place& other) const {
  if (const auto by_priority = other.priority <=> priority; by_priority != 0) return by_priority;
  if (const auto by_age = created <=> other.created; by_age != 0) return by_age;
  return name <=> other.name;
}

Migrations::Place Migrations::place_of(const MigrationInfo& migration) {
  return {.priority = migration.priority, .created = migration.created, .name = {migration.ns, migration.name}};
}

void Migrations::put(MigrationInfo migration) {
  forget(migration.ns, migration.name);
  const Name name{migration.ns, migration.name};
  of_vmi_[{migration.ns, migration.vmi}].insert(name);
  if (migration.counts_as_running()) running_.insert(name);
  if (!migration.is_final()) {
    phases_[migration.phase].insert(place_of(migration));
    if (migration.workload_update) updating_.insert(name);
  }
  migrations_.emplace(name, std::move(migration));
}

void Migrations::forget(std::string_view ns, std::string_view name) {
  const auto found = migrations_.find(name_of(ns, name));
  if (found == migrations_.end()) return;
  const MigrationInfo& migration = found->second;
  drop(of_vmi_, Name{migration.ns, migration.vmi}, found->first);
  drop(phases_, migration.phase, place_of(migration));
  running_.erase(found->first);
  updating_.erase(found->first);
  migrations_.erase(found);
}

void Migrations::put_vmi(MovableInfo vmi) {
  forget_vmi(vmi.ns, vmi.name);
  const Name name{vmi.ns, vmi.name};
  if (!vmi.evacuation_node.empty() && vmi.evacuation_node == vmi.node) leaving_[vmi.node].insert(name);
  if (vmi.not_up_to_date) not_up_to_date_.insert(name);
  vmis_.emplace(name, std::move(vmi));
}

void Migrations::forget_vmi(std::string_view ns, std::string_view name) {
  const auto found = vmis_.find(name_of(ns, name));
  if (found == vmis_.end()) return;
  drop(leaving_, found->second.node, found->first);
  not_up_to_date_.erase(found->first);
  vmis_.erase(found);
}

const MigrationInfo* Migrations::find(std::string_view ns, std::string_view name) const {
  const auto found = migrations_.find(name_of(ns, name));
  return found == migrations_.end() ? nullptr : &found->second;
}

std::vector<const MigrationInfo*> Migrations::of(std::string_view ns, std::string_view vmi) const {
  std::vector<const MigrationInfo*> found;
  const auto names = of_vmi_.find(name_of(ns, vmi));
  if (names == of_vmi_.end()) return found;
  for (const Name& name : names->second) found.push_back(&migrations_.at(name));
  std::ranges::sort(found, [](const MigrationInfo* one, const MigrationInfo* other) {
    return std::tie(other->created, one->name) < std::tie(one->created, other->name);
  });
  return found;
}

bool Migrations::has_unfinished(std::string_view ns, std::string_view vmi) const {
  return std::ranges::any_of(of(ns, vmi), [](const MigrationInfo* one) { return !one->is_final(); });
}

std::size_t Migrations::running_from(std::string_view node) const {
  return static_cast<std::size_t>(std::ranges::count_if(running_, [&](const Name& name) {
    const MigrationInfo& migration = migrations_.at(name);
    const auto vmi = vmis_.find(Name{migration.ns, migration.vmi});
    return vmi != vmis_.end() && (vmi->second.node == node || vmi->second.source_node == node);
  }));
}

std::vector<const MigrationInfo*> Migrations::in_phase(std::string_view phase, std::size_t most) const {
  std::vector<const MigrationInfo*> found;
  const auto places = phases_.find(phase);
  if (places == phases_.end()) return found;
  for (const Place& place : places->second) {
    if (found.size() >= most) break;
    found.push_back(&migrations_.at(place.name));
  }
  return found;
}

std::vector<Migrations::Name> Migrations::leaving(std::string_view node) const {
  const auto found = leaving_.find(node);
  if (found == leaving_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::size_t Migrations::running_or_updating() const {
  const auto waiting = std::ranges::count_if(updating_, [&](const Name& name) { return !running_.contains(name); });
  return running_.size() + static_cast<std::size_t>(waiting);
}

std::vector<Migrations::Name> Migrations::being_updated() const {
  std::set<Name> found;
  for (const Name& name : updating_) found.insert({name.first, migrations_.at(name).vmi});
  return {found.begin(), found.end()};
}

}  // namespace vg::controllers
