// One end of the link between this process and a helper of it (the disk worker, one of its jobs, the process that looks
// after nodes): messages over a socket pair, a packet each. Nobody waits for the other side here: what it does not take
// is queued up to a bound, and refused beyond it. Large bodies are passed as a file in memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"

namespace vg::helpers {

struct Message {
  std::string subject = {};  // what it is about: the id of a job
  std::string body = {};
  std::string problem = {};  // why the body is none; whoever waits for the subject is to be told
};

enum class Sent : std::uint8_t { yes, too_large, full, closed };
std::string_view text_of(Sent sent);

struct Closed {};

// Sending is for one thread at a time, receiving too; both at once is fine.
class Channel {
 public:
  Channel() = default;
  explicit Channel(Descriptor socket);
  // Both ends; nothing when the system has none (errno says why).
  static std::optional<std::pair<Channel, Channel>> make_pair();

  // Never waits. `yes`: it was sent, or is queued until flush().
  Sent send(std::string_view subject, std::string_view body);
  // Sends of the queue what the other side takes now.
  void flush();
  bool has_queued() const { return !queue_.empty(); }
  void drop_queued() { queue_.clear(); }
  // The next message; nothing while there is none.
  std::expected<std::optional<Message>, Closed> receive();
  // At most so long.
  void wait_to_receive(std::chrono::milliseconds time_max) const;
  void wait_to_send(std::chrono::milliseconds time_max) const;

  int descriptor() const { return socket_.get(); }
  short events() const;  // to poll for
  void close() { socket_.close(); }
  explicit operator bool() const { return static_cast<bool>(socket_); }

 private:
  struct Packet {
    std::string bytes;
    Descriptor body = {};
  };
  Sent send_packet(const Packet& packet) const;

  Descriptor socket_;
  std::deque<Packet> queue_;
  std::string buffer_;
};

}  // namespace vg::helpers
