// Datagrams to and from one address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/core.h"
#include "base/status.h"
#include "base/stream.h"

namespace vg::http {

// The most that UDP over IPv4 carries in one datagram.
inline constexpr std::size_t datagram_bytes_max = 65507;

// A read brings one datagram, a write sends one; one without bytes is passed over. There is no end: a peer that refuses
// (its machine says that nobody listens there) counts as broken.
class DatagramStream : public Stream {
 public:
  // How large the next datagram is; suspends until there is one, and leaves it where it is. What does not fit into the
  // place that read_some gets is lost.
  virtual Task<IoResult> next_size() = 0;
};

// The address is in digits, without brackets. Nothing is sent, so it says nothing about whether anybody is there.
Result<std::unique_ptr<DatagramStream>> connect_udp(Core& core, const std::string& address, std::uint16_t port);

}  // namespace vg::http
