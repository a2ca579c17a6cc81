#include "memory.h"

#include <malloc.h>
#include <sys/resource.h>

namespace vg::cmd {

namespace {

// Left alone, the allocator takes the largest block that was ever freed (up to 32 MiB) for an everyday size, keeps such
// blocks in its heaps, and returns the end of a heap only from twice that size on.
constexpr int mapped_block_bytes_min = 1 << 20;
constexpr int kept_heap_end_bytes = 1 << 20;
constexpr int heaps_of_many_threads = 2;

}  // namespace

void return_large_blocks() {
  ::mallopt(M_MMAP_THRESHOLD, mapped_block_bytes_min);
  ::mallopt(M_TRIM_THRESHOLD, kept_heap_end_bytes);
}

void share_heaps() { ::mallopt(M_ARENA_MAX, heaps_of_many_threads); }

void keep_memory_private() {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);  // lowering it is allowed to everybody
}

void return_start_up_memory() { ::malloc_trim(0); }

}  // namespace vg::cmd
