#include "server/shown_target.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/path.h"

namespace vg::server {
namespace {

constexpr std::array<std::string_view, 6> credential_words{"token",  "password",   "passwd",
                                                           "secret", "credential", "authorization"};

// By the name as a server would read it. One that cannot be read may be anything.
bool names_credential(std::string_view name) {
  std::optional<std::string> decoded = percent_decode(name, true);
  if (!decoded) return true;
  std::ranges::transform(*decoded, decoded->begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return std::ranges::any_of(credential_words, [&](std::string_view word) { return decoded->contains(word); });
}

}  // namespace

std::string shown_target(std::string_view target) {
  const auto question = target.find('?');
  std::string shown(target.substr(0, question));
  if (question == target.npos) return shown;
  std::string_view rest = target.substr(question);
  while (!rest.empty()) {  // each begins with its '?' or '&'
    const std::string_view part = rest.substr(0, rest.find('&', 1));
    rest.remove_prefix(part.size());
    const auto equals = part.find('=');
    const bool hidden = equals != part.npos && names_credential(part.substr(1, equals - 1));
    shown.append(hidden ? part.substr(0, equals + 1) : part);
    if (hidden) shown += "...";
  }
  return shown;
}

}  // namespace vg::server
