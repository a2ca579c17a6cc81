// How the fields of Kubernetes' own types merge in a strategic merge patch: the schema's words in the patch's language.
#pragma once

#include "api/schema.h"
#include "json/strategic_patch.h"

namespace vg::resources {

// Lives for ever.
const json::MergeRules& merge_rules(const api::Type& type);

}  // namespace vg::resources
