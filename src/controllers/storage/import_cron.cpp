#include "controllers/storage/import_cron.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/common/user_metadata.h"
#include "controllers/storage/facts.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {
namespace storage {
namespace {

using json::Object;
using json::Value;
using std::string_view;

constexpr string_view cron_label = "cdi.kubevirt.io/dataImportCron";
constexpr string_view cleanup_label = "cdi.kubevirt.io/dataImportCron.cleanup";
constexpr string_view cron_finalizer = "cdi.kubevirt.io/dataImportCronFinalizer";
constexpr std::size_t imports_kept = 3;  // DIC-06

const Object& empty_object() {
  static const Object nothing;
  return nothing;
}

bool is_of(const CronWork& work, const Object& object) { return label_of(object, cron_label) == work.turn.key.name; }
bool keeps_nothing(const CronWork& work) { return work.option("retentionPolicy") == "None"; }

// The import that the status names; both are empty when it names none.
struct Current {
  string_view name, digest;
};
Current current_of(CronWork& work) {
  const json::Array* imports = json::get_array(work.status(), "currentImports");
  if (!imports || imports->empty()) return {};
  return {.name = json::get_string_or(imports->front(), "DataVolumeName"),
          .digest = json::get_string_or(imports->front(), "Digest")};
}

const Object* data_volume(const CronWork& work, string_view name) {
  return name.empty() ? nullptr : work.turn.world.get(kinds::data_volume, work.turn.key.ns, name);
}

void remove(CronWork& work, string_view resource, const Object& object) {
  work.pass.add({.verb = Verb::remove,
                 .resource = resource,
                 .ns = work.turn.key.ns,
                 .name = std::string(metadata_text(object, "name")),
                 .identity = Identity::own(),
                 .uid = std::string(metadata_text(object, "uid")),
                 .already_done_is_fine = true});
}

// A DataVolume takes its claim with it.
void remove_import(CronWork& work, const Object& claim) {
  const Object* dv = data_volume(work, metadata_text(claim, "name"));
  if (dv && is_of(work, *dv))
    remove(work, kinds::data_volume, *dv);
  else
    remove(work, kinds::claim, claim);
}

// --- imports (DIC-02, DIC-05) ----------------------------------------------------------------------------------------

void mark_as_own(const CronWork& work, Object& metadata) {
  Object& labels = json::ensure_object(metadata, "labels");
  labels[cron_label] = work.turn.key.name;
  if (keeps_nothing(work)) labels[cleanup_label] = "true";
}

Value new_import(const CronWork& work, const std::string& name, string_view digest) {
  const Object* given = json::get_object(work.spec(), "template");
  Value made(given ? *given : empty_object(), work.turn.storage);
  Object& object = made.get_object();
  object["apiVersion"] = "cdi.kubevirt.io/v1beta1";
  object["kind"] = "DataVolume";
  const Object* before = given ? json::get_object(*given, "metadata") : nullptr;
  Value metadata({{"name", name}, {"namespace", work.turn.key.ns}}, work.turn.storage);
  for (const string_view map : {"labels", "annotations"})
    if (const Object* kept = before ? json::get_object(*before, map) : nullptr) metadata.get_object()[map] = *kept;
  drop_reserved(metadata.get_object());
  mark_as_own(work, metadata.get_object());
  json::ensure_object(metadata.get_object(), "annotations")[mark::bind_at_once] = "true";
  object["metadata"] = std::move(metadata);
  json::erase(object, "status");
  Object& source = json::ensure_path(object, {"spec", "source"});
  if (Object* registry = json::get_object(source, "registry"))
    (*registry)["url"] = pinned(json::get_string_or(*registry, "url"), digest);
  return made;
}

bool has_failed(const Object& dv) {
  const Object* status = json::get_object(dv, "status");
  const string_view reason = condition_reason(status, "Running");
  return phase_of(dv) == "Failed" ||
         (is_false(status, "Running") && (reason == "Error" || reason == "ImagePullFailed"));
}

void begin_import(CronWork& work, const std::string& name, string_view digest) {
  if (!data_volume(work, name))
    work.pass.add({.verb = Verb::create,
                   .resource = kinds::data_volume,
                   .ns = work.turn.key.ns,
                   .name = name,
                   .identity = Identity::asker_of(work.cron),
                   .document = new_import(work, name, digest),
                   .already_done_is_fine = true});
  work.status()["currentImports"] =
      json::Array({Value({{"DataVolumeName", name}, {"Digest", digest}}, work.turn.storage)}, work.turn.storage);
}

void import_wanted(CronWork& work) {
  const std::string digest(work.wanted_digest());
  if (digest.empty()) return;
  const Current current = current_of(work);
  const Object* dv = data_volume(work, current.name);
  if (current.digest == digest) {
    if (!dv && !work.turn.world.get(kinds::claim, work.turn.key.ns, current.name))
      begin_import(work, std::string(current.name), digest);
    return;
  }
  if (dv && phase_of(*dv) != "Succeeded") {
    if (!has_failed(*dv)) return;  // it is waited for
    remove(work, kinds::data_volume, *dv);
  }
  begin_import(work, import_name(work.option("managedDataSource"), digest), digest);
}

// --- the data source (DIC-03) ----------------------------------------------------------------------------------------

void point_data_source(CronWork& work, const Object* data_source, string_view claim) {
  const string_view name = work.option("managedDataSource");
  Value wanted(data_source ? *data_source : empty_object(), work.turn.storage);
  Object& object = wanted.get_object();
  if (!data_source) {
    object["apiVersion"] = "cdi.kubevirt.io/v1beta1";
    object["kind"] = "DataSource";
    object["metadata"] = Value({{"name", name}, {"namespace", work.turn.key.ns}}, work.turn.storage);
  }
  mark_as_own(work, json::ensure_object(object, "metadata"));
  json::ensure_object(object, "spec")["source"] =
      Value({{"pvc", {{"name", claim}, {"namespace", work.turn.key.ns}}}}, work.turn.storage);
  if (data_source && json::equal(Value(*data_source, work.turn.storage), wanted)) return;
  work.pass.add({.verb = data_source ? Verb::update : Verb::create,
                 .resource = kinds::data_source,
                 .ns = work.turn.key.ns,
                 .name = std::string(name),
                 .identity = Identity::own(),
                 .document = std::move(wanted)});
}

bool is_imported(CronWork& work) {
  const Current current = current_of(work);
  const Object* dv = data_volume(work, current.name);
  return !current.digest.empty() && dv && is_of(work, *dv) && phase_of(*dv) == "Succeeded";
}

void show_imported(CronWork& work, const Object* data_source) {
  const std::string name(current_of(work).name);
  const Object* last = json::get_object(work.status(), "lastImportedPVC");
  if (!last || json::get_string_or(*last, "name") != name) {
    work.status()["lastImportedPVC"] = Value({{"namespace", work.turn.key.ns}, {"name", name}}, work.turn.storage);
    work.status()["lastImportTimestamp"] = time_text(work.turn.now);
    if (const Object* claim = work.turn.world.get(kinds::claim, work.turn.key.ns, name)) {
      Marks marks(*claim);
      marks.annotate(mark::last_use_time, time_text(work.turn.now));
      if (auto effect = marks.effect(kinds::claim, work.turn.storage)) work.pass.add(std::move(*effect));
    }
  }
  work.status()["sourceFormat"] = "pvc";
  point_data_source(work, data_source, name);
}

// --- what is old (DIC-06, DIC-07) ------------------------------------------------------------------------------------

string_view used_at(const Object& claim) {
  const string_view used = annotation_of(claim, mark::last_use_time);
  return used.empty() ? metadata_text(claim, "creationTimestamp") : used;
}

void collect_old(CronWork& work) {
  if (work.option("garbageCollect") == "Never") return;
  const auto given = json::get_int(work.spec(), "importsToKeep");
  std::size_t kept = given ? static_cast<std::size_t>(std::max<std::int64_t>(0, *given)) : imports_kept;
  auto claims = work.turn.world.labelled(kinds::claim, work.turn.key.ns, cron_label, work.turn.key.name);
  std::ranges::sort(claims, [](const Object* a, const Object* b) { return used_at(*a) > used_at(*b); });
  const std::string current(current_of(work).name);
  if (kept > 0) --kept;  // what is in use is one of them, and stays in any case
  for (const Object* claim : claims) {
    if (metadata_text(*claim, "name") == current || is_being_deleted(*claim)) continue;
    if (kept == 0)
      remove_import(work, *claim);
    else
      --kept;
  }
}

void end(CronWork& work) {
  if (keeps_nothing(work)) {
    const string_view name = work.option("managedDataSource");
    const Object* data_source = work.turn.world.get(kinds::data_source, work.turn.key.ns, name);
    if (data_source && is_of(work, *data_source)) remove(work, kinds::data_source, *data_source);
    for (const string_view resource : {kinds::data_volume, kinds::claim})
      for (const Object* one : work.turn.world.labelled(resource, work.turn.key.ns, cron_label, work.turn.key.name))
        remove(work, resource, *one);
  }
  work.wanted.get_object()["metadata"].get_object()["finalizers"] =
      finalizers_without(work.cron, cron_finalizer, work.turn.storage);
  work.write();
}

// --- conditions (DIC-04) ---------------------------------------------------------------------------------------------

void show(CronWork& work, string_view type, bool holds, string_view reason, string_view message) {
  const string_view status = holds ? "True" : "False";
  const Object* before = find_condition(&work.status(), type);
  const bool same = before && json::get_string_or(*before, "status") == status;
  const bool same_words =
      same && json::get_string_or(*before, "reason") == reason && json::get_string_or(*before, "message") == message;
  if (same_words) return;
  const std::string now = time_text(work.turn.now);
  Value entry({{"type", type},
               {"status", status},
               {"lastHeartbeatTime", now},
               {"lastTransitionTime", kept_time(same ? before : nullptr, "lastTransitionTime", now)},
               {"message", message},
               {"reason", reason}},
              work.turn.storage);
  drop_condition(work.status(), type);
  json::ensure_array(work.status(), "conditions").push_back(std::move(entry));
}

void show_progress(CronWork& work) {
  const Current current = current_of(work);
  const Object* dv = data_volume(work, current.name);
  const string_view phase = dv ? phase_of(*dv) : string_view();
  if (current.name.empty() || phase == "Succeeded")
    show(work, "Progressing", false, "NoImport", "no import is in progress");
  else if (phase == "ImportInProgress")
    show(work, "Progressing", true, "ImportProgressing", "an import is in progress");
  else if (phase.empty() || phase == "Pending" || phase == "PVCBound" || phase == "ImportScheduled")
    show(work, "Progressing", false, "ImportScheduled", "an import is to begin");
  else
    show(work, "Progressing", false, phase, fmt::format("the DataVolume of the import is in phase {}", phase));
}

void show_newest(CronWork& work, const std::string& problem) {
  const Current current = current_of(work);
  const string_view digest = work.wanted_digest();
  if (digest.empty())
    show(work, "UpToDate", false, "NoDigest",
         problem.empty() ? "the version of the source is not known yet" : problem.c_str());
  else if (current.digest != digest)
    show(work, "UpToDate", false, "Outdated", "the source has a newer version than the last import");
  else if (is_imported(work))
    show(work, "UpToDate", true, "UpToDate", "the newest version is imported");
  else
    show(work, "UpToDate", false, "ImportProgressing", "the newest version is being imported");
}

// --- the pass --------------------------------------------------------------------------------------------------------

// DIC-08
bool is_anothers(CronWork& work, const Object* data_source) {
  const string_view manager = data_source ? label_of(*data_source, cron_label) : string_view();
  if (manager.empty() || manager == work.turn.key.name) return false;
  work.pass.events.push_back({.event = {.type = EventType::warning,
                                        .reason = "ErrDataSourceAlreadyManaged",
                                        .message = fmt::format("DataSource {} is managed by DataImportCron {}",
                                                               work.option("managedDataSource"), manager),
                                        .once = true}});
  return true;
}

Pass sync_cron(const Turn& turn) {
  const Object* cron = turn.world.get(import_crons_key, turn.key.ns, turn.key.name);
  if (!cron) return {};
  CronWork work(turn, *cron);
  if (is_being_deleted(*cron)) {
    if (has_finalizer(*cron, cron_finalizer)) end(work);
    return std::move(work.pass);
  }
  const Object* data_source = turn.world.get(kinds::data_source, turn.key.ns, work.option("managedDataSource"));
  if (is_anothers(work, data_source)) return std::move(work.pass);
  if (!has_finalizer(*cron, cron_finalizer))
    work.wanted.get_object()["metadata"].get_object()["finalizers"] =
        finalizers_with(*cron, cron_finalizer, turn.storage);
  const std::string problem = follow_source(work);
  import_wanted(work);
  if (is_imported(work)) {
    show_imported(work, data_source);
    collect_old(work);
  }
  show_progress(work);
  show_newest(work, problem);
  work.write();
  return std::move(work.pass);
}

std::vector<Key> of_cron(const Change& change, const World&) {
  const string_view cron = label_of(change.object(), cron_label);
  if (cron.empty()) return {};
  return {{.ns = std::string(metadata_text(change.object(), "namespace")), .name = std::string(cron)}};
}

constexpr std::array cron_triggers =
    std::to_array<Trigger>({{kinds::data_volume, of_cron}, {kinds::data_source, of_cron}});

}  // namespace

CronWork::CronWork(const Turn& given, const Object& object)
    : turn(given), cron(object), wanted(object, given.storage) {}

const Object& CronWork::spec() const {
  const Object* found = spec_of(cron);
  return found ? *found : empty_object();
}
string_view CronWork::option(string_view member) const { return json::get_string_or(spec(), member); }
const Object* CronWork::source(string_view member) const {
  const Object* given = json::get_object(spec(), "template");
  const Object* inside = given ? json::get_object(*given, "spec") : nullptr;
  const Object* all = inside ? json::get_object(*inside, "source") : nullptr;
  return all ? json::get_object(*all, member) : nullptr;
}
string_view CronWork::wanted_digest() const { return annotation_of(wanted.get_object(), mark::wanted_digest); }
Object& CronWork::status() { return json::ensure_object(wanted.get_object(), "status"); }
void CronWork::annotate(string_view name, string_view value) {
  json::ensure_path(wanted.get_object(), {"metadata", "annotations"})[name] = value;
}
void CronWork::write() {
  if (json::equal(Value(cron, turn.storage), wanted)) return;
  pass.add({.verb = Verb::update,
            .resource = import_crons_key,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = std::move(wanted)});
}

}  // namespace storage

Controller import_cron_controller() {
  return {.name = "dataimportcron",
          .resource = import_crons_key,
          .component = "dataimportcron-controller",
          .triggers = storage::cron_triggers,
          .sync = storage::sync_cron};
}

}  // namespace vg::controllers
