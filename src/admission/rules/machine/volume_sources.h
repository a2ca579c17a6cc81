// What a volume is made from: one of the sources that the API knows.
#pragma once

#include <cstddef>

#include "api/views/vmi_volumes.h"

namespace vg::admission {

std::size_t count_sources(const api::kubevirt::Volume& volume);

}  // namespace vg::admission
