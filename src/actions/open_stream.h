// The seam between an action and its stream: reaches the other end, then hands over the client's connection.
#pragma once

#include "actions/effect.h"
#include "actions/stream_ledger.h"
#include "base/task.h"
#include "ports/node_link.h"
#include "server/router.h"

namespace vg::actions {

// The other end is dialled before the client is promised anything, so every refusal up to there is plain HTTP. Returns
// as soon as the stream runs, which is then a task of the ledger: so the request, its buffers and its handlers cost
// nothing while a console is open for hours.
Task<void> open_stream(const OpenStream& stream, const StreamLedger::Stream& asked, NodeLink& nodes,
                       const StreamSupport& support, server::Call& call);

}  // namespace vg::actions
