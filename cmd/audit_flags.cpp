#include "audit_flags.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/audit_limits.h"
#include "base/files.h"

namespace vg::cmd {

std::optional<std::string> AuditFlags::settle() {
  constexpr auto least_mib = static_cast<std::int64_t>(resources::AuditLog::bytes_max_least / limits::mib);
  struct Row {
    std::string_view flag;
    std::int64_t value, least, most;
  };
  const Row rows[] = {{"--audit-log-mib", log_mib, least_mib, limits::audit_log_mib_max},
                      {"--audit-log-maxsize", file_mib, 0, limits::audit_file_mib_max},
                      {"--audit-log-maxbackup", backups, 0, limits::audit_backups_max},
                      {"--audit-log-maxage", age_days, 0, limits::audit_age_days_max}};
  for (const Row& row : rows)
    if (row.value < row.least || row.value > row.most)
      return fmt::format("{} must be from {} to {}", row.flag, row.least, row.most);
  if (policy_file.empty()) return std::nullopt;
  const auto text = read_file(policy_file, limits::audit_policy_bytes_max);
  if (!text) return "--audit-policy-file: " + text.error().message;
  auto read = resources::AuditPolicy::parse(*text);
  if (!read) return fmt::format("--audit-policy-file {}: {}", policy_file, read.error().message);
  policy = std::move(*read);
  return std::nullopt;
}

resources::AuditRotation AuditFlags::rotation() const {
  return {.file_bytes = static_cast<std::size_t>(file_mib) * limits::mib,
          .backups = static_cast<std::size_t>(backups),
          .age_max = std::chrono::days(age_days)};
}

}  // namespace vg::cmd
