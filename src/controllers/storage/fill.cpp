#include "controllers/storage/fill.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/controller_limits.h"
#include "controllers/common/owners.h"
#include "controllers/storage/facts.h"
#include "controllers/storage/import_work.h"
#include "controllers/storage/render.h"
#include "json/access.h"

namespace vg::controllers {
namespace storage {
namespace {

// What waits for something of which nobody tells, such as a Secret, looks again after this.
constexpr std::chrono::seconds look_interval{2};

enum class Way : std::uint8_t { none, import, upload, clone };

// UPL-03: a claim that is to be filled in two ways is filled in none.
Way way_of(const json::Object& claim) {
  const bool upload = has_annotation(claim, mark::upload_target), clone = has_annotation(claim, mark::clone_request);
  const bool import = has_annotation(claim, mark::import_source) || has_annotation(claim, mark::import_endpoint);
  if (upload + clone + import != 1) return Way::none;
  return upload ? Way::upload : clone ? Way::clone : Way::import;
}

// What differs between the ways, one row each.
struct Words {
  std::string_view job;       // the beginning of the job's id
  std::string_view pod_mark;  // where the name of the job is told
  std::string_view done_message, done_event, failed_event, in_use_event;
};
constexpr std::array<Words, 4> words{
    {{},
     {"import", mark::import_pod, "Import Complete", "ImportSucceeded", "ErrImportFailed", "ImportTargetInUse"},
     {"upload", mark::upload_pod, "Upload Complete", "UploadSucceeded", "", "UploadTargetInUse"},
     {"clone", mark::clone_pod, "Clone Complete", "CloneSucceeded", "", "CloneSourceInUse"}}};

// DV-89, DV-92
ImageTarget target_of(const json::Object& claim, const DiskClaim& disk, const json::Object* cdi_config) {
  const json::Object* spec = spec_of(claim);
  const double overhead =
      overhead_in(cdi_config, spec ? json::get_string_or(*spec, "storageClassName") : std::string_view());
  return {.size = image_bytes(claim, disk.capacity, overhead),
          .archive = annotation_of(claim, mark::content_type) == "archive",
          .preallocate = annotation_of(claim, mark::preallocation_wanted) == "true"};
}

struct Work {
  const Turn& turn;
  const json::Object& claim;
  Way way;
  DiskClaim disk;
  Marks marks{claim};
  Pass pass = {};

  const Words& word() const { return words[static_cast<std::size_t>(way)]; }
  std::string_view uid() const { return metadata_text(claim, "uid"); }
  std::string id() const { return fmt::format("{}-{}", word().job, uid()); }
  ImageTarget target() const { return target_of(claim, disk, turn.world.get(cdi_configs, "", cdi_config_name)); }
  void show_running(std::string_view status, std::string_view reason, std::string_view message) {
    marks.annotate(mark::running, status);
    marks.annotate(mark::running_reason, reason);
    marks.annotate(mark::running_message, message);
  }
};

std::string pod_name(const Work& work) {
  switch (work.way) {
    case Way::import:
      return fmt::format("importer-{}", work.turn.key.name);
    case Way::upload:
      return fmt::format("cdi-upload-{}", work.turn.key.name);
    default:
      return fmt::format("{}-source-pod", work.uid());
  }
}

int restarts_of(const json::Object& claim) {
  const std::string_view text = annotation_of(claim, mark::pod_restarts);
  int count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

void show_done(Work& work) {
  work.marks.annotate(mark::pod_phase, "Succeeded");
  work.marks.annotate(mark::pod_ready, "false");
  work.marks.annotate(work.word().pod_mark, pod_name(work));
  work.show_running("false", "Completed", work.word().done_message);
  if (work.way == Way::clone) work.marks.annotate(mark::clone_of, "true");
  if (work.target().preallocate) work.marks.annotate(mark::preallocation, "true");
  if (const auto status = work.turn.world.disks().job(work.id()))  // DV-98
    for (const auto& [name, value] : status->labels)
      if (label_of(work.claim, name).empty()) work.marks.label(name, value);
  work.pass.tell(EventType::normal, work.word().done_event, std::string(work.word().done_message));
}

// A failure counts once, however often it is looked at.
bool count_failure(Work& work, const DiskJobStatus& status) {
  const std::string when = fmt::to_string(status.changed.time_since_epoch().count());
  if (annotation_of(work.claim, mark::counted_failure) == when) return false;
  work.marks.annotate(mark::counted_failure, when);
  work.marks.annotate(mark::pod_restarts, fmt::to_string(restarts_of(work.claim) + 1));
  return true;
}

// DV-99
std::string_view reason_of(const DiskJobStatus& status) {
  if (status.error == DiskError::checksum) return "ChecksumError";
  return status.error == DiskError::pull ? "ImagePullFailed" : "Error";
}

// DV-75, DV-84
void show_failure(Work& work, const DiskJobStatus& status) {
  const bool is_new = count_failure(work, status);
  work.show_running("false", reason_of(status), status.message);
  if (status.error == DiskError::checksum) {
    work.marks.annotate(mark::fatal_error, "true");
    work.marks.annotate(mark::pod_phase, "Failed");
  } else if (work.way == Way::upload) {
    work.marks.annotate(mark::pod_phase, "Running");
    work.marks.annotate(mark::pod_ready, "true");
  } else if (work.way == Way::clone) {
    work.marks.annotate(mark::pod_phase, "Failed");
  }
  if (is_new && !work.word().failed_event.empty())
    work.pass.tell(EventType::warning, work.word().failed_event, status.message);
}

void show_waiting(Work& work, std::string_view reason, std::string_view message) {
  work.marks.annotate(work.word().pod_mark, pod_name(work));
  if (annotation_of(work.claim, mark::pod_restarts).empty()) work.marks.annotate(mark::pod_restarts, "0");
  work.marks.annotate(mark::pod_phase, "Pending");
  work.show_running("false", reason, message);
}

void show_job(Work& work, const std::optional<DiskJobStatus>& status) {
  if (status && status->state == DiskJobState::failed) return show_failure(work, *status);
  if (!status || status->state == DiskJobState::waiting) {
    if (annotation_of(work.claim, mark::pod_phase).empty()) show_waiting(work, "ContainerCreating", "");
    return;
  }
  work.marks.annotate(work.word().pod_mark, pod_name(work));
  work.marks.annotate(mark::pod_phase, "Running");
  work.show_running("true", "Pod is running", "");
}

void ask_for(Work& work, DiskWork what) {
  ask(work.pass, work.turn,
      {.id = work.id(),
       .claim = {.ns = work.turn.key.ns, .name = work.turn.key.name},
       .claim_uid = std::string(work.uid()),
       .work = std::move(what)});
}

// In use by a VMI: the job waits, and is tried again (4.7).
bool waits_for_vmi(Work& work, std::string_view ns, std::string_view claim) {
  if (!used_by_placed_vmi(work.turn.world, ns, claim)) return false;
  work.pass.tell(EventType::warning, work.word().in_use_event, fmt::format("PVC \"{}\" is in use by a VMI", claim));
  work.pass.look_again(look_interval);
  return true;
}

void import(Work& work) {
  const auto status = work.turn.world.disks().job(work.id());
  if (!status && waits_for_vmi(work, work.turn.key.ns, work.turn.key.name)) return;
  if (status && status->state == DiskJobState::running) return show_job(work, status);
  auto what = import_work(work.turn.world, work.claim, work.target());
  if (!what) {
    show_waiting(work, "CreateContainerConfigError", what.error());
    work.pass.look_again(look_interval);
    return;
  }
  show_job(work, status);
  ask_for(work, std::move(*what));
}

// UPL-01, UPL-02. The job is asked for by whoever received the bytes.
void upload(Work& work) {
  const auto status = work.turn.world.disks().job(work.id());
  if (status && status->state == DiskJobState::failed) return show_failure(work, *status);
  if (waits_for_vmi(work, work.turn.key.ns, work.turn.key.name)) {
    // It may have been ready before the VMI was there: nothing is received while a guest writes to it.
    if (annotation_of(work.claim, mark::pod_ready) == "true") work.marks.annotate(mark::pod_ready, "false");
    return;
  }
  work.marks.annotate(mark::upload_pod, pod_name(work));
  work.marks.annotate(mark::pod_phase, "Running");
  work.marks.annotate(mark::pod_ready, "true");
  if (annotation_of(work.claim, mark::pod_restarts).empty()) work.marks.annotate(mark::pod_restarts, "0");
  work.show_running("true", "Pod is running", "");
}

// Whether whoever made the claim may have the data of another namespace (DV-25). Annotations and owner references prove
// nothing: anybody who may create claims can write them. The DataVolume does: its spec cannot change, and who made it
// was asked for permission on the namespaces that it names.
bool may_clone_from(const Work& work, std::string_view ns, std::string_view name) {
  if (ns == work.turn.key.ns) return true;
  const json::Object* owner = controller_reference(work.claim);
  const json::Object* dv =
      owner ? work.turn.world.get(kinds::data_volume, work.turn.key.ns, json::get_string_or(*owner, "name")) : nullptr;
  if (!dv || !is_controlled_by(work.claim, metadata_text(*dv, "uid"))) return false;
  const json::Object* spec = spec_of(*dv);
  const json::Object* reference = spec ? json::get_object(*spec, "sourceRef") : nullptr;
  const json::Object* source = spec ? json::get_object(*spec, "source") : nullptr;
  const json::Object* pvc = source ? json::get_object(*source, "pvc") : nullptr;
  if (reference) return json::get_string_or(*reference, "namespace") == ns;
  return pvc && json::get_string_or(*pvc, "namespace") == ns && json::get_string_or(*pvc, "name") == name;
}

// Nothing that is still to come: a plain claim holds whatever it holds.
bool is_populated(const json::Object* claim, const std::optional<DiskClaim>& disk) {
  if (!claim || !disk) return false;
  const std::string job = filling_job(*claim);
  return job.empty() || disk->filled_by == job || disk->image_size > 0;
}

// DV-104, DV-105, DV-107
void clone(Work& work) {
  const std::string_view request = annotation_of(work.claim, mark::clone_request);
  const std::size_t slash = request.find('/');
  if (slash == std::string_view::npos) return;
  const std::string ns(request.substr(0, slash)), name(request.substr(slash + 1));
  if (!may_clone_from(work, ns, name))
    return show_waiting(
        work, "CloneNotAllowed",
        fmt::format("the data of namespace \"{}\" can be cloned only by a DataVolume that names it, or a "
                    "DataSource in it; create one",
                    ns));
  const auto status = work.turn.world.disks().job(work.id());
  const json::Object* source = work.turn.world.get(kinds::claim, ns, name);
  const auto disk = source ? disk_of(work.turn.world, *source) : std::nullopt;
  const bool begun = status && status->state != DiskJobState::waiting;
  if (!begun && (!is_populated(source, disk) || waits_for_vmi(work, ns, name))) {
    if (status) work.pass.unwanted_jobs.push_back(work.id());  // the source was taken while it waited for its turn
    work.pass.look_again(look_interval);
    return show_waiting(work, "ContainerCreating", "");
  }
  const std::int64_t room = work.target().size;
  if (disk && disk->image_size > room && !parses_as_true(annotation_of(work.claim, mark::permissive_clone))) {
    work.pass.tell(EventType::warning, "ErrIncompatiblePVC", "the source is larger than the target");
    return;
  }
  show_job(work, status);
  ask_for(work, CopyClaim{.from = {.ns = ns, .name = name}, .size = room});
}

Pass sync_way(const Turn& turn, Way way) {
  const json::Object* claim = turn.world.get(kinds::claim, turn.key.ns, turn.key.name);
  if (!claim || way_of(*claim) != way || is_being_deleted(*claim) || !turn.world.disks().ready()) return {};
  if (phase_of(*claim) != "Bound" || annotation_of(*claim, mark::pod_phase) == "Succeeded" ||
      has_annotation(*claim, mark::fatal_error))
    return {};
  const auto disk = disk_of(turn.world, *claim);
  if (!disk) return {};
  Work work{.turn = turn, .claim = *claim, .way = way, .disk = *disk};
  const auto job = turn.world.disks().job(work.id());
  if (disk->filled_by == work.id() && job && job->state == DiskJobState::running) return {};  // its last word comes
  if (disk->filled_by == work.id())
    show_done(work);
  else if (way == Way::import)
    import(work);
  else if (way == Way::upload)
    upload(work);
  else
    clone(work);
  if (auto effect = work.marks.effect(kinds::claim, turn.storage)) work.pass.add(std::move(*effect));
  return std::move(work.pass);
}

Pass sync_import(const Turn& turn) { return sync_way(turn, Way::import); }
Pass sync_upload(const Turn& turn) { return sync_way(turn, Way::upload); }
Pass sync_clone(const Turn& turn) { return sync_way(turn, Way::clone); }

constexpr std::array triggers = std::to_array<Trigger>({{kinds::vmi, claims_of_vmi}});

}  // namespace

std::string filling_job(const json::Object& claim) {
  const Way way = way_of(claim);
  if (way == Way::none) return {};
  return fmt::format("{}-{}", words[static_cast<std::size_t>(way)].job, metadata_text(claim, "uid"));
}

ImageTarget upload_target_of(const json::Object& claim, const DiskClaim& disk, const json::Object* cdi_config) {
  return target_of(claim, disk, cdi_config);
}

}  // namespace storage

Controller import_controller() {
  return {.name = "import",
          .resource = kinds::claim,
          .component = "import-controller",
          .triggers = storage::triggers,
          .sync = storage::sync_import};
}

Controller upload_controller() {
  return {.name = "upload",
          .resource = kinds::claim,
          .component = "upload-controller",
          .triggers = storage::triggers,
          .sync = storage::sync_upload};
}

Controller clone_controller() {
  return {.name = "clone",
          .resource = kinds::claim,
          .component = "clone-controller",
          .triggers = storage::triggers,
          .sync = storage::sync_clone};
}

}  // namespace vg::controllers
