#include "memory.h"

#include <malloc.h>

namespace vg::cmd {

void return_start_up_memory() { ::malloc_trim(0); }

}  // namespace vg::cmd
