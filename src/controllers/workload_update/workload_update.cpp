#include "controllers/workload_update/workload_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "base/limits.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/common/shuffle.h"
#include "controllers/migration/make.h"
#include "controllers/migration/options.h"
#include "json/access.h"

namespace vg::controllers {
namespace workload_update {
namespace {

using std::chrono::seconds;

constexpr std::string_view update_annotation = "kubevirt.io/workloadUpdateMigration";
constexpr std::string_view abort_annotation = "kubevirt.io/testWorkloadUpdateMigrationAbortion";
constexpr std::string_view volume_label = "kubevirt.io/volume-update-migration";
// When the last VMIs were evicted. On the KubeVirt object, for a pass remembers nothing.
constexpr std::string_view batch_annotation = "virtgate.dev/last-eviction-batch";
constexpr std::string_view name_prefix = "kubevirt-workload-update-";
constexpr seconds look_again_after{30};

const json::Object* status_of(const json::Object& object) { return json::get_object(object, "status"); }

std::string_view status_text(const json::Object& object, std::string_view member) {
  const json::Object* status = status_of(object);
  return status ? json::get_string_or(*status, member) : std::string_view();
}

bool has_annotation(const json::Object& object, std::string_view name) {
  const json::Object* metadata = json::get_object(object, "metadata");
  const json::Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  return annotations && json::find(*annotations, name);
}

std::string_view moving_text(const json::Object& vmi, std::string_view member) {
  const json::Object* status = status_of(vmi);
  const json::Object* moving = status ? json::get_object(*status, "migrationState") : nullptr;
  return moving ? json::get_string_or(*moving, member) : std::string_view();
}

bool is_migrating(const json::Object& vmi) {
  return !moving_text(vmi, "startTimestamp").empty() && moving_text(vmi, "endTimestamp").empty();
}

std::vector<const MigrationInfo*> unfinished_updates(const json::Object& vmi, const Migrations& migrations) {
  std::vector<const MigrationInfo*> found = migrations.of(metadata_text(vmi, "namespace"), metadata_text(vmi, "name"));
  std::erase_if(found, [](const MigrationInfo* one) { return one->is_final() || !one->workload_update; });
  return found;
}

// WLU-01, but for the launcher
bool is_to_be_aborted(const json::Object& vmi, const Migrations& migrations) {
  if (unfinished_updates(vmi, migrations).empty()) return false;
  if (has_annotation(vmi, abort_annotation)) return true;
  return !has_pending_change(vmi) && moving_text(vmi, "targetNodeDomainReadyTimestamp").empty();
}

bool can_migrate(const json::Object& vmi) {
  const json::Object* status = status_of(vmi);
  if (is_true(status, "LiveMigratable")) return true;
  const json::Array* volumes = status ? json::get_array(*status, "migratedVolumes") : nullptr;
  return volumes && !volumes->empty() && is_true(status, "StorageLiveMigratable");
}

// --- settings --------------------------------------------------------------------------------------------------------

struct Settings {
  Methods methods;
  std::int64_t batch_size = 10;
  seconds batch_interval{60};
};

Settings settings_of(const json::Object& kubevirt) {
  Settings settings;
  const json::Object* spec = json::get_object(kubevirt, "spec");
  const json::Object* strategy = spec ? json::get_object(*spec, "workloadUpdateStrategy") : nullptr;
  if (!strategy) return settings;
  if (const json::Array* methods = json::get_array(*strategy, "workloadUpdateMethods"))
    for (const json::Value& method : *methods) {
      if (json::as_string(&method) == "LiveMigrate") settings.methods.migrate = true;
      if (json::as_string(&method) == "Evict") settings.methods.evict = true;
    }
  settings.batch_size = json::get_int_or(*strategy, "batchEvictionSize", settings.batch_size);
  if (const auto text = json::get_string(*strategy, "batchEvictionInterval"))
    if (const auto interval = parse_duration(*text)) settings.batch_interval = std::chrono::ceil<seconds>(*interval);
  return settings;
}

// It runs what it is to run; before, all VMIs would look outdated.
bool is_deployed(const json::Object& kubevirt) {
  return status_text(kubevirt, "phase") == "Deployed" && !is_being_deleted(kubevirt) &&
         status_text(kubevirt, "observedDeploymentID") == status_text(kubevirt, "targetDeploymentID");
}

// --- effects ---------------------------------------------------------------------------------------------------------

struct Sorted {
  std::vector<const json::Object*> abort, migrate, evict;
  std::int64_t outdated = 0;
};

Sorted sort_vmis(const Turn& turn, const Methods& methods) {
  Sorted sorted;
  const Migrations& migrations = turn.world.migrations();
  std::vector<Migrations::Name> names = migrations.not_up_to_date();
  std::ranges::copy(migrations.being_updated(), std::back_inserter(names));
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  for (const auto& [ns, name] : names) {
    const json::Object* vmi = turn.world.get(kinds::vmi, ns, name);
    if (!vmi) continue;
    const Class found = classify(*vmi, methods, migrations);
    if (found == Class::abort) sorted.abort.push_back(vmi);
    if (found == Class::migrate) sorted.migrate.push_back(vmi);
    if (found == Class::evict) sorted.evict.push_back(vmi);
    if (found != Class::abort && found != Class::up_to_date) ++sorted.outdated;
  }
  return sorted;
}

// WLU-10. Not there is none.
void count(Pass& pass, const Turn& turn, const json::Object& kubevirt, std::int64_t outdated) {
  const json::Object* status = status_of(kubevirt);
  if (json::get_int_or(*status, "outdatedVirtualMachineInstanceWorkloads", 0) == outdated) return;
  json::PatchBuilder patch(turn.storage);
  patch.add("/status/outdatedVirtualMachineInstanceWorkloads", json::Value(outdated, turn.storage));
  pass.add({.verb = Verb::patch_status,
            .resource = kinds::kubevirt,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = json::Value(patch.take(), turn.storage)});
}

// WLU-11, 12
void migrate(Pass& pass, const Turn& turn, std::vector<const json::Object*> vmis) {
  const std::int64_t most = migration::limits_of(turn.config).in_cluster;
  const auto busy = static_cast<std::int64_t>(turn.world.migrations().running_or_updating());
  const auto free = static_cast<std::size_t>(std::max<std::int64_t>(most - busy, 0));
  std::uint64_t random = turn.random;
  shuffle(vmis, random);
  vmis.resize(std::min(free, vmis.size()));
  for (const json::Object* vmi : vmis) {
    const bool volumes = is_true(status_of(*vmi), "VolumesChange");
    const std::string_view name = metadata_text(*vmi, "name");
    pass.add(migration::make(
        {.vmi = *vmi,
         .name_prefix = name_prefix,
         .random = next_random(random),
         .priority = has_pending_change(*vmi) ? "user-triggered" : "system-critical",
         .annotation = update_annotation,
         .annotation_value = "",
         .label = volumes ? volume_label : std::string_view(),
         .label_value = name.size() > limits::label_value_bytes_max ? metadata_text(*vmi, "uid") : name},  // WLU-12b
        turn.storage));
  }
}

// WLU-14
void abort(Pass& pass, const Turn& turn, const std::vector<const json::Object*>& vmis) {
  for (const json::Object* vmi : vmis)
    for (const MigrationInfo* one : unfinished_updates(*vmi, turn.world.migrations())) {
      if (one->deleting) continue;
      pass.add(
          {.verb = Verb::remove,
           .resource = kinds::migration,
           .ns = one->ns,
           .name = one->name,
           .identity = Identity::own(),
           .uid = one->uid,
           .soft_reason = "FailedChangeAbortion",
           .others_follow = true,
           .already_done_is_fine = true,
           .if_done = Event{.type = EventType::normal,
                            .reason = "SuccessfulChangeAbortion",
                            .message = fmt::format("migration {} has no reason any more and was deleted", one->name)},
           .if_failed = Event{.type = EventType::normal,
                              .reason = "FailedChangeAbortion",
                              .message = fmt::format("migration {} could not be deleted", one->name)},
           .involved = event_object(*vmi)});
    }
}

Effect eviction(const json::Object& vmi, const Turn& turn) {
  Effect effect{
      .verb = Verb::remove,
      .resource = kinds::vmi,
      .ns = std::string(metadata_text(vmi, "namespace")),
      .name = std::string(metadata_text(vmi, "name")),
      .identity = Identity::own(),
      .uid = std::string(metadata_text(vmi, "uid")),
      .soft_reason = "FailedEvict",
      .others_follow = true,
      .already_done_is_fine = true,
      .if_done = Event{.type = EventType::normal,
                       .reason = "SuccessfulEvict",
                       .message = "the VMI was evicted, so that it starts again up to date"},
      .if_failed =
          Event{.type = EventType::warning, .reason = "FailedEvict", .message = "the VMI could not be evicted"},
      .involved = event_object(vmi)};
  if (eviction_of(vmi, turn.config.eviction_strategy()) == Eviction::stop) return effect;
  json::PatchBuilder patch(turn.storage);
  patch.add("/status/evacuationNodeName", json::Value(status_text(vmi, "nodeName"), turn.storage));
  effect.verb = Verb::patch;
  effect.document = json::Value(patch.take(), turn.storage);
  return effect;
}

void remember_batch(Pass& pass, const Turn& turn, const json::Object& kubevirt) {
  json::PatchBuilder patch(turn.storage);
  const json::Object* metadata = json::get_object(kubevirt, "metadata");
  if (!json::find(*metadata, "annotations"))
    guarded_add(patch, "/metadata/annotations", json::Value(boost::json::object_kind, turn.storage));
  patch.add(patch_path("/metadata/annotations", {batch_annotation}), json::Value(time_text(turn.now), turn.storage));
  pass.add({.verb = Verb::patch,
            .resource = kinds::kubevirt,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = json::Value(patch.take(), turn.storage)});
}

// WLU-13
void evict(Pass& pass, const Turn& turn, const json::Object& kubevirt, const Settings& settings,
           std::vector<const json::Object*> vmis) {
  std::erase_if(vmis, [&](const json::Object* vmi) {
    if (eviction_of(*vmi, turn.config.eviction_strategy()) != Eviction::refuse) return false;
    pass.events.push_back({.event = {.type = EventType::warning,
                                     .reason = "FailedEvict",
                                     .message = "the VMI must be migrated to be evicted, and cannot be migrated"},
                           .involved = event_object(*vmi)});
    return true;
  });
  if (vmis.empty()) return;
  if (const auto last = parse_rfc3339(annotation_of(kubevirt, batch_annotation))) {
    const seconds left = settings.batch_interval - seconds(Timestamp::from(turn.now).seconds - last->seconds);
    if (left > seconds::zero() && left <= settings.batch_interval) return pass.look_again(left);
  }
  std::uint64_t random = turn.random;
  shuffle(vmis, random);
  vmis.resize(std::min(vmis.size(), static_cast<std::size_t>(std::max<std::int64_t>(settings.batch_size, 0))));
  remember_batch(pass, turn, kubevirt);  // first: should it fail, nobody is evicted twice as fast
  for (const json::Object* vmi : vmis) pass.add(eviction(*vmi, turn));
}

Pass sync(const Turn& turn) {
  Pass pass;
  const json::Object& kubevirt = *turn.world.get(kinds::kubevirt, turn.key.ns, turn.key.name);
  if (!is_deployed(kubevirt)) return pass;
  const Settings settings = settings_of(kubevirt);
  Sorted sorted = sort_vmis(turn, settings.methods);
  count(pass, turn, kubevirt, sorted.outdated);
  abort(pass, turn, sorted.abort);
  if (!sorted.migrate.empty() || !sorted.evict.empty()) pass.look_again(look_again_after);
  migrate(pass, turn, std::move(sorted.migrate));
  evict(pass, turn, kubevirt, settings, std::move(sorted.evict));
  return pass;
}

// --- what wakes it ---------------------------------------------------------------------------------------------------

std::vector<Key> every_kubevirt(const World& world) {
  std::vector<Key> keys;
  for (const json::Object* kubevirt : world.list(kinds::kubevirt, ""))
    keys.push_back({.ns = std::string(metadata_text(*kubevirt, "namespace")),
                    .name = std::string(metadata_text(*kubevirt, "name"))});
  return keys;
}

bool is_outdated(const json::Object* vmi) { return vmi && (has_outdated_launcher(*vmi) || has_pending_change(*vmi)); }

std::vector<Key> of_vmi(const Change& change, const World& world) {
  return is_outdated(change.before) || is_outdated(change.after) ? every_kubevirt(world) : std::vector<Key>();
}

std::vector<Key> of_migration(const Change& change, const World& world) {
  const MigrationInfo info = MigrationInfo::read(change.object());
  const bool over = !change.after || info.is_final();
  return over || info.workload_update ? every_kubevirt(world) : std::vector<Key>();
}

constexpr Trigger triggers[] = {
    {.resource = kinds::vmi, .keys = of_vmi},
    {.resource = kinds::migration, .keys = of_migration},
};

}  // namespace

Class classify(const json::Object& vmi, const Methods& methods, const Migrations& migrations) {
  if (status_text(vmi, "phase") != "Running" || is_being_deleted(vmi)) return Class::up_to_date;
  const bool old_launcher = has_outdated_launcher(vmi);  // WLU-02
  if (!old_launcher && is_to_be_aborted(vmi, migrations)) return Class::abort;
  const bool waits = has_pending_change(vmi) && !is_migrating(vmi) && !has_annotation(vmi, abort_annotation);  // WLU-03
  if (!old_launcher && !waits) return Class::up_to_date;
  if (is_migrating(vmi) || migrations.has_unfinished(metadata_text(vmi, "namespace"), metadata_text(vmi, "name")))
    return Class::under_way;  // WLU-04
  if (methods.migrate && can_migrate(vmi)) return Class::migrate;
  return methods.evict ? Class::evict : Class::outdated;
}

Eviction eviction_of(const json::Object& vmi, std::string_view cluster_strategy) {
  const json::Object* spec = json::get_object(vmi, "spec");
  const auto own = spec ? json::get_string(*spec, "evictionStrategy") : std::nullopt;
  const std::string_view strategy = own.value_or(cluster_strategy);
  const bool migratable = is_true(status_of(vmi), "LiveMigratable");
  if (strategy == "External") return Eviction::move;
  if (strategy == "LiveMigrate") return migratable ? Eviction::move : Eviction::refuse;
  if (strategy == "LiveMigrateIfPossible" && migratable) return Eviction::move;
  return Eviction::stop;
}

}  // namespace workload_update

Controller workload_update_controller() {
  return {.name = "workload_update",
          .resource = kinds::kubevirt,
          .component = "workload-update-controller",
          .triggers = workload_update::triggers,
          .sync = workload_update::sync,
          .finish = nullptr,
          .priority = nullptr,
          .delay = std::chrono::seconds(5)};
}

}  // namespace vg::controllers
