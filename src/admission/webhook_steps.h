// Takes a review through the steps of its webhook's row.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "admission/context.h"
#include "admission/instancetype/expand.h"
#include "admission/webhook.h"

namespace vg::admission {

// Where a review is on its way.
struct Course {
  const Webhook& webhook;
  const Review& review;
  const Context& context;
  json::Value* object = nullptr;
  json::Value* old_object = nullptr;
  // Decoding changes the object, and some webhooks decode before they check: the check is then made before, and told
  // at its turn.
  std::optional<std::vector<StatusCause>> schema_causes = {};
  std::optional<Expansion> expansion = {};
  bool empty_requests = false;
  std::size_t done = 0;  // steps that are not taken again

  bool creates() const { return review.operation() == Operation::create; }
  bool updates() const { return review.operation() == Operation::update; }
};

// Whether other objects may be read in this step. Those that do not come first in every row.
bool looks_up(Step step);

// To the verdict. The second time it goes on at the first step that looks anything up: what was done before stays done.
Verdict run_steps(Course& course);

}  // namespace vg::admission
