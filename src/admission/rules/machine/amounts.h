// Amounts in the spec of a machine.
#pragma once

#include "api/view.h"
#include "base/quantity.h"

namespace vg::admission {

// Zero for an amount that is not given. Canonical form has made sure that others can be read.
inline Quantity amount_of(const api::QuantityView& given) { return Quantity::parse(given.text()).value_or(Quantity()); }

}  // namespace vg::admission
