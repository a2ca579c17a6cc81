#include "kube/proxy_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/net.h"
#include "base/trimmed.h"
#include "server/path.h"

namespace vg::kube {
namespace {

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c != '\x7f'; });
}

// --- the URL of a proxy ---------------------------------------------------------------------------------------------

struct Scheme {
  std::string_view name;
  std::uint16_t usual_port;
  std::optional<http::Proxy::Kind> kind;  // absent: known, and not done
};
// Names are left to the proxy in both spellings of SOCKS5, as Go does it.
constexpr Scheme schemes[] = {{"http", 80, http::Proxy::Kind::http},
                              {"https", 443, std::nullopt},
                              {"socks5", 1080, http::Proxy::Kind::socks5},
                              {"socks5h", 1080, http::Proxy::Kind::socks5}};

// The parts of a URL, as they are written.
struct ProxyUrl {
  std::string scheme;
  std::optional<std::string_view> user;
  std::optional<std::string_view> password;
  std::string_view host, port;
};

void split_user(std::string_view text, ProxyUrl& url) {
  const auto colon = text.find(':');
  url.user = text.substr(0, colon);
  if (colon != text.npos) url.password = text.substr(colon + 1);
}

// "host", "host:port", "[address]", "[address]:port".
bool split_host(std::string_view text, ProxyUrl& url) {
  const bool bracketed = text.starts_with('[');
  const auto end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == text.npos) return false;
  url.host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  std::string_view rest = end == text.npos ? std::string_view() : text.substr(bracketed ? end + 1 : end);
  if (!rest.empty() && rest.front() != ':') return false;
  if (!rest.empty()) rest.remove_prefix(1);
  url.port = rest;
  return !url.host.empty() && is_plain(url.host) &&
         std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_scheme(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

std::optional<ProxyUrl> split_url(std::string_view text) {
  text = trimmed(text);
  ProxyUrl url{.scheme = "http", .user = {}, .password = {}, .host = {}, .port = {}};
  if (const auto end = text.find("://"); end != text.npos && is_scheme(text.substr(0, end))) {
    url.scheme = lowered(text.substr(0, end));
    text.remove_prefix(end + 3);
  }
  text = text.substr(0, text.find_first_of("/?#"));
  if (const auto at = text.rfind('@'); at != text.npos) {
    split_user(text.substr(0, at), url);
    text.remove_prefix(at + 1);
  }
  if (!split_host(text, url)) return std::nullopt;
  return url;
}

Result<std::optional<http::Proxy::Login>> read_login(const ProxyUrl& url) {
  if (!url.user) return std::nullopt;
  auto user = server::percent_decode(*url.user);
  auto password = server::percent_decode(url.password.value_or(""));
  if (!user || !password)
    return fail(Status::bad_request(
        fmt::format("the credentials in the URL of proxy {} have an invalid escape; write % as %25", url.host)));
  return http::Proxy::Login{.user = std::move(*user), .password = std::move(*password)};
}

Result<http::ProxyPtr> proxy_of(const ProxyUrl& url) {
  const auto scheme = std::ranges::find(schemes, url.scheme, &Scheme::name);
  if (scheme == std::end(schemes) || !scheme->kind)
    return fail(
        Status::bad_request(fmt::format("a proxy with {}:// is not supported for the API server; use "
                                        "http:// or socks5://, or exclude the API server with NO_PROXY",
                                        url.scheme)));
  auto login = read_login(url);
  if (!login) return fail(std::move(login.error()));
  const auto port = url.port.empty() ? scheme->usual_port : parse_port(url.port);
  if (!port)
    return fail(Status::bad_request(
        fmt::format("\"{}\" is not a port of proxy {}; use a number from 1 to 65535", url.port, url.host)));
  return std::make_shared<const http::Proxy>(
      http::Proxy{.kind = *scheme->kind, .host = std::string(url.host), .port = *port, .login = std::move(*login)});
}

// --- NO_PROXY -------------------------------------------------------------------------------------------------------

// Who is asked for.
struct Asked {
  std::string host;  // in lower case
  std::string port;
  std::optional<IpAddress> address;
};

// Go takes an address with a zone for an address.
std::optional<IpAddress> address_of(std::string_view host) {
  if (host.contains(':')) host = host.substr(0, host.find('%'));
  return parse_ip(host, LeadingZeros::ignored);
}

bool is_loopback(const IpAddress& address) {
  if (address.is_v4()) return address.bytes()[12] == 127;
  return address == parse_ip("::1");
}

bool contains(const Cidr& network, const IpAddress& address) {
  if (network.address.is_v4() != address.is_v4()) return false;
  const auto& left = network.address.bytes();
  const auto& right = address.bytes();
  const int bits = network.prefix_bits + (address.is_v4() ? 96 : 0);
  for (int bit = 0; bit < bits; ++bit) {
    const auto at = static_cast<std::size_t>(bit / 8);
    if (((left[at] ^ right[at]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

// As Go's net.SplitHostPort; nothing where there is no port.
std::optional<std::pair<std::string_view, std::string_view>> split_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.contains(':'))
    return std::nullopt;
  return std::pair(host, text.substr(colon + 1));
}

bool is_in_domain(std::string_view host, std::string_view pattern) {
  if (pattern.starts_with("*.")) pattern.remove_prefix(1);
  if (pattern.starts_with('.')) return host.ends_with(pattern);
  return host == pattern ||
         (host.ends_with(pattern) && host.size() > pattern.size() && host[host.size() - pattern.size() - 1] == '.');
}

// One entry, trimmed and in lower case.
bool exempts(std::string_view entry, const Asked& asked) {
  if (entry == "*") return true;
  if (const auto network = parse_cidr(entry, LeadingZeros::ignored))
    return asked.address && contains(*network, *asked.address);
  const auto [host, port] = split_host_port(entry).value_or(std::pair(entry, std::string_view()));
  if (host.empty() || (!port.empty() && port != asked.port)) return false;
  if (const auto address = parse_ip(host)) return asked.address == address;
  return !asked.address && is_in_domain(asked.host, host);
}

std::string variable(const Environment& environment, const char* upper, const char* lower) {
  auto value = environment(upper);
  if (!value || value->empty()) value = environment(lower);
  return value.value_or("");
}

}  // namespace

Result<http::ProxyPtr> parse_proxy_url(std::string_view url) {
  const auto parts = split_url(url);
  if (!parts) return fail(Status::bad_request("the URL of the proxy has no host; use http://HOST:PORT"));
  return proxy_of(*parts);
}

bool is_exempt(std::string_view no_proxy, std::string_view host, std::uint16_t port) {
  const Asked asked{.host = lowered(trimmed(host)), .port = std::to_string(port), .address = address_of(host)};
  if (host == "localhost" || (asked.address && is_loopback(*asked.address))) return true;
  const std::string list = lowered(no_proxy);
  for (std::string_view rest = list; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    if (!trimmed(entry).empty() && exempts(trimmed(entry), asked)) return true;
  }
  return false;
}

Result<ProxyChoice> choose_proxy(const Environment& environment, const http::Origin& origin) {
  const char* const name = origin.tls ? "HTTPS_PROXY" : "HTTP_PROXY";
  const std::string url = variable(environment, name, origin.tls ? "https_proxy" : "http_proxy");
  if (trimmed(url).empty()) return ProxyChoice{};
  if (is_exempt(variable(environment, "NO_PROXY", "no_proxy"), origin.host, origin.port)) return ProxyChoice{};
  // Inside a CGI program HTTP_PROXY is a header field that a client has sent.
  if (!origin.tls && !environment("REQUEST_METHOD").value_or("").empty())
    return fail(Status::bad_request("HTTP_PROXY is ignored because REQUEST_METHOD is set: a client could have set it"));
  const auto parts = split_url(url);
  if (!parts)
    return ProxyChoice{.proxy = nullptr,
                       .warning = fmt::format("{} has no host; the API server is reached directly", name)};
  auto proxy = proxy_of(*parts);
  if (!proxy) return fail(std::move(proxy.error()));
  return ProxyChoice{.proxy = std::move(*proxy), .warning = {}};
}

}  // namespace vg::kube
