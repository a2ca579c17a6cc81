// What the flags of `virtgate serve` say of the audit log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/limits.h"
#include "resources/audit.h"

namespace vg::cmd {

struct AuditFlags {
  std::int64_t log_mib = resources::AuditLog::bytes_max_default / limits::mib;
  bool required = false;
  std::string policy_file = {};
  std::int64_t file_mib = 0, backups = 0, age_days = 0;  // 0: not told
  std::optional<resources::AuditPolicy> policy = {};     // what is in that file

  // Reads the policy. What is wrong with the values, in words for whoever gave them.
  std::optional<std::string> settle();
  std::size_t bytes_max() const { return static_cast<std::size_t>(log_mib) * limits::mib; }
  resources::AuditRotation rotation() const;
};

}  // namespace vg::cmd
