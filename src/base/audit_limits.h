// The limits of what the audit log is told to record, with their reasons. See limits.h for all others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::limits {

// A policy is written by hand: kube-apiserver's own for clouds has some forty rules.
inline constexpr std::size_t audit_policy_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t audit_policy_rules_max = 1000;
// Of one body in an event; a longer one is left out, as kube-apiserver does. Two of them fit into what waits.
inline constexpr std::size_t audit_body_bytes_max = std::size_t{64} * 1024;
// What --audit-log-maxsize, --audit-log-maxbackup and --audit-log-maxage take.
inline constexpr std::int64_t audit_file_mib_max = 16 * 1024;
inline constexpr std::int64_t audit_backups_max = 1000;
inline constexpr std::int64_t audit_age_days_max = 10 * 366;

}  // namespace vg::limits
