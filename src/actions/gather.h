// From a request to everything that its action is decided from: the steps of its row, one after the other.
#pragma once

#include <deque>

#include "actions/action_case.h"
#include "actions/stream_ledger.h"
#include "admission/admit.h"
#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "ports/component_link.h"
#include "ports/node_link.h"
#include "ports/object_api.h"
#include "server/router.h"

namespace vg::actions {

// What stands behind every action. All of it outlives the requests.
struct Parts {
  ObjectApi& objects;
  NodeLink& nodes;
  const admission::Environment& environment;
  StreamSupport streams;
  ComponentLink& components;
  bool marks = false;  // what is made names the request that it comes from (base/request_marks.h)
};

// The objects that were read. An ActionCase points into it, so it must not move.
using Gathered = std::deque<json::Value>;

// Fills in what the steps ask for. The first refusal ends it.
Task<Result<void>> gather(ActionCase& asked, Gathered& values, const Parts& parts, server::Call& call);

}  // namespace vg::actions
