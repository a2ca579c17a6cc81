// Loaded into the node's libvirtd and so into every QEMU (LD_PRELOAD): nothing is sent to this host's own loopback
// addresses. QEMU's user-mode network connects in the name of its guest, takes its gateway for the host's loopback and
// has no setting against it, so without this a guest reaches the API server, the ports of other guests and whatever
// else listens there.
//
// The host's resolver stays reachable where it listens on loopback (systemd-resolved): DNS is meant to be. So does
// whoever sent a datagram to a forwarded port of the guest, which the guest answers: nobody else, since a guest that
// sends from such a port has its datagrams sent from the very socket that forwards it.
//
// Needs nothing but the C library. The system calls are made here, so that no other library has to be found.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hypervisor/preload/loopback.h"

namespace {

using vg::hypervisor::is_loopback;

constexpr in_port_t dns_port = 53;
constexpr unsigned resolver_file_bytes_max = 4096;

// Read each time: it changes while guests run, and hardly any destination gets here.
bool is_resolver(const sockaddr* address) {
  const bool v6 = address->sa_family == AF_INET6;
  const in_port_t port = v6 ? reinterpret_cast<const sockaddr_in6*>(address)->sin6_port
                            : reinterpret_cast<const sockaddr_in*>(address)->sin_port;
  if (ntohs(port) != dns_port) return false;
  char name[INET6_ADDRSTRLEN] = {}, text[resolver_file_bytes_max] = {};
  const void* bytes = v6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr)
                         : &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (!inet_ntop(address->sa_family, bytes, name, sizeof name)) return false;
  const int file = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  return got > 0 && vg::hypervisor::names_server(text, name);
}

// Those who sent datagrams last, whatever the guest does with them. IPv4 as the ports are.
struct Peer {
  int socket;
  in_addr_t address;
  in_port_t port;
};
constexpr unsigned peers_kept = 256;
Peer peers[peers_kept];
unsigned next_peer;
char peers_lock;

class Locked {
 public:
  Locked() {
    while (__atomic_test_and_set(&peers_lock, __ATOMIC_ACQUIRE)) {
    }
  }
  ~Locked() { __atomic_clear(&peers_lock, __ATOMIC_RELEASE); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

bool is_kept(const Peer& peer) {
  for (const Peer& one : peers)
    if (one.socket == peer.socket && one.address == peer.address && one.port == peer.port) return true;
  return false;
}

Peer peer_of(int socket, const sockaddr* address) {
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
  return {.socket = socket, .address = v4->sin_addr.s_addr, .port = v4->sin_port};
}

void note_peer(int socket, const sockaddr* from, const socklen_t* size) {
  if (!from || !size || from->sa_family != AF_INET || !is_loopback(from, *size)) return;
  const int before = errno;
  const Peer peer = peer_of(socket, from);
  const Locked locked;
  if (!is_kept(peer)) peers[next_peer++ % peers_kept] = peer;
  errno = before;
}

bool is_answer(int socket, const sockaddr* to) {
  if (socket < 0 || to->sa_family != AF_INET) return false;
  const Locked locked;
  return is_kept(peer_of(socket, to));
}

// Sets errno as if nobody listened there: libslirp tells the guest so. `socket`: negative when this begins something.
bool refused(int socket, const void* address, socklen_t size) {
  const auto* to = static_cast<const sockaddr*>(address);
  if (!is_loopback(to, size) || is_resolver(to) || is_answer(socket, to)) return false;
  errno = ECONNREFUSED;
  return true;
}

}  // namespace

#define VG_EXPORTED extern "C" __attribute__((visibility("default")))

VG_EXPORTED int connect(int socket, const sockaddr* address, socklen_t size) {
  if (refused(-1, address, size)) return -1;
  return static_cast<int>(syscall(SYS_connect, socket, address, size));
}

VG_EXPORTED ssize_t sendto(int socket, const void* bytes, size_t count, int flags, const sockaddr* address,
                           socklen_t size) {
  if (refused(socket, address, size)) return -1;
  return syscall(SYS_sendto, socket, bytes, count, flags, address, size);
}

VG_EXPORTED ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (message && refused(socket, message->msg_name, message->msg_namelen)) return -1;
  return syscall(SYS_sendmsg, socket, message, flags);
}

VG_EXPORTED int sendmmsg(int socket, mmsghdr* messages, unsigned count, int flags) {
  for (unsigned at = 0; messages && at < count; ++at)
    if (refused(socket, messages[at].msg_hdr.msg_name, messages[at].msg_hdr.msg_namelen)) return -1;
  return static_cast<int>(syscall(SYS_sendmmsg, socket, messages, count, flags));
}

VG_EXPORTED ssize_t recvfrom(int socket, void* bytes, size_t count, int flags, sockaddr* address, socklen_t* size) {
  const ssize_t got = syscall(SYS_recvfrom, socket, bytes, count, flags, address, size);
  if (got >= 0) note_peer(socket, address, size);
  return got;
}

// What the compiler calls instead where it knows the size of the buffer.
VG_EXPORTED ssize_t __recvfrom_chk(int socket, void* bytes, size_t count, size_t room, int flags, sockaddr* address,
                                   socklen_t* size) {
  if (count > room) __builtin_trap();
  return recvfrom(socket, bytes, count, flags, address, size);
}
