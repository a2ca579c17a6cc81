// The decision about a review: the one seam between whoever asks (a webhook, later a standalone create) and the rules.
#pragma once

#include "admission/review.h"
#include "admission/webhook.h"
#include "json/value.h"

namespace vg::admission {

// Pure: what it needs is in the review. New values are made in `storage`, which lives as long as the request.
Verdict admit(const Webhook& webhook, const Review& review, const json::StoragePtr& storage);

}  // namespace vg::admission
