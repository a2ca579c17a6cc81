// Claims for storage: as objects of their own and as templates inside pods.
#pragma once

#include "json/value.h"
#include "objects/core_kinds/checks.h"

namespace vg::resources::core_kinds {

void default_claim_spec(json::Object& spec);
void check_claim_spec(FieldCauses& causes, const Place& at, const json::Object& spec);

}  // namespace vg::resources::core_kinds
