#include "controllers/storage/storage_profile.h"

#include <array>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {
namespace storage {
namespace {

constexpr std::string_view profiles = "cdi.kubevirt.io/storageprofiles";
constexpr std::string_view own_provisioner = "virtgate.io/local";
constexpr std::string_view strategy_annotation = "cdi.kubevirt.io/clone-strategy";

json::Array own_sets(const json::StoragePtr& storage) {
  const json::Value set({{"accessModes", json::Array{"ReadWriteOnce"}}, {"volumeMode", "Filesystem"}}, storage);
  return json::Array({set}, storage);
}

// What the profile itself names comes before what is known of the class.
void choose(json::Object& status, const json::Object& profile, const json::Object& storage_class, bool known,
            const json::StoragePtr& storage) {
  const json::Object* spec = json::get_object(profile, "spec");
  const json::Array* sets = spec ? json::get_array(*spec, "claimPropertySets") : nullptr;
  if (sets && !sets->empty())
    status["claimPropertySets"] = json::Value(*sets, storage);
  else if (known)
    status["claimPropertySets"] = own_sets(storage);
  else
    json::erase(status, "claimPropertySets");
  std::string_view strategy = spec ? json::get_string_or(*spec, "cloneStrategy") : std::string_view();
  if (strategy.empty()) strategy = annotation_of(storage_class, strategy_annotation);
  status["cloneStrategy"] = strategy.empty() ? std::string_view("copy") : strategy;
  const std::string_view format = spec ? json::get_string_or(*spec, "dataImportCronSourceFormat") : std::string_view();
  status["dataImportCronSourceFormat"] = format.empty() ? std::string_view("pvc") : format;
}

void show_recognized(json::Object& status, const Turn& turn, bool known) {
  const json::Object* before = find_condition(&status, "Recognized");
  const std::string_view wanted = known ? "True" : "False";
  if (before && json::get_string_or(*before, "status") == wanted) return;
  const std::string now = time_text(turn.now);
  const json::Value condition({{"type", "Recognized"},
                               {"status", wanted},
                               {"lastHeartbeatTime", now},
                               {"lastTransitionTime", now},
                               {"message", known ? "the provisioner is known" : "the provisioner is not known"},
                               {"reason", known ? "RecognizedProvisioner" : "UnrecognizedProvisioner"}},
                              turn.storage);
  status["conditions"] = json::Array({condition}, turn.storage);
}

void create_profile(Pass& pass, const Turn& turn) {
  pass.add({.verb = Verb::create,
            .resource = profiles,
            .ns = {},
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = json::Value({{"apiVersion", "cdi.kubevirt.io/v1beta1"},
                                     {"kind", "StorageProfile"},
                                     {"metadata", {{"name", turn.key.name}}},
                                     {"spec", json::Value(boost::json::object_kind)}},
                                    turn.storage),
            .already_done_is_fine = true});
}

Pass sync(const Turn& turn) {
  Pass pass;
  const json::Object* storage_class = turn.world.get(kinds::storage_class, "", turn.key.name);
  const json::Object* profile = turn.world.get(profiles, "", turn.key.name);
  if (!storage_class) {
    if (profile && !is_being_deleted(*profile))
      pass.add({.verb = Verb::remove,
                .resource = profiles,
                .ns = {},
                .name = turn.key.name,
                .identity = Identity::own(),
                .uid = std::string(metadata_text(*profile, "uid")),
                .already_done_is_fine = true});
    return pass;
  }
  if (!profile) {
    create_profile(pass, turn);
    return pass;
  }
  const std::string_view provisioner = json::get_string_or(*storage_class, "provisioner");
  json::Value wanted(*profile, turn.storage);
  json::Object& status = json::ensure_object(wanted.get_object(), "status");
  const bool known = provisioner == own_provisioner;
  status["storageClass"] = turn.key.name;
  status["provisioner"] = provisioner;
  choose(status, *profile, *storage_class, known, turn.storage);
  show_recognized(status, turn, known);
  if (!json::equal(json::Value(*profile, turn.storage), wanted))
    pass.add({.verb = Verb::update_status,
              .resource = profiles,
              .ns = {},
              .name = turn.key.name,
              .identity = Identity::own(),
              .document = std::move(wanted)});
  return pass;
}

std::vector<Key> of_profile(const Change& change, const World&) {
  return {{.ns = {}, .name = std::string(metadata_text(change.object(), "name"))}};
}

constexpr std::array profile_triggers = std::to_array<Trigger>({{profiles, of_profile}});

}  // namespace
}  // namespace storage

Controller storage_profile_controller() {
  return {.name = "storageprofile",
          .resource = kinds::storage_class,
          .component = "storageprofile-controller",
          .triggers = storage::profile_triggers,
          .sync = storage::sync,
          .looks_at_missing = true};
}

}  // namespace vg::controllers
