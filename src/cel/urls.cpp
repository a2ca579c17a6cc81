#include "cel/urls.h"

#include <algorithm>
#include <cctype>

namespace vg::cel {
namespace {

using std::string_view;

bool is_scheme(string_view text) {
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text[0]))) return false;
  return std::ranges::all_of(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.'; });
}

bool escapes_are_whole(string_view text) {
  for (std::size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1))
    if (at + 2 >= text.size() || !std::isxdigit(static_cast<unsigned char>(text[at + 1])) ||
        !std::isxdigit(static_cast<unsigned char>(text[at + 2])))
      return false;
  return true;
}

bool is_port(string_view text) {
  return text.empty() || (text[0] == ':' && text.find_first_not_of("0123456789", 1) == text.npos);
}

// With brackets around an IPv6 address, and a port of digits.
bool is_host(string_view host) {
  if (host.starts_with('[')) {
    const auto close = host.find(']');
    return close != host.npos && is_port(host.substr(close + 1));
  }
  const auto colon = host.rfind(':');
  if (colon != host.npos && !is_port(host.substr(colon))) return false;
  return host.find_first_of(" <>\"^`{}|\\") == host.npos && escapes_are_whole(host);
}

}  // namespace

string_view Url::hostname() const {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  const auto colon = host.rfind(':');
  return host.substr(0, colon);
}

string_view Url::port() const {
  const auto colon = host.rfind(':');
  const auto bracket = host.find(']');
  if (colon == host.npos || (bracket != host.npos && colon < bracket)) return {};
  return host.substr(colon + 1);
}

std::optional<Url> parse_url(string_view text) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
  if (text.empty() || std::ranges::any_of(text, is_control)) return std::nullopt;
  Url url;
  // A fragment belongs to nothing that can be asked for.
  text = text.substr(0, text.find('#'));
  if (const auto colon = text.find(':'); colon != text.npos && is_scheme(text.substr(0, colon))) {
    url.scheme = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  if (const auto question = text.find('?'); question != text.npos) {
    url.query = text.substr(question + 1);
    text = text.substr(0, question);
  }
  if (!text.starts_with('/')) return url.scheme.empty() ? std::nullopt : std::optional(url);  // mailto:a
  if (text.starts_with("//") && (!url.scheme.empty() || !text.starts_with("///"))) {
    text.remove_prefix(2);
    url.host = text.substr(0, text.find('/'));
    text.remove_prefix(url.host.size());
    if (const auto at = url.host.rfind('@'); at != url.host.npos) url.host.remove_prefix(at + 1);
    if (!is_host(url.host)) return std::nullopt;
  }
  url.path = text;
  return escapes_are_whole(text) ? std::optional(url) : std::nullopt;
}

}  // namespace vg::cel
