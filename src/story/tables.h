// The tables behind verdict.h, one file each.
#pragma once

#include "story/verdict.h"

namespace vg::story {

std::span<const Row> vm_rows();
std::span<const Row> vmi_rows();
std::span<const Row> migration_rows();

}  // namespace vg::story
