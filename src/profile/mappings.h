// Which files lie where in this process: by this pprof finds the names of addresses, in the files themselves.
#pragma once

#include <link.h>

#include <string>
#include <vector>

#include "profile/pprof.h"

namespace vg::profile {

// What can be run: the program and its libraries, as the dynamic linker has loaded them.
std::vector<Mapping> own_mappings();

// The executable parts of one loaded file, as the dynamic linker describes it.
std::vector<Mapping> mappings_of(const dl_phdr_info& file);

}  // namespace vg::profile
