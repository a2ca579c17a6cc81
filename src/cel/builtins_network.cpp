// Addresses, networks and URLs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "cel/builtins.h"
#include "cel/urls.h"

namespace vg::cel {
namespace {

using std::string_view;
using Arguments = std::span<const Value>;

// IPv4 inside of IPv6 is refused: two spellings of one address would differ.
std::optional<IpAddress> read_address(string_view text) {
  const auto address = parse_ip(text);
  return address && address->is_v4() && text.contains(':') ? std::nullopt : address;
}
std::optional<Cidr> read_cidr(string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != text.npos && text.size() > slash + 2 && text[slash + 1] == '0') return std::nullopt;
  const auto cidr = parse_cidr(text);
  return cidr && cidr->address.is_v4() && text.contains(':') ? std::nullopt : cidr;
}

Value network_value(Runtime& runtime, const IpAddress& address) {
  Value value(Tag::address);
  value.address = runtime.memory.make(address);
  return value;
}
Value network_value(Runtime& runtime, const Cidr& cidr) {
  Value value(Tag::cidr);
  value.cidr = runtime.memory.make(cidr);
  return value;
}

Value no_address() { return Value::of_text("IP Address parse error during conversion from string", Tag::error); }
Value no_cidr() { return Value::of_text("network address parse error during conversion from string", Tag::error); }

Value ip(Runtime& runtime, Arguments arguments) {
  if (are(arguments, {Tag::cidr})) return network_value(runtime, arguments[0].cidr->address);
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  const auto address = read_address(arguments[0].text);
  return address ? network_value(runtime, *address) : no_address();
}
Value is_ip(Runtime& runtime, Arguments arguments) {
  return are(arguments, {Tag::string}) ? Value::of(read_address(arguments[0].text).has_value()) : runtime.no_overload();
}
Value is_canonical(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  const auto address = read_address(arguments[0].text);
  return address ? Value::of(address->to_string() == arguments[0].text) : no_address();
}
Value family(Runtime& runtime, Arguments arguments) {
  return are(arguments, {Tag::address}) ? Value::of(std::int64_t{arguments[0].address->is_v4() ? 4 : 6})
                                        : runtime.no_overload();
}

// --- kinds of addresses ----------------------------------------------------------------------------------------------

bool is_unspecified(const IpAddress& address) {
  const auto& bytes = address.bytes();
  const std::size_t from = address.is_v4() ? 12 : 0;
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(),
                     [](auto byte) { return byte == 0; });
}
bool is_loopback(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (address.is_v4()) return bytes[12] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](auto byte) { return byte == 0; });
}
bool is_link_local_multicast(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (address.is_v4()) return bytes[12] == 224 && bytes[13] == 0 && bytes[14] == 0;
  return bytes[0] == 0xff && (bytes[1] & 0x0f) == 2;
}
bool is_link_local_unicast(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (address.is_v4()) return bytes[12] == 169 && bytes[13] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}
bool is_global_unicast(const IpAddress& address) {
  const auto& bytes = address.bytes();
  const bool broadcast =
      address.is_v4() && std::all_of(bytes.begin() + 12, bytes.end(), [](auto b) { return b == 255; });
  const bool multicast = address.is_v4() ? (bytes[12] & 0xf0) == 0xe0 : bytes[0] == 0xff;
  return !is_unspecified(address) && !broadcast && !is_loopback(address) && !multicast &&
         !is_link_local_unicast(address);
}

template <bool (*test)(const IpAddress&)>
Value address_is(Runtime& runtime, Arguments arguments) {
  return are(arguments, {Tag::address}) ? Value::of(test(*arguments[0].address)) : runtime.no_overload();
}

// --- networks --------------------------------------------------------------------------------------------------------

IpAddress masked(const IpAddress& address, int prefix_bits) {
  auto bytes = address.bytes();
  const int bits = prefix_bits + (address.is_v4() ? 96 : 0);
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(bits - 8 * i, 0, 8);
    bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xff << (8 - kept));
  }
  return IpAddress::from_bytes(bytes);
}

bool contains(const Cidr& cidr, const IpAddress& address) {
  return cidr.address.is_v4() == address.is_v4() &&
         masked(cidr.address, cidr.prefix_bits) == masked(address, cidr.prefix_bits);
}

Value to_cidr(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  const auto cidr = read_cidr(arguments[0].text);
  return cidr ? network_value(runtime, *cidr) : no_cidr();
}
Value is_cidr(Runtime& runtime, Arguments arguments) {
  return are(arguments, {Tag::string}) ? Value::of(read_cidr(arguments[0].text).has_value()) : runtime.no_overload();
}
Value contains_ip(Runtime& runtime, Arguments arguments) {
  if (are(arguments, {Tag::cidr, Tag::address})) return Value::of(contains(*arguments[0].cidr, *arguments[1].address));
  if (!are(arguments, {Tag::cidr, Tag::string})) return runtime.no_overload();
  const auto address = read_address(arguments[1].text);
  return address ? Value::of(contains(*arguments[0].cidr, *address)) : no_address();
}
Value contains_cidr(Runtime& runtime, Arguments arguments) {
  std::optional<Cidr> inner;
  if (are(arguments, {Tag::cidr, Tag::cidr}))
    inner = *arguments[1].cidr;
  else if (!are(arguments, {Tag::cidr, Tag::string}))
    return runtime.no_overload();
  else
    inner = read_cidr(arguments[1].text);
  if (!inner) return no_cidr();
  const Cidr& outer = *arguments[0].cidr;
  return Value::of(outer.prefix_bits <= inner->prefix_bits && contains(outer, inner->address));
}
Value mask(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::cidr})) return runtime.no_overload();
  const Cidr& cidr = *arguments[0].cidr;
  return network_value(runtime,
                       Cidr{.address = masked(cidr.address, cidr.prefix_bits), .prefix_bits = cidr.prefix_bits});
}
Value prefix_length(Runtime& runtime, Arguments arguments) {
  return are(arguments, {Tag::cidr}) ? Value::of(std::int64_t{arguments[0].cidr->prefix_bits}) : runtime.no_overload();
}

// --- URLs ------------------------------------------------------------------------------------------------------------

Value to_url(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  runtime.meter.take_text(arguments[0].text.size());
  if (!parse_url(arguments[0].text)) return Value::of_text("URL parse error during conversion from string", Tag::error);
  return Value::of_text(arguments[0].text, Tag::url);
}
Value is_url(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  runtime.meter.take_text(arguments[0].text.size());
  return Value::of(parse_url(arguments[0].text).has_value());
}

template <class Part>
Value url_part(Runtime& runtime, Arguments arguments, Part part) {
  if (!are(arguments, {Tag::url})) return runtime.no_overload();
  runtime.meter.take_text(arguments[0].text.size());
  const auto url = parse_url(arguments[0].text);
  return Value::of_text(url ? part(*url) : string_view());
}
Value scheme(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::url})) return runtime.no_overload();
  std::string text(parse_url(arguments[0].text)->scheme);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return runtime.memory.text(text);
}
Value host(Runtime& runtime, Arguments arguments) {
  return url_part(runtime, arguments, [](const Url& url) { return url.host; });
}
Value hostname(Runtime& runtime, Arguments arguments) {
  return url_part(runtime, arguments, [](const Url& url) { return url.hostname(); });
}
Value port(Runtime& runtime, Arguments arguments) {
  return url_part(runtime, arguments, [](const Url& url) { return url.port(); });
}
Value path(Runtime& runtime, Arguments arguments) {
  return url_part(runtime, arguments, [](const Url& url) { return url.path; });
}

std::optional<std::string> unescaped(string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const auto digit = [&](std::size_t at) {
        const char c = at < text.size() ? text[at] : '?';
        return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
      };
      if (digit(i + 1) < 0 || digit(i + 2) < 0) return std::nullopt;
      out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
      i += 2;
    }
  }
  return out;
}

// Pairs that cannot be read are left out, as in Go.
Value query(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::url})) return runtime.no_overload();
  runtime.meter.take_text(10 * arguments[0].text.size());
  std::map<std::string, std::vector<Value>> found;
  string_view rest = parse_url(arguments[0].text)->query;
  while (!rest.empty()) {
    const string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    const auto key = unescaped(pair.substr(0, equals));
    const auto value = unescaped(pair.substr(std::min(equals + 1, pair.size())));
    if (!pair.empty() && !pair.contains(';') && key && value) found[*key].push_back(runtime.memory.text(*value));
  }
  std::vector<Entry> entries;
  for (const auto& [key, values] : found) entries.push_back({runtime.memory.text(key), runtime.memory.list(values)});
  return runtime.memory.map(std::move(entries));
}

constexpr Builtin network_rows[] = {
    {"ip", ip},
    {"isIP", is_ip},
    {"ip.isCanonical", is_canonical},
    {"family", family},
    {"isUnspecified", address_is<is_unspecified>},
    {"isLoopback", address_is<is_loopback>},
    {"isLinkLocalMulticast", address_is<is_link_local_multicast>},
    {"isLinkLocalUnicast", address_is<is_link_local_unicast>},
    {"isGlobalUnicast", address_is<is_global_unicast>},
    {"cidr", to_cidr},
    {"isCIDR", is_cidr},
    {"containsIP", contains_ip},
    {"containsCIDR", contains_cidr},
    {"masked", mask},
    {"prefixLength", prefix_length},
    {"url", to_url},
    {"isURL", is_url},
    {"getScheme", scheme},
    {"getHost", host},
    {"getHostname", hostname},
    {"getPort", port},
    {"getEscapedPath", path},
    {"getQuery", query},
};

}  // namespace

std::span<const Builtin> network_builtins() { return network_rows; }

}  // namespace vg::cel
