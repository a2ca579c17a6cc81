// One job of the disk agent, carried out: in a process of its own where bytes of others are read (worker.cpp).
#pragma once

#include <chrono>

#include "disks/convert.h"
#include "disks/folder.h"
#include "disks/outcome.h"
#include "disks/registry.h"
#include "ports/disk_agent.h"

namespace vg::disks {

// What a job keeps busy. Quick ones are done at once, by the worker itself; the others in a process of their own.
enum class JobKind : std::uint8_t { quick, removal, copy, fetch };
inline constexpr std::size_t job_kinds = 4;
JobKind kind_of(const DiskWork& work);

// What a finished job tells beside what it made.
Outcome<Labels> carry_out(const DiskFolder& disks, const DiskJob& job, std::chrono::system_clock::time_point now,
                          const Progress& progress);
// What it had begun, after it failed or was ended.
void clean_up(const DiskFolder& disks, const DiskJob& job);

}  // namespace vg::disks
