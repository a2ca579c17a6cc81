// The spec that a restored VM gets (spec copies RST-32..34, JP).
#pragma once

#include "base/status.h"
#include "controllers/restore/work.h"

namespace vg::controllers::restore {

// The name of the DataVolume that takes the place of the one of this volume; empty when the volume is none of a
// template.
std::string_view restored_data_volume(const Work& work, const Object& volume);
// RST-32 and, for a VM that is there, RST-33.
Value new_spec(const Work& work);
// RST-33, RST-34, RST-40: a VM that is not there, with the restore's patches.
Result<Value> new_vm(const Work& work, Value spec);

}  // namespace vg::controllers::restore
