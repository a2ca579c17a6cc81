// The audit log: one JSON line for every request that wants to change something, allowed or not.
//
//   {"time":"...","requestId":"...","user":"...","verb":"create","resource":"kubevirt.io/virtualmachines",
//    "namespace":"default","name":"a","code":201,"decision":"allow","reason":"...","milliseconds":1.3}
//
// Lines are collected in memory and written together, at the latest after flush_interval: a write of its own for each
// would cost more than the request. A file that is full is renamed to audit.log.1, in place of the one before, so the
// log never takes more than two files' room.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/status.h"
#include "base/task.h"
#include "http/core.h"

namespace vg::resources {

struct AuditEntry {
  std::string_view time;
  std::string_view request_id;
  std::string_view user;
  std::string_view impersonated_by;  // empty: nobody
  std::string_view verb;
  std::string_view resource;  // group/plural
  std::string_view subresource, ns, name;
  int code = 0;
  bool allowed = true;
  std::string_view reason;  // the authorizer's
  double milliseconds = 0;
};

class AuditLog {
 public:
  static constexpr std::size_t file_bytes_max = 64 * limits::mib;
  static constexpr std::size_t buffer_bytes_max = 256 * limits::kib;
  static constexpr std::chrono::milliseconds flush_interval{250};

  // Creates or continues the file, mode 0600.
  static Result<std::unique_ptr<AuditLog>> open(std::string path, std::size_t file_bytes = file_bytes_max);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // From any thread. When the disk refuses, lines are dropped and the log says so once.
  void write(const AuditEntry& entry);
  void flush();
  // Flushes every flush_interval, for ever.
  Task<void> keep_flushing(http::Core& core);

 private:
  AuditLog(std::string path, int fd, std::size_t bytes, std::size_t file_bytes);
  void flush_locked();
  void rotate_locked();

  const std::string path_;
  const std::size_t file_bytes_;
  std::mutex mutex_;
  std::string buffer_;
  int fd_;
  std::size_t bytes_;  // in the file
  bool failing_ = false;
};

}  // namespace vg::resources
