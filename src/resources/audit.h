// The audit log: one line for every request that changed something, was refused, or read a secret: an Event of
// audit.k8s.io/v1 at the level Metadata, as kube-apiserver writes them and collectors read them.
//
// Four logs with a share of the room each, so that what anybody can cause never pushes out what only few can:
//
//   audit.log           what changed something
//   audit-busy.log      what changed something, of users who do so very often: everything is recorded, but who may
//   write
//                       a lot to their own objects must not push out what others did; audit.log says how many there are
//   audit-reads.log     reads of Secrets (also by a dry run) and opened consoles; the same one again and again is
//   summed up audit-attempts.log  what changed nothing: refusals, failed authentication, requests that failed, dry
//   runs, access
//                       reviews; limited by user (failed authentication by source address) and summed up in a flood:
//                       such an event has the annotation virtgate.io/summary and others with the counts
//
// Lines are collected in memory and written together by a thread of its own, at the latest after flush_interval: a
// write of its own for each would cost more than the request, and a loop must not wait for the disk. Where the log is
// required, a change's line is with the kernel before the answer. A file that is full is renamed to NAME.1, the one
// before to NAME.2 and so on; those that are too many or too old go. With a policy (audit_policy.h) this decides what
// is recorded and how much of it, and the list above in which log; reads that are not sensitive are in audit-reads.log,
// too. What the disk refuses stays in memory, up to a bound; what is lost beyond it is counted, and the log says so
// once it is written again.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/core.h"
#include "base/flusher.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "base/status.h"
#include "base/task.h"
#include "catalog/request_info.h"
#include "objects/object_request.h"
#include "objects/wakeup.h"
#include "resources/audit_limiter.h"
#include "resources/audit_policy.h"

namespace vg::resources {

enum class AuditKind : std::uint8_t { change, read, attempt };

// Which log a request belongs to; nothing for what is not recorded. `code` is 0 when it is not known how it ended.
std::optional<AuditKind> audit_kind(const RequestInfo& info, bool allowed, int code, const Deed& deed = {});
bool is_write(std::string_view verb);
// A read that shows what must not be seen by many: Secrets, and the consoles, displays and ports of guests.
bool is_sensitive_read(const RequestInfo& info);

struct AuditEntry {
  std::string_view received, time;  // when it came, and when it was answered
  std::string_view request_id;
  std::string_view uri = {};  // path and query
  std::string_view user;
  std::span<const std::string> groups = {};
  std::string_view impersonated_by = {};  // empty: nobody
  std::string_view address = {}, agent = {};
  std::string_view verb;
  bool resource_request = true;
  std::string_view group = {}, version = {}, resource = {}, subresource = {}, ns = {}, name = {}, uid = {};
  int code = 0;  // 0: no answer yet, or none any more
  bool allowed = true;
  std::string_view reason = {};                                           // the authorizer's
  std::span<const std::pair<std::string, std::string>> annotations = {};  // of admission policies
  AuditLevel level = AuditLevel::metadata;
  bool complete = true;                                        // false: as it was received, because a policy says so
  std::string_view request_object = {}, response_object = {};  // JSON that may be recorded (recorded_body)
  bool truncated = false;                                      // a body was left out because it is too long
};

// A request that said who it is from and was not believed, or did not say. Never with what it brought as proof.
struct FailedAuthenticationEntry {
  std::string_view request_id;
  std::string_view address;
  std::string_view credential;  // its kind
  std::string_view method, path;
  std::string_view reason;
};

// Where requests are recorded.
class Audit {
 public:
  virtual ~Audit() = default;
  // From any thread.
  virtual void write(AuditKind kind, const AuditEntry& entry) = 0;
  // 503 while a change must not happen because it could not be recorded.
  virtual Result<void> takes_changes() const = 0;
  // Before a change is answered: what write() was told is with the kernel, where that is asked for.
  virtual Task<void> settled(Core& /*core*/) { co_return; }
  // Null: what is recorded follows from audit_kind() alone, at the level Metadata.
  virtual const AuditPolicy* policy() const { return nullptr; }
};

// When files are begun and go, where that is told; else the room for all decides.
struct AuditRotation {
  std::size_t file_bytes = 0;    // 0: an eighth of a log's share of the room
  std::size_t backups = 0;       // full files of each log that are kept; 0: seven
  std::chrono::days age_max{0};  // of a full file; 0: any
};

class AuditLog final : public Audit {
 public:
  struct Options {
    std::string folder;
    std::size_t bytes_max = bytes_max_default;  // of all files together
    bool required = false;                      // a change that cannot be recorded must not happen
    std::optional<AuditPolicy> policy = {};
    AuditRotation rotation = {};
    const Clock& clock;
    metrics::Registry* metrics = nullptr;
  };
  static constexpr std::size_t bytes_max_default = std::size_t{1024} * 1024 * 1024;
  static constexpr std::size_t bytes_max_least = std::size_t{32} * 1024 * 1024;
  static constexpr std::size_t files = 8;  // of each log, so that one eighth of the room goes at a time
  static constexpr std::size_t buffer_bytes_max = limits::audit_buffer_bytes_max;
  static constexpr std::size_t waiting_bytes_max = limits::audit_waiting_bytes_max;  // while the disk refuses
  static constexpr std::chrono::milliseconds flush_interval{250};

  // Creates or continues the files, mode 0600. Refuses what is no plain file.
  static Result<std::unique_ptr<AuditLog>> open(const Options& options);
  ~AuditLog() override;
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void write(AuditKind kind, const AuditEntry& entry) override;
  void write(const FailedAuthenticationEntry& entry);
  // Everything that waits, with the summaries that are due.
  void flush();
  // The same with all summaries: nothing comes any more.
  void finish();
  // A thread flushes every flush_interval from here on; before that, whoever writes the line that is one too many.
  void keep_flushing();

  // Why lines cannot be written, in words for anybody; nothing while they can.
  std::optional<std::string> problem() const;
  bool required() const { return options_.required; }
  Result<void> takes_changes() const override;
  Task<void> settled(Core& core) override;
  const AuditPolicy* policy() const override { return options_.policy ? &*options_.policy : nullptr; }

 private:
  class File;
  explicit AuditLog(const Options& options);
  static AuditRotation rotation_of(const Options& options, std::size_t share);
  File& log(AuditKind kind) const { return *logs_[static_cast<std::size_t>(kind)]; }
  File& busy() const { return *logs_.back(); }
  void append(File& file, std::string_view line);
  bool is_stalled() const;
  void summarize(bool all);
  bool exceeds(AuditLimiter& limiter, AuditSubject subject, bool allowed);
  bool sums_up(AuditLimiter& limiter, AuditSubject subject, bool allowed);

  const Options options_;
  std::array<std::unique_ptr<File>, 4> logs_;
  mutable std::mutex limiters_mutex_;
  AuditLimiter writers_, users_, addresses_, reads_;
  metrics::Counter* summed_up_ = nullptr;
  std::mutex waiting_mutex_;
  std::vector<std::shared_ptr<Wakeup>> waiting_;  // for the next flush
  std::optional<Flusher> flusher_;                // last: it uses all of the above
};

}  // namespace vg::resources
