// The limits of commands that work on files, with their reasons. See limits.h for all others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::limits {

// One document is read and judged as a whole. Lists may be much longer than what a server takes at once.
inline constexpr std::size_t document_bytes_max = 48UL * 1024 * 1024;
// A list of ten thousand VMs has about a million. Whatever they are, a value takes some 40 bytes.
inline constexpr std::size_t document_values_max = 3'000'000;
// What comes through a pipe has to be kept, because some of it is read twice.
inline constexpr std::size_t pipe_bytes_max = 256UL * 1024 * 1024;
// A folder with more is no folder of manifests. Links that lead in circles are met by this and by the depth.
inline constexpr std::size_t manifest_files_max = 100'000;
inline constexpr int manifest_folder_depth_max = 32;
// Documents that wait for a thread: so many bytes of them, however many there are.
inline constexpr std::size_t waiting_documents_bytes_max = 2UL * 1024 * 1024;
inline constexpr std::size_t check_threads_max = 16;
// An object made to have many must not take longer, and tell more, than one that is refused for many reasons.
inline constexpr std::size_t warnings_of_object_max = 200;
// What is kept of all findings, and of the line of source of each.
inline constexpr std::size_t findings_max = 20'000;
inline constexpr std::size_t source_columns_max = 160;

// --- virtgate explain vm/NAME ----------------------------------------------------------------------------------------

// What happened: the newest lines, and how much of somebody else's message is shown.
inline constexpr std::size_t story_moments_max = 20;
inline constexpr std::size_t story_message_bytes_max = 300;
// After so long without a heartbeat KubeVirt counts a node as lost (spec vmi-lifecycle 5).
inline constexpr std::int64_t story_heartbeat_seconds_max = 300;

}  // namespace vg::limits
