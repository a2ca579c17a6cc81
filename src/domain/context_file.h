// The file of `render --context`: what is not said there is derived from the VMI or has its default.
#pragma once

#include <string>

#include "base/status.h"
#include "domain/context.h"
#include "domain/vmi.h"
#include "json/value.h"

namespace vg::domain {

// An unknown member is refused: it would be taken for something that it does not do.
Result<DomainContext> read_context(const Vmi& vmi, const json::Value& file);

// The members that a context file may have, with commas between them.
std::string context_members();

}  // namespace vg::domain
