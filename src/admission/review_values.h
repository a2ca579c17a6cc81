// How much one review may ask for.
#pragma once

#include "admission/review.h"
#include "base/status.h"

namespace vg::admission {

// A review may have as many values as two objects, and neither of them more than an object may have: 413.
Result<void> check_review_values(const Review& review);

}  // namespace vg::admission
