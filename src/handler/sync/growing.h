// Gives a guest that runs the CPUs and the memory that its VMI has now.
#pragma once

#include "guests/growth.h"
#include "handler/sync/guest.h"

namespace vg::handler {

Task<guests::Grown> grow(const LoopParts& parts, const Work& work, const guests::DomainFacts& live,
                         guests::Place place);

}  // namespace vg::handler
