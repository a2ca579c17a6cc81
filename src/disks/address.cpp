#include "disks/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/guest_address.h"

namespace vg::disks {
namespace {

// As text; IPv4 inside of IPv6 as what it leads to.
std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size()) ? text.data() : "";
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
    return ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size()) ? text.data() : "";
  return ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size()) ? text.data() : "";
}

}  // namespace

HostAndPort split_host(std::string_view text, std::string_view default_port) {
  HostAndPort place{.host = {}, .port = std::string(default_port)};
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = std::min(text.find(']'), text.size());
    place.host = text.substr(1, end - 1);
    rest = text.substr(std::min(end + 1, text.size()));
  } else {
    place.host = text.substr(0, text.find(':'));
    rest = text.substr(place.host.size());
  }
  if (rest.size() > 1 && rest.front() == ':') place.port = rest.substr(1);
  return place;
}

Outcome<std::vector<std::string>> allowed_hosts(const HostAndPort& place, std::string_view blocked) {
  const auto networks = parse_networks(blocked);
  if (!networks) return failed(DiskError::other, "the list of blocked networks cannot be read");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found); error != 0)
    return failed(DiskError::other,
                  fmt::format("the address of {} cannot be found: {}", place.host, ::gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* one = all.get(); one; one = one->ai_next) {
    std::string text = text_of(*one->ai_addr);
    // Whoever connects to no address in particular reaches this host.
    if (text == "0.0.0.0") text = "127.0.0.1";
    if (text == "::") text = "::1";
    const auto address = parse_ip(text);
    if (!address || leads_into(*address, *networks)) continue;
    addresses.push_back(std::move(text));
  }
  if (addresses.empty())
    return failed(
        DiskError::other,
        fmt::format("{} is in a network that nothing is imported from (--import-blocked-networks)", place.host));
  return addresses;
}

bool blocks_loopback(std::string_view blocked) {
  const auto networks = parse_networks(blocked);
  if (!networks) return true;
  const auto loopback = parse_cidr("127.0.0.0/8"), loopback6 = parse_cidr("::1/128");
  return std::ranges::any_of(*networks, [&](const Cidr& network) {
    return contains(network, loopback->address) || contains(*loopback, network.address) ||
           contains(network, loopback6->address);
  });
}

}  // namespace vg::disks
