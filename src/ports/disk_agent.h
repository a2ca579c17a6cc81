// The abstract side of "the disks of this machine": images behind claims of the class `local`, image records (copies
// that are kept outside of any claim), and the jobs that fill, copy and remove them (spec copies STO-01..06).
//
// Controllers see a DiskView and ask for jobs (controllers/pass.h); the engine hands them to the DiskAgent and queues
// whom a change concerns. A job has an id that its asker chooses, the same for the same work: asking for a job that
// waits or runs changes nothing, asking for one that has failed is another attempt. After a restart of the server no
// job is known, and whoever still wants one asks again; what a job finished is known from the claim or record itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vg {

// --- what is known ---------------------------------------------------------------------------------------------------

struct DiskClaim {
  std::string uid = {};         // of the claim that the folder was made for
  std::int64_t capacity = 0;    // bytes
  std::int64_t image_size = 0;  // what a guest sees; 0: there is no image
  std::string filled_by = {};   // the id of the job that made the image; empty: no job did
  // What it holds, of what must not be lost: names of files and folders that are not empty, in order, with commas.
  std::string holds = {};
  bool operator==(const DiskClaim&) const = default;
};

struct ImageRecord {
  std::int64_t virtual_size = 0;
  std::chrono::system_clock::time_point created_at = {};
  bool ready = false;
  std::string error = {};
  bool operator==(const ImageRecord&) const = default;
};

enum class DiskJobState : std::uint8_t { waiting, running, succeeded, failed };

// What kind of failure it was, for those that are shown differently.
enum class DiskError : std::uint8_t {
  none,
  other,
  no_space,       // on the disk of this machine
  too_small,      // the image does not fit into the claim
  checksum,       // the bytes are not those that were promised
  pull,           // the registry did not hand the image out
  bad_image,      // no image that is taken
  not_installed,  // a program is missing on this machine
};

struct DiskJobStatus {
  DiskJobState state = DiskJobState::waiting;
  int progress = -1;  // in hundredths of a percent; -1: unknown
  DiskError error = DiskError::none;
  std::string message = {};                            // of the last failure
  std::string waits_for = {};                          // while it waits: a slot or a claim, in words
  int failures = 0;                                    // in a row, since this process knows the job
  std::chrono::system_clock::time_point changed = {};  // when the state became what it is
  // What the image says of itself: labels for the claim (spec storage DV-98).
  std::vector<std::pair<std::string, std::string>> labels = {};
  bool operator==(const DiskJobStatus&) const = default;
};

// Who works on a claim: jobs that write it (exclusive) and jobs that read it (shared). VMIs are not counted here.
struct DiskHold {
  std::string writer = {};  // the id of the job; empty: nobody
  int readers = 0;
};

class DiskView {
 public:
  virtual ~DiskView() = default;
  // What is there is known. Until then nobody may conclude anything from a claim or record that is missing.
  virtual bool ready() const = 0;
  virtual std::optional<DiskClaim> claim(std::string_view ns, std::string_view name) const = 0;
  virtual std::optional<ImageRecord> record(std::string_view name) const = 0;
  virtual std::optional<DiskJobStatus> job(std::string_view id) const = 0;
  virtual DiskHold hold(std::string_view ns, std::string_view name) const = 0;
};

// A machine without disks: nothing will ever be known.
class NoDisks final : public DiskView {
 public:
  bool ready() const override { return false; }
  std::optional<DiskClaim> claim(std::string_view, std::string_view) const override { return std::nullopt; }
  std::optional<ImageRecord> record(std::string_view) const override { return std::nullopt; }
  std::optional<DiskJobStatus> job(std::string_view) const override { return std::nullopt; }
  DiskHold hold(std::string_view, std::string_view) const override { return {}; }
};

// --- what can be asked for -------------------------------------------------------------------------------------------

struct DiskClaimName {
  std::string ns, name;
  auto operator<=>(const DiskClaimName&) const = default;
};

// Jobs about a claim, of which `claim` in DiskJob is the target.
struct CreateClaim {  // the folder, without an image; nothing when it is there
  std::int64_t capacity = 0;
};
struct ResizeClaim {  // never smaller; the image grows too if it filled the old size
  std::int64_t capacity = 0;
};
struct RemoveClaim {           // folder and image, whoever made them
  std::string retain_as = {};  // kept out of the way under this name; empty: removed for good
};
struct MakeBlankImage {
  std::int64_t size = 0;
  bool preallocate = false;
};
// Copies are written under another name and become the claim's image when they are whole. `size`: the image grows to
// this if it is smaller; 0: it stays as it is.
struct CopyClaim {
  DiskClaimName from;
  std::int64_t size = 0;
};
struct CopyFromRecord {
  std::string record;
  std::int64_t size = 0;
  bool adopt = false;  // it becomes the image and is no record any more: done at once
};
// A copy of a record beside it, which can be adopted. About no claim.
struct StageRecord {
  std::string record, as;
};
// What becomes of bytes that were fetched or sent.
struct ImageTarget {
  std::int64_t size = 0;     // of the image, which must fit
  bool archive = false;      // a tar archive, unpacked into the claim
  bool preallocate = false;  // reserve all of its room
};
struct ImportHttp {
  ImageTarget target;
  std::string url;
  std::string checksum = {};              // "sha256:..."; empty: none
  std::string user = {}, password = {};   // for this host alone
  std::vector<std::string> headers = {};  // "Name: value", for this host alone
  std::string authorities = {};           // PEM, beside the system's
  bool insecure = false;                  // any certificate will do
  std::string blocked = {};               // networks that it is not fetched from; the agent knows them
};
struct ImportRegistry {
  ImageTarget target;
  std::string url;  // docker://host/repository:tag
  std::string user = {}, password = {};
  std::string authorities = {};
  std::string architecture = {};  // of an index; empty: this machine's
  bool insecure = false;
  std::string blocked = {};
};
// Which version of an image a registry has now: a label "digest" of the job. About no claim; `claim_uid` names its
// folder meanwhile.
struct ReadDigest {
  ImportRegistry from;
};
// The bytes are in the claim's folder under the name of an upload (DiskAgent::upload_file).
struct ConvertUpload {
  ImageTarget target;
};
// The claim is read: its image becomes the record.
struct TakeRecord {
  std::string record;
};
struct RemoveRecord {
  std::string record;
};

using DiskWork =
    std::variant<CreateClaim, ResizeClaim, RemoveClaim, MakeBlankImage, CopyClaim, CopyFromRecord, ImportHttp,
                 ImportRegistry, ConvertUpload, TakeRecord, RemoveRecord, ReadDigest, StageRecord>;

struct DiskJob {
  std::string id;
  DiskClaimName claim = {};    // empty for RemoveRecord; a namespace alone for ReadDigest and StageRecord
  std::string claim_uid = {};  // jobs for a claim that was replaced meanwhile fail
  DiskWork work;
};

// Something became different: of a job, of a claim, or of both. Neither: all of it may be, as after the start.
struct DiskChange {
  std::string job = {};
  DiskClaimName claim = {};
};

class DiskAgent : public DiskView {
 public:
  virtual void start(DiskJob job) = 0;
  // Whatever it has written is removed. Nothing when there is no such job, or when it is over.
  virtual void cancel(std::string_view id) = 0;
  // What has changed since the last call; at the start, and after the agent was lost, all claims and records are news.
  virtual std::vector<DiskChange> take_changes() = 0;
  // Called on any thread whenever take_changes() has something; null: nobody.
  virtual void on_change(std::function<void()> changed) = 0;
};

}  // namespace vg
