#include "resources/audit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "actions/action.h"
#include "base/audit_limits.h"
#include "base/budgets.h"
#include "base/json_text.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/store_limits.h"
#include "base/time_rfc3339.h"

namespace vg::resources {
namespace {

constexpr int retry_after_seconds = 5;

struct Log {
  std::string_view file;
  std::size_t share;  // of all room, in eighths
};
// In the order of AuditKind, and the busy ones.
constexpr std::array<Log, 4> logs = {
    {{"audit.log", 3}, {"audit-reads.log", 2}, {"audit-attempts.log", 1}, {"audit-busy.log", 2}}};
constexpr std::size_t shares = 8;

std::string time_text(Clock::Wall time) { return print_rfc3339_micro(Timestamp::from(time)); }

// An Event as it is written: members in kube-apiserver's order, texts of users cut and escaped.
class EventLine {
 public:
  EventLine(std::string_view id, std::string_view stage, AuditLevel level = AuditLevel::metadata) {
    line_.reserve(768);
    line_ = R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":")";
    line_ += text_of(level);
    line_ += R"(","auditID":)";
    append_json_string(line_, id, limits::audit_text_bytes_max);
    member("stage", stage);
  }

  void member(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    key(name);
    append_json_string(line_, value, limits::audit_text_bytes_max);
  }
  // JSON as it is.
  void object(std::string_view name, std::string_view json) {
    if (json.empty()) return;
    key(name);
    line_ += json;
  }
  void list(std::string_view name, std::span<const std::string> values) {
    if (values.empty()) return;
    key(name);
    line_ += '[';
    for (std::size_t i = 0; i < std::min(values.size(), limits::audit_groups_max); ++i) {
      if (i > 0) line_ += ',';
      append_json_string(line_, values[i], limits::audit_text_bytes_max);
    }
    line_ += ']';
  }
  void open(std::string_view name) {
    key(name);
    line_ += '{';
    first_ = true;
  }
  void close() {
    line_ += '}';
    first_ = false;
  }
  void code(int code) {
    if (code > 0)
      fmt::format_to(std::back_inserter(line_), FMT_COMPILE(R"(,"responseStatus":{{"metadata":{{}},"code":{}}})"),
                     code);
  }
  void annotation(std::string_view name, std::uint64_t count) {
    if (count > 0) member(name, fmt::format("{}", count));
  }
  std::string take() {
    line_ += "}\n";
    return std::move(line_);
  }

 private:
  void key(std::string_view name) {
    if (!std::exchange(first_, false)) line_ += ',';
    append_json_string(line_, name);
    line_ += ':';
  }

  std::string line_;
  bool first_ = false;
};

void add_user(EventLine& line, std::string_view member, std::string_view name, std::span<const std::string> groups) {
  line.open(member);
  line.member("username", name);
  line.list("groups", groups);
  line.close();
}

void add_object(EventLine& line, const AuditEntry& entry) {
  if (!entry.resource_request) return;
  line.open("objectRef");
  line.member("resource", entry.resource);
  line.member("namespace", entry.ns);
  line.member("name", entry.name);
  line.member("uid", entry.uid);
  line.member("apiGroup", entry.group);
  line.member("apiVersion", entry.version);
  line.member("subresource", entry.subresource);
  line.close();
}

std::string line_of(const AuditEntry& entry) {
  const int code = entry.complete ? entry.code : 0;
  EventLine line(entry.request_id, code > 0 ? "ResponseComplete" : "RequestReceived", entry.level);
  line.member("requestURI", entry.uri);
  line.member("verb", entry.verb);
  const bool acts_as = !entry.impersonated_by.empty();
  if (acts_as) add_user(line, "user", entry.impersonated_by, {});
  add_user(line, acts_as ? "impersonatedUser" : "user", entry.user, entry.groups);
  const std::string address(entry.address);
  if (!address.empty()) line.list("sourceIPs", {&address, 1});
  line.member("userAgent", entry.agent);
  add_object(line, entry);
  line.code(code);
  line.object("requestObject", entry.request_object);
  if (entry.complete) line.object("responseObject", entry.response_object);
  line.member("requestReceivedTimestamp", entry.received);
  line.member("stageTimestamp", entry.time);
  line.open("annotations");
  line.member("authorization.k8s.io/decision", entry.allowed ? "allow" : "forbid");
  line.member("authorization.k8s.io/reason", entry.reason);
  if (entry.truncated) line.member("audit.k8s.io/truncated", "true");
  for (const auto& [key, value] : entry.annotations) line.member(key, value);
  line.close();
  return line.take();
}

// What a summary counts, by the names of its annotations.
struct SummaryNames {
  std::string_view who;  // "user" or "address"
  std::string_view refused, allowed;
};

std::string line_of(const AuditSummary& summary, Clock::Wall now, const SummaryNames& names) {
  EventLine line(fmt::format("summary-{}", now.time_since_epoch().count()), "ResponseComplete");
  const bool by_user = names.who == "user";
  if (by_user) add_user(line, "user", summary.who, {});
  if (!by_user) line.list("sourceIPs", {&summary.who, 1});
  line.member("requestReceivedTimestamp", time_text(summary.first));
  line.member("stageTimestamp", time_text(summary.last));
  line.open("annotations");
  line.member("virtgate.io/summary", "true");
  line.member("virtgate.io/what", summary.what);
  line.annotation(fmt::format("virtgate.io/{}", names.refused), summary.refused);
  line.annotation(fmt::format("virtgate.io/{}", names.allowed), summary.allowed);
  line.close();
  return line.take();
}

std::string line_of(const FailedAuthenticationEntry& entry, Clock::Wall now) {
  EventLine line(entry.request_id, "ResponseComplete");
  line.member("requestURI", entry.path);
  line.member("verb", entry.method);
  const std::string address(entry.address);
  line.list("sourceIPs", {&address, 1});
  line.code(401);
  line.member("stageTimestamp", time_text(now));
  line.open("annotations");
  line.member("authorization.k8s.io/decision", "unauthenticated");
  line.member("authorization.k8s.io/reason", entry.reason);
  line.member("virtgate.io/credential", entry.credential);
  line.close();
  return line.take();
}

std::string lost_line(std::uint64_t lost, Clock::Wall now) {
  EventLine line(fmt::format("lost-{}", now.time_since_epoch().count()), "ResponseComplete");
  line.member("stageTimestamp", time_text(now));
  line.open("annotations");
  line.annotation("virtgate.io/lost", lost);
  line.close();
  return line.take();
}

// An IPv6 client has at least 2^64 addresses of its own: they count as one.
std::string source_of(std::string_view address) {
  std::string text(address);
  in6_addr parts{};
  if (::inet_pton(AF_INET6, text.c_str(), &parts) != 1 || IN6_IS_ADDR_V4MAPPED(&parts)) return text;
  std::fill(std::begin(parts.s6_addr) + 8, std::end(parts.s6_addr), 0);
  std::array<char, INET6_ADDRSTRLEN> network{};
  if (!::inet_ntop(AF_INET6, &parts, network.data(), network.size())) return text;
  return fmt::format("{}/64", network.data());
}

bool asks_secrets(const RequestInfo& info) { return info.group.empty() && info.resource == "secrets"; }

AuditLimiter::Options limits_of(double burst, double lines_per_second, bool full_table_limits) {
  return {.burst = burst,
          .lines_per_second = lines_per_second,
          .summary_interval = budgets::audit_summary_interval,
          .subjects_max = budgets::audit_subjects_max,
          .full_table_limits = full_table_limits};
}

}  // namespace

// --- what is recorded ------------------------------------------------------------------------------------------------

bool is_write(std::string_view verb) {
  return verb == "create" || verb == "update" || verb == "patch" || verb == "delete" || verb == "deletecollection";
}

bool is_sensitive_read(const RequestInfo& info) {
  if (!info.resource_request || is_write(info.verb)) return false;
  if (info.group.empty()) return asks_secrets(info);
  return info.group == actions::group && actions::shows_guest(info.subresource);
}

std::optional<AuditKind> audit_kind(const RequestInfo& info, bool allowed, int code, const Deed& deed) {
  if (!allowed) return AuditKind::attempt;
  if (!info.resource_request) return std::nullopt;
  if (is_write(info.verb)) {
    // Everybody may ask what they may do, as often as they like, and is answered "created".
    const bool review = info.group == "authorization.k8s.io" || info.group == "authentication.k8s.io";
    if (deed.changed || (code < 400 && !deed.dry_run && !review)) return AuditKind::change;
    // Its answer shows the object.
    return code < 400 && deed.dry_run && asks_secrets(info) ? AuditKind::read : AuditKind::attempt;
  }
  if (is_sensitive_read(info)) return code < 400 ? AuditKind::read : AuditKind::attempt;
  return std::nullopt;
}

// --- one log of several files ----------------------------------------------------------------------------------------

class AuditLog::File {
 public:
  File(std::string path, const AuditRotation& rotation, const Clock& clock, metrics::Counter* dropped)
      : path_(std::move(path)), rotation_(rotation), clock_(clock), dropped_(dropped) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Result<void> open() {
    if (open_file()) {
      remove_outdated();
      return {};
    }
    return fail({.code = 500,
                 .reason = "InternalError",
                 .message = fmt::format("cannot open the audit log {}: {}", path_, failure_),
                 .details = {}});
  }

  // True: it is time to write.
  bool append(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (buffer_.size() + writing_bytes_ + line.size() > waiting_bytes_max) {
      ++lost_;
      if (dropped_) dropped_->add();
      return false;
    }
    buffer_ += line;
    // While the disk refuses, every line would try it again: the next flush does.
    return failure_.empty() && buffer_.size() >= buffer_bytes_max;
  }

  void flush() {
    const std::lock_guard writing(writing_mutex_);
    if (was_moved() && !open_file()) return;
    if (const auto now = clock_.steady_now(); rotation_.age_max.count() > 0 && now >= look_at_ages_) {
      remove_outdated();
      look_at_ages_ = now + std::chrono::hours(1);
    }
    write_buffer();
    if (tell_lost()) write_buffer();
  }

  std::optional<std::string> problem() const {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) return std::nullopt;
    const std::string_view name = std::string_view(path_).substr(path_.rfind('/') + 1);
    return fmt::format("{} cannot be written: {}; {} lines are lost so far", name, failure_, lost_);
  }

 private:
  bool tell_lost() {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty() || lost_ == 0) return false;
    buffer_.insert(0, lost_line(std::exchange(lost_, 0), clock_.wall_now()));
    return true;
  }

  // Empty: all is well. Returns what was the matter before.
  std::string set_failure(std::string failure) {
    const std::lock_guard lock(mutex_);
    return std::exchange(failure_, std::move(failure));
  }

  void failed(std::string_view what, int error) {
    const std::string failure = fmt::format("{}: {}", what, std::strerror(error));
    if (set_failure(failure) != failure)
      log::error("the audit log cannot be written", {{"file", path_}, {"reason", failure}});
  }

  // A link or a pipe in its place would send the lines somewhere else, or wait for a reader.
  bool open_file() {
    const int fd =
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    struct stat info{};
    if (fd < 0 || ::fstat(fd, &info) != 0) {
      failed("open", errno);
      if (fd >= 0) ::close(fd);
      return false;
    }
    if (!S_ISREG(info.st_mode)) {
      ::close(fd);
      set_failure("it is not a regular file");
      return false;
    }
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
    bytes_ = static_cast<std::size_t>(info.st_size);
    device_ = info.st_dev;
    inode_ = info.st_ino;
    return true;
  }

  // Somebody renamed or removed the file: what is written there would not be found here.
  bool was_moved() const {
    struct stat info{};
    return ::lstat(path_.c_str(), &info) != 0 || info.st_ino != inode_ || info.st_dev != device_;
  }

  // What was written leaves the buffer, so that a disk that refuses in the middle of a line gets the rest of it later.
  // Others append meanwhile: the disk may take any time.
  void write_buffer() {
    std::string lines;
    {
      const std::lock_guard lock(mutex_);
      if (buffer_.empty() && failure_.empty()) return;
      lines.swap(buffer_);
      writing_bytes_ = lines.size();
    }
    std::size_t done = 0;
    int error = 0;
    while (done < lines.size() && error == 0) {
      const ssize_t written = ::write(fd_, lines.data() + done, lines.size() - done);
      if (written >= 0)
        done += static_cast<std::size_t>(written);
      else if (errno != EINTR)
        error = errno;
    }
    {
      const std::lock_guard lock(mutex_);
      buffer_.insert(0, lines, done);
      writing_bytes_ = 0;
    }
    bytes_ += done;
    if (error != 0) return failed("write", error);
    if (!set_failure({}).empty()) log::info("the audit log can be written again", {{"file", path_}});
    if (bytes_ >= rotation_.file_bytes) rotate();
  }

  std::string numbered(std::size_t number) const { return fmt::format("{}.{}", path_, number); }

  void rotate() {
    for (std::size_t number = rotation_.backups; number > 1; --number)
      if (std::rename(numbered(number - 1).c_str(), numbered(number).c_str()) != 0 && errno != ENOENT)
        return failed("rename", errno);
    if (std::rename(path_.c_str(), numbered(1).c_str()) != 0) return failed("rename", errno);
    open_file();
    remove_outdated();
  }

  // Full files were written to for the last time when they became full. Numbers follow one another, so the first that
  // is missing is the end; those beyond what is kept are of a start that kept more.
  void remove_outdated() const {
    const auto oldest = clock_.wall_now() - rotation_.age_max;
    for (std::size_t number = 1; number <= rotation_.backups + limits::audit_backups_max; ++number) {
      struct stat info{};
      if (::lstat(numbered(number).c_str(), &info) != 0) {
        if (number > rotation_.backups) return;
        continue;
      }
      const bool is_old =
          rotation_.age_max.count() > 0 &&
          info.st_mtime < std::chrono::duration_cast<std::chrono::seconds>(oldest.time_since_epoch()).count();
      if (number > rotation_.backups || is_old) ::unlink(numbered(number).c_str());
    }
  }

  const std::string path_;
  const AuditRotation rotation_;
  const Clock& clock_;
  metrics::Counter* const dropped_;
  mutable std::mutex mutex_;  // of these, and never held while the disk is asked
  std::string buffer_;
  std::size_t writing_bytes_ = 0;  // on their way to the file
  std::string failure_;            // empty: all is well
  std::uint64_t lost_ = 0;
  std::mutex writing_mutex_;  // of the file, and of the rest
  Clock::Steady look_at_ages_ = {};
  int fd_ = -1;
  std::size_t bytes_ = 0;  // in the file
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

AuditRotation AuditLog::rotation_of(const Options& options, std::size_t share) {
  AuditRotation rotation = options.rotation;
  if (rotation.file_bytes == 0) rotation.file_bytes = options.bytes_max * share / shares / files;
  if (rotation.backups == 0) rotation.backups = files - 1;
  return rotation;
}

// --- the logs --------------------------------------------------------------------------------------------------------

AuditLog::AuditLog(const Options& options)
    : options_(options),
      writers_(limits_of(budgets::audit_changes_burst, budgets::audit_changes_per_second, true)),
      users_(limits_of(budgets::audit_attempts_burst, budgets::audit_attempts_per_second, true)),
      addresses_(limits_of(budgets::audit_attempts_burst, budgets::audit_attempts_per_second, true)),
      // Which Secrets were read is not for a flood to hide: without room in the table, every read has its line.
      reads_(limits_of(budgets::audit_same_read_burst, budgets::audit_same_read_per_second, false)) {
  metrics::Counter* dropped = nullptr;
  if (options.metrics) {
    dropped = &options.metrics->counter("virtgate_audit_lines_dropped_total",
                                        "Lines of the audit log that could not be written and are lost.");
    summed_up_ = &options.metrics->counter("virtgate_audit_lines_summed_up_total",
                                           "Audited requests that were only counted, in summary lines.");
  }
  for (std::size_t i = 0; i < logs.size(); ++i)
    logs_[i] = std::make_unique<File>(fmt::format("{}/{}", options.folder, logs[i].file),
                                      rotation_of(options, logs[i].share), options.clock, dropped);
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const Options& options) {
  std::unique_ptr<AuditLog> made(new AuditLog(options));
  for (const auto& file : made->logs_)
    if (auto opened = file->open(); !opened) return fail(std::move(opened.error()));
  return made;
}

AuditLog::~AuditLog() { finish(); }

bool AuditLog::exceeds(AuditLimiter& limiter, AuditSubject subject, bool allowed) {
  const std::lock_guard lock(limiters_mutex_);
  return !limiter.take(subject, allowed, options_.clock);
}

bool AuditLog::sums_up(AuditLimiter& limiter, AuditSubject subject, bool allowed) {
  const bool counted = exceeds(limiter, subject, allowed);
  if (counted && summed_up_) summed_up_->add();
  return counted;
}

void AuditLog::write(AuditKind kind, const AuditEntry& entry) {
  const std::string_view who = entry.impersonated_by.empty() ? entry.user : entry.impersonated_by;
  if (kind == AuditKind::change) {
    return append(exceeds(writers_, {.who = who, .what = {}}, true) ? busy() : log(kind), line_of(entry));
  }
  if (kind == AuditKind::attempt && sums_up(users_, {.who = who, .what = {}}, entry.allowed)) return;
  if (kind == AuditKind::read) {
    const std::string what =
        fmt::format("{} {}{}{}{}{} {}/{}", entry.verb, entry.group, entry.group.empty() ? "" : "/", entry.resource,
                    entry.subresource.empty() ? "" : "/", entry.subresource, entry.ns, entry.name);
    if (sums_up(reads_, {.who = who, .what = what}, true)) return;
  }
  append(log(kind), line_of(entry));
}

void AuditLog::write(const FailedAuthenticationEntry& entry) {
  const std::string source = source_of(entry.address);
  if (sums_up(addresses_, {.who = source, .what = {}}, false)) return;
  append(log(AuditKind::attempt), line_of(entry, options_.clock.wall_now()));
}

void AuditLog::append(File& file, std::string_view line) {
  if (!file.append(line)) return;
  if (flusher_)
    flusher_->wake();
  else
    file.flush();
}

void AuditLog::summarize(bool all) {
  const auto now = options_.clock.steady_now();
  const auto wall = options_.clock.wall_now();
  const std::lock_guard lock(limiters_mutex_);
  const auto tell = [&](AuditKind kind, const AuditSummary& summary, std::string_view who, std::string_view refused,
                        std::string_view allowed) {
    log(kind).append(line_of(summary, wall, {.who = who, .refused = refused, .allowed = allowed}));
  };
  for (const AuditSummary& summary : writers_.due(now, all)) tell(AuditKind::change, summary, "user", "", "busy");
  for (const AuditSummary& summary : users_.due(now, all))
    tell(AuditKind::attempt, summary, "user", "refused", "failed");
  for (const AuditSummary& summary : addresses_.due(now, all))
    tell(AuditKind::attempt, summary, "address", "unauthenticated", "");
  for (const AuditSummary& summary : reads_.due(now, all)) tell(AuditKind::read, summary, "user", "", "reads");
}

void AuditLog::flush() {
  summarize(false);
  for (const auto& file : logs_) file->flush();
}

void AuditLog::finish() {
  flusher_.reset();
  summarize(true);
  for (const auto& file : logs_) file->flush();
}

bool AuditLog::is_stalled() const { return flusher_ && flusher_->busy_for() > store_limits::stall_ready_max; }

std::optional<std::string> AuditLog::problem() const {
  if (is_stalled()) return "the audit log cannot be written: the disk does not answer";
  for (const auto& file : logs_)
    if (auto problem = file->problem()) return problem;
  return std::nullopt;
}

Result<void> AuditLog::takes_changes() const {
  if (!options_.required || (!is_stalled() && !log(AuditKind::change).problem() && !busy().problem())) return {};
  Status status = Status::unavailable(
      "the audit log cannot be written, and --audit-required does not allow changes without it; "
      "see /readyz?verbose");
  status.details.retry_after_seconds = retry_after_seconds;
  return fail(std::move(status));
}

void AuditLog::keep_flushing() {
  flusher_.emplace(flush_interval, [this] {
    std::vector<std::shared_ptr<Wakeup>> waiting;
    {
      const std::lock_guard lock(waiting_mutex_);
      waiting.swap(waiting_);
    }
    flush();
    for (const auto& one : waiting) one->signal();
  });
}

Task<void> AuditLog::settled(Core& core) {
  if (!options_.required || !flusher_) co_return;
  const auto written = std::make_shared<Wakeup>(core);
  {
    const std::lock_guard lock(waiting_mutex_);
    waiting_.push_back(written);
  }
  flusher_->wake();
  co_await written->wait();
}

}  // namespace vg::resources
