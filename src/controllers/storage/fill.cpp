#include "controllers/storage/fill.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/controller_limits.h"
#include "controllers/common/owners.h"
#include "controllers/storage/facts.h"
#include "controllers/storage/import_work.h"
#include "controllers/storage/promise.h"
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
     {"clone", mark::clone_pod, "Clone Complete", "CloneSucceeded", "", "CloneTargetInUse"}}};

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
    if (status && !status->waits_for.empty())  // of what it says of earlier attempts, this is the news
      work.show_running("false", "ContainerCreating", fmt::format("waiting for {}", status->waits_for));
    return;
  }
  work.marks.annotate(work.word().pod_mark, pod_name(work));
  work.marks.annotate(mark::pod_phase, "Running");
  work.show_running("true", "Pod is running", "");
}

void ask_for(Work& work, Identity identity, DiskWork what) {
  WantedJob wanted{.identity = std::move(identity),
                   .job = {.id = work.id(),
                           .claim = {.ns = work.turn.key.ns, .name = work.turn.key.name},
                           .claim_uid = std::string(work.uid()),
                           .work = std::move(what)}};
  const auto status = work.turn.world.disks().job(work.id());
  if (work.way != Way::clone || !wanted.identity.user() || !status || status->state != DiskJobState::waiting)
    return ask(work.pass, work.turn, std::move(wanted));
  // Whether they may have the data is asked again as long as it waits for its turn: it may take long.
  work.pass.jobs.push_back(std::move(wanted));
  work.pass.look_again(look_interval);
}

// In use by a VMI: the job waits, and is tried again (4.7).
bool waits_for_vmi(Work& work, std::string_view event, std::string_view ns, std::string_view claim) {
  if (!used_by_placed_vmi(work.turn.world, ns, claim)) return false;
  work.pass.tell(EventType::warning, event, fmt::format("PVC \"{}\" is in use by a VMI", claim));
  work.pass.look_again(look_interval);
  return true;
}

// What another job put there may be all that there is of it. An image that no job is noted for is what an attempt that
// was killed left behind, and a blank one never takes the place of anything.
bool holds_another_image(Work& work) {
  if (annotation_of(work.claim, mark::import_source) == "none") return false;
  if (work.disk.image_size == 0 || work.disk.filled_by.empty() || work.disk.filled_by == work.id()) return false;
  const std::string why = fmt::format(
      "PVC \"{}\" has an image already, which is not replaced; create a DataVolume of another name for the new one",
      work.turn.key.name);
  work.pass.tell(EventType::warning, "TargetNotEmpty", why);
  show_waiting(work, "TargetNotEmpty", why);
  return true;
}

// Whether nothing may be written to the target now: of the first attempt and of each one after it.
bool is_target_taken(Work& work, const std::optional<DiskJobStatus>& status) {
  if (status && status->state == DiskJobState::running) return false;
  if (!holds_another_image(work) &&
      !waits_for_vmi(work, work.word().in_use_event, work.turn.key.ns, work.turn.key.name))
    return false;
  if (status && status->state == DiskJobState::waiting) work.pass.unwanted_jobs.push_back(work.id());
  return true;
}

void import(Work& work) {
  const auto status = work.turn.world.disks().job(work.id());
  if (status && status->state == DiskJobState::running) return show_job(work, status);
  if (is_target_taken(work, status)) return;
  auto what = import_work(work.turn.world, work.claim, work.target());
  if (!what) {
    show_waiting(work, "CreateContainerConfigError", what.error());
    work.pass.look_again(look_interval);
    return;
  }
  show_job(work, status);
  ask_for(work, Identity::own(), std::move(*what));
}

// UPL-01, UPL-02. The job is asked for by whoever received the bytes.
void upload(Work& work) {
  const auto status = work.turn.world.disks().job(work.id());
  if (status && status->state == DiskJobState::failed) return show_failure(work, *status);
  if (waits_for_vmi(work, work.word().in_use_event, work.turn.key.ns, work.turn.key.name)) {
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

constexpr std::string_view not_allowed_reason = "CloneNotAllowed";

// Nothing that is still to come, or is missing: a plain claim holds whatever it holds.
bool is_populated(const World& world, const json::Object* claim, const std::optional<DiskClaim>& disk) {
  if (!claim || !disk || promise_of(world, *claim).state == Promise::State::lost) return false;
  const std::string job = filling_job(*claim);
  return job.empty() || disk->filled_by == job || disk->image_size > 0;
}

// DV-104, DV-105, DV-107
void clone(Work& work) {
  const std::string_view request = annotation_of(work.claim, mark::clone_request);
  const std::size_t slash = request.find('/');
  if (slash == std::string_view::npos) return;
  const std::string ns(request.substr(0, slash)), name(request.substr(slash + 1));
  // Annotations and owner references prove nothing, for anybody who may write claims writes them: whom the server has
  // written down counts, and the engine asks whether they may have the data before the job begins (DV-25).
  Identity asker = Identity::asker_of(work.claim, request);
  if (ns != work.turn.key.ns && !asker.user())
    return show_waiting(
        work, not_allowed_reason,
        fmt::format("nobody is known who asked for the data of namespace \"{}\"; delete the PVC, and create a "
                    "DataVolume that names the source",
                    ns));
  const auto status = work.turn.world.disks().job(work.id());
  if (is_target_taken(work, status)) return;
  const json::Object* source = work.turn.world.get(kinds::claim, ns, name);
  const auto disk = source ? disk_of(work.turn.world, *source) : std::nullopt;
  const bool begun = status && status->state != DiskJobState::waiting;
  if (!begun && (!is_populated(work.turn.world, source, disk) || waits_for_vmi(work, "CloneSourceInUse", ns, name))) {
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
  ask_for(work, std::move(asker), CopyClaim{.from = {.ns = ns, .name = name}, .size = room});
}

// The claim, if it is for this way to fill it.
std::optional<Work> work_of(const Turn& turn, Way way) {
  const json::Object* claim = turn.world.get(kinds::claim, turn.key.ns, turn.key.name);
  if (!claim || way_of(*claim) != way || is_being_deleted(*claim) || !turn.world.disks().ready()) return std::nullopt;
  if (phase_of(*claim) != "Bound" || annotation_of(*claim, mark::pod_phase) == "Succeeded" ||
      has_annotation(*claim, mark::fatal_error))
    return std::nullopt;
  const auto disk = disk_of(turn.world, *claim);
  if (!disk) return std::nullopt;
  return Work{.turn = turn, .claim = *claim, .way = way, .disk = *disk};
}

Pass written(Work& work) {
  if (auto effect = work.marks.effect(kinds::claim, work.turn.storage)) work.pass.add(std::move(*effect));
  return std::move(work.pass);
}

Pass sync_way(const Turn& turn, Way way) {
  auto found = work_of(turn, way);
  if (!found) return {.complete = true};
  Work& work = *found;
  work.pass.complete = true;
  const auto job = turn.world.disks().job(work.id());
  if (work.disk.filled_by == work.id() && job && job->state == DiskJobState::running)
    return {.complete = true};  // its last word comes
  if (work.disk.filled_by == work.id())
    show_done(work);
  else if (way == Way::import)
    import(work);
  else if (way == Way::upload)
    upload(work);
  else
    clone(work);
  return written(work);
}

Pass sync_import(const Turn& turn) { return sync_way(turn, Way::import); }
Pass sync_upload(const Turn& turn) { return sync_way(turn, Way::upload); }
Pass sync_clone(const Turn& turn) { return sync_way(turn, Way::clone); }

// Whoever asked for the data may not have it. They may be given the permission, so it is tried again.
Pass finish_clone(const Turn& turn, const Pass& /*before*/, const Carried& carried) {
  auto work = carried.error && carried.error->reason == job_not_allowed ? work_of(turn, Way::clone) : std::nullopt;
  if (!work) return {};
  show_waiting(*work, not_allowed_reason, carried.error->message);
  return written(*work);
}

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
          .sync = storage::sync_clone,
          .finish = storage::finish_clone};
}

}  // namespace vg::controllers
