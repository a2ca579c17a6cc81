// Ports of a guest: a socket of the guest's on one side, messages of the client's WebSocket on the other.
#pragma once

#include <memory>
#include <span>

#include "actions/effect.h"
#include "base/net.h"
#include "base/stream.h"
#include "base/task.h"
#include "http/splice.h"
#include "http/udp.h"
#include "server/tenure.h"

namespace vg::actions {

// The guest's end: one of the two.
struct GuestEnd {
  std::unique_ptr<Stream> bytes;                    // TCP
  std::unique_ptr<http::DatagramStream> datagrams;  // UDP
};

// Over TCP the guest has taken the connection. Over UDP nobody knows yet whether it listens. An address that no guest
// has is not dialled (base/guest_address.h); `networks` are those that the operator named.
Task<Result<GuestEnd>> reach_guest(const OpenStream& stream, std::span<const Cidr> networks, Core& core);

// Until one side ends. The client gets a close frame that says why, also when the server stops or the session is over.
// The tenure outlives the task.
Task<http::SpliceEnd> forward_port(std::unique_ptr<Stream> client, GuestEnd guest, server::Tenure& tenure);

}  // namespace vg::actions
