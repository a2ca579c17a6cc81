#include "helpers/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/helper_limits.h"

namespace vg::helpers {
namespace {

// In front of every packet; then the subject, then the body unless it is in a file.
struct Head {
  std::uint32_t body_bytes = 0;
  std::uint16_t subject_bytes = 0;
  std::uint16_t in_file = 0;
};

constexpr std::size_t packet_bytes_max =
    sizeof(Head) + limits::helper_subject_bytes_max + limits::helper_packet_bytes_max;

Descriptor file_of(std::string_view body) {
  Descriptor file(::memfd_create("message", MFD_CLOEXEC));
  while (file && !body.empty()) {
    const ssize_t put = ::write(file.get(), body.data(), body.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return {};
    body.remove_prefix(static_cast<std::size_t>(put));
  }
  return file;
}

// False: it does not hold so many bytes.
bool read_file(int file, std::size_t bytes, std::string& into) {
  struct stat info{};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size != static_cast<off_t>(bytes)) return false;
  into.resize(bytes);
  for (std::size_t have = 0; have < bytes;) {
    const ssize_t got = ::pread(file, into.data() + have, bytes - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    have += static_cast<std::size_t>(got);
  }
  return true;
}

// Of what came, however little of it makes sense.
Message read_packet(std::string_view packet, bool cut, const Descriptor& file) {
  Message message;
  const auto unreadable = [&](std::string why) {
    message.problem = std::move(why);
    return std::move(message);
  };
  Head head;
  if (packet.size() < sizeof(head)) return unreadable("a message has no head");
  std::memcpy(&head, packet.data(), sizeof(head));
  packet.remove_prefix(sizeof(head));
  if (head.subject_bytes > packet.size()) return unreadable("a message is shorter than it says");
  message.subject = packet.substr(0, head.subject_bytes);
  packet.remove_prefix(head.subject_bytes);
  if (cut || head.body_bytes > limits::helper_message_bytes_max) return unreadable("a message is too large");
  const bool in_file = head.in_file != 0;
  if (in_file ? !read_file(file.get(), head.body_bytes, message.body) : packet.size() != head.body_bytes)
    return unreadable("a message is not as long as it says");
  if (!in_file) message.body = packet;
  return message;
}

union Control {  // one descriptor, aligned as the kernel wants it
  cmsghdr head;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

Descriptor descriptor_in(msghdr& received) {
  Descriptor found;
  for (cmsghdr* one = CMSG_FIRSTHDR(&received); one; one = CMSG_NXTHDR(&received, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(one), sizeof(number));
    found = Descriptor(number);
  }
  return found;
}

void poll_one(int socket, short events, std::chrono::milliseconds time_max) {
  pollfd ready{socket, events, 0};
  (void)::poll(&ready, 1, static_cast<int>(time_max.count()));
}

}  // namespace

std::string_view text_of(Sent sent) {
  switch (sent) {
    case Sent::yes:
      return "sent";
    case Sent::too_large:
      return "the message is too large";
    case Sent::full:
      return "too many messages wait already";
    case Sent::closed:
      break;
  }
  return "the other process is gone";
}

Channel::Channel(Descriptor socket) : socket_(std::move(socket)) {}

std::optional<std::pair<Channel, Channel>> Channel::make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
  return std::pair(Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1])));
}

Sent Channel::send_packet(const Packet& packet) const {
  iovec bytes{const_cast<char*>(packet.bytes.data()), packet.bytes.size()};  // NOLINT: it is read alone
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  Control control{};
  if (packet.body) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = packet.body.get();
    std::memcpy(CMSG_DATA(head), &number, sizeof(number));
  }
  while (::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    const bool later = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS;
    return later ? Sent::full : Sent::closed;
  }
  return Sent::yes;
}

Sent Channel::send(std::string_view subject, std::string_view body) {
  if (subject.size() > limits::helper_subject_bytes_max || body.size() > limits::helper_message_bytes_max)
    return Sent::too_large;
  if (queue_.size() >= limits::helper_queue_max) return Sent::full;
  const bool in_file = body.size() > limits::helper_packet_bytes_max;
  const Head head{.body_bytes = static_cast<std::uint32_t>(body.size()),
                  .subject_bytes = static_cast<std::uint16_t>(subject.size()),
                  .in_file = in_file ? std::uint16_t{1} : std::uint16_t{0}};
  Packet packet{.bytes = std::string(reinterpret_cast<const char*>(&head), sizeof(head))};
  packet.bytes += subject;
  if (in_file) {
    packet.body = file_of(body);
    if (!packet.body) return Sent::full;
  } else {
    packet.bytes += body;
  }
  flush();
  const Sent sent = queue_.empty() ? send_packet(packet) : Sent::full;
  if (sent != Sent::full) return sent;
  queue_.push_back(std::move(packet));
  return Sent::yes;
}

void Channel::flush() {
  while (!queue_.empty() && send_packet(queue_.front()) != Sent::full) queue_.pop_front();
}

std::expected<std::optional<Message>, Closed> Channel::receive() {
  buffer_.resize(packet_bytes_max);
  iovec bytes{buffer_.data(), buffer_.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  while ((got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  if (got <= 0) return std::unexpected(Closed());
  const Descriptor file = descriptor_in(message);
  return read_packet(std::string_view(buffer_).substr(0, static_cast<std::size_t>(got)),
                     (message.msg_flags & MSG_TRUNC) != 0, file);
}

short Channel::events() const { return static_cast<short>(has_queued() ? POLLIN | POLLOUT : POLLIN); }

void Channel::wait_to_receive(std::chrono::milliseconds time_max) const { poll_one(descriptor(), POLLIN, time_max); }
void Channel::wait_to_send(std::chrono::milliseconds time_max) const { poll_one(descriptor(), POLLOUT, time_max); }

}  // namespace vg::helpers
