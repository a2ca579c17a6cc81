// Which addresses are this host's own, whatever a guest's user-mode network is asked for. Without the C++ library: it
// is part of what QEMU loads (loopback_guard.cc).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

namespace vg::hypervisor {

// 127.0.0.0/8, and 0.0.0.0/8, which the kernel takes for the same.
inline bool is_loopback_v4(const unsigned char* bytes) { return bytes[0] == 127 || bytes[0] == 0; }

// ::1 and ::, and IPv4 addresses in IPv6's form (::ffff:127.0.0.1).
inline bool is_loopback_v6(const unsigned char* bytes) {
  for (int at = 0; at < 10; ++at)
    if (bytes[at] != 0) return false;
  const bool is_mapped = bytes[10] == 0xff && bytes[11] == 0xff, is_compatible = bytes[10] == 0 && bytes[11] == 0;
  return (is_mapped || is_compatible) && is_loopback_v4(bytes + 12);
}

inline bool is_loopback(const sockaddr* address, socklen_t size) {
  if (!address || size < sizeof(sa_family_t)) return false;
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in))
    return is_loopback_v4(
        reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr));
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6) - sizeof(unsigned))  // the scope may be left out
    return is_loopback_v6(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr.s6_addr);
  return false;
}

// Of the resolver's configuration: whether that address stands there as a name server. `text` ends with a zero.
inline bool names_server(const char* text, const char* address) {
  constexpr char word[] = "nameserver";
  for (const char* line = text; *line != '\0';) {
    const char* at = line;
    int matched = 0;
    while (word[matched] != '\0' && *at == word[matched]) ++at, ++matched;
    if (word[matched] == '\0' && (*at == ' ' || *at == '\t')) {
      while (*at == ' ' || *at == '\t') ++at;
      const char* wanted = address;
      while (*wanted != '\0' && *at == *wanted) ++at, ++wanted;
      if (*wanted == '\0' && (*at == '\0' || *at == '\n' || *at == ' ' || *at == '\t' || *at == '\r')) return true;
    }
    while (*line != '\0' && *line != '\n') ++line;
    if (*line == '\n') ++line;
  }
  return false;
}

}  // namespace vg::hypervisor
