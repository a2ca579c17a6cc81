// What this process can tell about itself, each as a profile. Go's runtime knows more of Go's programs; what nobody
// counts here is a profile without samples that says so.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "profile/cpu_sampler.h"
#include "profile/pprof.h"
#include "profile/threads.h"

namespace vg::profile {

// Time, by where it was spent in what is mapped.
Profile cpu_profile(const CpuSamples& samples, std::vector<Mapping> mappings);

// Bytes of malloc's, by what they are for.
struct HeapFigures {
  std::int64_t in_use = 0;  // in arenas
  std::int64_t kept = 0;    // free, but not given back to the system
  std::int64_t mapped = 0;  // large blocks, each of its own
};
HeapFigures heap_figures();
Profile heap_profile(const HeapFigures& figures);

// Threads, by name and what they are doing.
Profile activity_profile(std::span<const Thread> threads);
// Threads and the time that each ran, by name.
Profile thread_profile(std::span<const Thread> threads);

// Of a kind that is not counted here.
Profile unknown_profile(ValueType type, std::string_view why);

}  // namespace vg::profile
