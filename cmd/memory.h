// What the process holds on to.
#pragma once

namespace vg::cmd {

// To be called first of all. Large blocks go back to the system when they are freed, instead of being kept for the next
// one of their size, which may never come.
void return_large_blocks();

// Likewise, for a process whose threads wait most of the time: few heaps for all of them, instead of one for each.
void share_heaps();

// Likewise. Keys, tokens and what guests are told are in it: no dump of it is written, of this process or of those that
// it starts.
void keep_memory_private();

// To be called once when start-up is over. It has built documents, keys and lists that are gone by now; the allocator
// would keep their memory for allocations of their size, which never come again.
void return_start_up_memory();

}  // namespace vg::cmd
