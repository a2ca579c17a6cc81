#include "resources/audit.h"

#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "base/json_text.h"
#include "base/log.h"

namespace vg::resources {
namespace {

// User names and paths come from requests.
constexpr std::size_t text_bytes_max = 512;

void member(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.push_back(',');
  append_json_string(out, name);
  out.push_back(':');
  append_json_string(out, value, text_bytes_max);
}

int open_file(const std::string& path) { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600); }

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(std::string path, std::size_t file_bytes) {
  const int fd = open_file(path);
  if (fd < 0)
    return fail(Status::internal_error(fmt::format("cannot open the audit log {}: {}", path, std::strerror(errno))));
  struct stat file{};
  const std::size_t bytes = ::fstat(fd, &file) == 0 ? static_cast<std::size_t>(file.st_size) : 0;
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(path), fd, bytes, file_bytes));
}

AuditLog::AuditLog(std::string path, int fd, std::size_t bytes, std::size_t file_bytes)
    : path_(std::move(path)), file_bytes_(file_bytes), fd_(fd), bytes_(bytes) {}

AuditLog::~AuditLog() {
  flush();
  if (fd_ >= 0) ::close(fd_);
}

void AuditLog::write(const AuditEntry& entry) {
  std::string line = R"({"time":)";
  line.reserve(384);
  append_json_string(line, entry.time);
  member(line, "requestId", entry.request_id);
  member(line, "user", entry.user);
  member(line, "impersonatedBy", entry.impersonated_by);
  member(line, "verb", entry.verb);
  member(line, "resource", entry.resource);
  member(line, "subresource", entry.subresource);
  member(line, "namespace", entry.ns);
  member(line, "name", entry.name);
  fmt::format_to(std::back_inserter(line), FMT_COMPILE(R"(,"code":{},"decision":"{}")"), entry.code,
                 entry.allowed ? "allow" : "forbid");
  member(line, "reason", entry.reason);
  fmt::format_to(std::back_inserter(line), FMT_COMPILE(",\"milliseconds\":{:.3f}}}\n"), entry.milliseconds);
  const std::lock_guard lock(mutex_);
  buffer_ += line;
  if (buffer_.size() >= buffer_bytes_max) flush_locked();
}

void AuditLog::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void AuditLog::flush_locked() {
  std::string_view rest = buffer_;
  while (!rest.empty() && fd_ >= 0) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (!failing_)
        log::error("the audit log cannot be written; its lines are lost", {{"reason", std::strerror(errno)}});
      failing_ = true;
      break;
    }
    failing_ = false;
    rest.remove_prefix(static_cast<std::size_t>(written));
    bytes_ += static_cast<std::size_t>(written);
  }
  buffer_.clear();
  if (bytes_ >= file_bytes_) rotate_locked();
}

void AuditLog::rotate_locked() {
  if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return;
  if (const int fresh = open_file(path_); fresh >= 0) {
    ::close(fd_);
    fd_ = fresh;
    bytes_ = 0;
  }
}

Task<void> AuditLog::keep_flushing(http::Core& core) {
  while (true) {
    co_await core.sleep(flush_interval);
    flush();
  }
}

}  // namespace vg::resources
