#include "base/must.h"

#include <cstdio>
#include <cstdlib>

namespace vg {

void end_for_broken_promise(const std::source_location& at) {
  // Not through the log: it may be what is broken.
  std::fprintf(stderr, "virtgate has a defect and ends: a promise does not hold in %s, %s:%u; please report it\n",
               at.function_name(), at.file_name(), static_cast<unsigned>(at.line()));
  std::abort();
}

}  // namespace vg
