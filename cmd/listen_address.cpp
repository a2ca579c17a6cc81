#include "listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/limits.h"

namespace vg::cmd {
namespace {

bool is_ipv6_address(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= limits::dns_subdomain_bytes_max && !host.starts_with('-') &&
         !host.starts_with('.') && std::ranges::all_of(host, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

std::string ListenAddress::text() const {
  return is_ipv6() ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string ListenAddress::url() const {
  ListenAddress reachable = *this;
  if (host == "0.0.0.0") reachable.host = "127.0.0.1";
  if (host == "::") reachable.host = "::1";
  return "https://" + reachable.text();
}

std::expected<ListenAddress, std::string> parse_listen_address(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return std::unexpected(
        fmt::format("--listen \"{}\": {}; write HOST:PORT, for example 127.0.0.1:6443, [::1]:6443, or 0.0.0.0:6443 for "
                    "all addresses",
                    text, why));
  };
  ListenAddress address;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == text.npos) return refuse("the bracket is not closed");
    address.host = text.substr(1, end - 1);
    if (!is_ipv6_address(address.host)) return refuse("the address in brackets is not an IPv6 address");
    port = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    if (colon != text.npos && text.find(':', colon + 1) != text.npos)
      return refuse("an IPv6 address must be in brackets");
    address.host = text.substr(0, colon);
    if (address.host.empty()) return refuse("the host is required");
    if (!is_host_name(address.host)) return refuse("the host is neither an address nor a name");
    port = colon == text.npos ? std::string_view() : text.substr(colon);
  }
  if (port.size() < 2 || port[0] != ':') return refuse("the port is required");
  port.remove_prefix(1);
  const char* end = port.data() + port.size();
  auto [stop, error] = std::from_chars(port.data(), end, address.port);
  if (error != std::errc() || stop != end || address.port == 0) return refuse("the port must be from 1 to 65535");
  return address;
}

}  // namespace vg::cmd
