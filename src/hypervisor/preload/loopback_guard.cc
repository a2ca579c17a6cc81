// Loaded into the node's libvirtd and so into every QEMU (LD_PRELOAD): nothing is sent to this host's own loopback
// addresses. QEMU's user-mode network connects in the name of its guest, takes its gateway for the host's loopback and
// has no setting against it, so without this a guest reaches the API server, the ports of other guests and whatever
// else listens there.
//
// The host's resolver stays reachable where it listens on loopback (systemd-resolved): DNS is meant to be.
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

// Sets errno as if nobody listened there: libslirp tells the guest so.
bool refused(const void* address, socklen_t size) {
  const auto* to = static_cast<const sockaddr*>(address);
  if (!is_loopback(to, size) || is_resolver(to)) return false;
  errno = ECONNREFUSED;
  return true;
}

}  // namespace

#define VG_EXPORTED extern "C" __attribute__((visibility("default")))

VG_EXPORTED int connect(int socket, const sockaddr* address, socklen_t size) {
  if (refused(address, size)) return -1;
  return static_cast<int>(syscall(SYS_connect, socket, address, size));
}

VG_EXPORTED ssize_t sendto(int socket, const void* bytes, size_t count, int flags, const sockaddr* address,
                           socklen_t size) {
  if (refused(address, size)) return -1;
  return syscall(SYS_sendto, socket, bytes, count, flags, address, size);
}

VG_EXPORTED ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (message && refused(message->msg_name, message->msg_namelen)) return -1;
  return syscall(SYS_sendmsg, socket, message, flags);
}

VG_EXPORTED int sendmmsg(int socket, mmsghdr* messages, unsigned count, int flags) {
  for (unsigned at = 0; messages && at < count; ++at)
    if (refused(messages[at].msg_hdr.msg_name, messages[at].msg_hdr.msg_namelen)) return -1;
  return static_cast<int>(syscall(SYS_sendmmsg, socket, messages, count, flags));
}
