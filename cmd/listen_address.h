// Where a standalone server listens: HOST:PORT, with an IPv6 address in brackets.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace vg::cmd {

struct ListenAddress {
  std::string host;  // without brackets
  std::uint16_t port = 0;

  bool is_wildcard() const { return host == "0.0.0.0" || host == "::"; }
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  std::string text() const;  // as it would be given
  // How a client on this machine reaches it: all addresses include the loopback one.
  std::string url() const;
};

// The error is a sentence for the user.
std::expected<ListenAddress, std::string> parse_listen_address(std::string_view text);

// True for what can be a DNS name or an IPv4 address.
bool is_host_name(std::string_view host);

}  // namespace vg::cmd
