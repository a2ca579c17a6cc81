// The seam between an action and its stream: reaches the other end, then hands over the client's connection.
#pragma once

#include "actions/effect.h"
#include "base/task.h"
#include "ports/node_link.h"
#include "server/router.h"

namespace vg::actions {

// The other end is dialled before the client is promised anything, so every refusal up to there is plain HTTP. Returns
// when the stream has ended, or after the refusal.
Task<void> open_stream(const OpenStream& stream, NodeLink& nodes, server::Call& call);

}  // namespace vg::actions
