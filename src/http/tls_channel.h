// A connected socket with or without TLS on it, for the code below Stream: it tries, and says what to wait for. The
// server works on this directly, because a request that needs no waiting should need no coroutine either.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/stream.h"
#include "http/core_list.h"
#include "http/core_socket.h"
#include "http/peer_certificate.h"
#include "http/tls.h"

struct ssl_st;

namespace vg::http {

struct Attempt {
  std::size_t bytes = 0;  // done, also when it then blocked
  IoError error = IoError::none;
  std::optional<Direction> blocked = {};  // wait for this and try again with the same bytes
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(Socket socket) : socket_(std::move(socket)) {}
  Channel(Socket socket, const TlsServerContext& context);
  Channel(Socket socket, const TlsClientContext& context, const std::string& server_name);
  Channel(Channel&&) noexcept = default;
  Channel& operator=(Channel&&) noexcept = default;

  Attempt try_handshake();
  Attempt try_read(std::span<char> into);
  // Goes on until everything is written or the socket takes no more. Bytes that were offered once must be offered
  // again: TLS may have sealed them already.
  Attempt try_write(std::span<const char> bytes);
  // Says that we write no more; best effort, never blocks.
  void try_shutdown_write();
  // Whether bytes may wait above the socket, where waiting for the socket would not notice them.
  bool has_pending() const;

  bool encrypted() const { return ssl_ != nullptr; }
  bool resumed() const;
  // The client's certificate after a handshake in which it was verified.
  std::optional<PeerCertificate> peer_certificate() const;
  // Why the last operation ended with IoError::tls, for logs.
  const std::string& failure() const { return failure_; }

  Socket& socket() { return socket_; }
  const Socket& socket() const { return socket_; }
  void close() { socket_.close(); }

 private:
  Attempt explain(int result);
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  Socket socket_;
  std::unique_ptr<ssl_st, Free> ssl_;
  bool broken_ = false;  // after a fatal error TLS must not be used any more, not even to say goodbye
  std::string failure_;
};

class ChannelStream : public Stream {
 public:
  // `ahead` was read from the channel already and is given out first.
  explicit ChannelStream(Channel channel, std::string ahead = {})
      : channel_(std::move(channel)), ahead_(std::move(ahead)) {}
  Task<IoResult> read_some(std::span<char> into) override;
  Task<IoResult> write_all(std::span<const char> bytes) override;
  void set_deadline(Clock::time_point when) override { channel_.socket().set_deadline(when); }
  Task<void> shutdown_write() override;
  void close() override { channel_.close(); }
  Core& core() override { return channel_.socket().core(); }

 protected:
  Channel channel_;
  std::string ahead_;
  std::size_t ahead_used_ = 0;
};

Task<IoResult> handshake(Channel& channel);

}  // namespace vg::http
