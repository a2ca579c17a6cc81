// Takes a review through the steps of its webhook's row.
#pragma once

#include "admission/context.h"
#include "admission/webhook.h"

namespace vg::admission {

Verdict run_steps(const Webhook& webhook, const Review& review, const Context& context);

}  // namespace vg::admission
