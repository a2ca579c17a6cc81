// The libvirt domain of a VMI (spec domain, stage R): a pure function. What it needs to know of the host and the
// cluster is in the context, so that an offline print and a node that starts the guest share every rule.
#pragma once

#include "base/status.h"
#include "domain/context.h"
#include "domain/element.h"
#include "domain/vmi.h"

namespace vg::domain {

// A refusal is 422 and names the rule, the field and what must hold: where upstream fails, where upstream's process
// dies, where names lead out of their folder, and where the document would hold what XML cannot carry.
Result<Element> convert(const Vmi& vmi, const DomainContext& context);

}  // namespace vg::domain
