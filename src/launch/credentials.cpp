#include "launch/credentials.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::launch {
namespace {

std::string decoded(const json::Object& secret, std::string_view key) {
  const json::Object* data = json::get_object(secret, "data");
  const std::string_view text = data ? json::get_string_or(*data, key) : std::string_view();
  return base64_decode_lenient(text).value_or(std::string());
}

// "https://quay.io/v1/" -> "quay.io"; Docker's own registry has several names.
std::string_view host_path(std::string_view entry) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (entry.starts_with(scheme)) entry.remove_prefix(scheme.size());
  for (const std::string_view tail : {"/", "/v1", "/v2"})
    if (entry.ends_with(tail)) entry.remove_suffix(tail.size());
  for (const std::string_view tail : {"/v1", "/v2"})
    if (entry.ends_with(tail)) entry.remove_suffix(tail.size());
  return entry == "index.docker.io" || entry == "registry-1.docker.io" ? "docker.io" : entry;
}

// With a host, as entries have them.
std::string full_name(std::string_view reference) {
  const std::string_view first = reference.substr(0, reference.find('/'));
  const bool has_host =
      first.size() < reference.size() && (first.contains('.') || first.contains(':') || first == "localhost");
  return has_host ? std::string(reference) : fmt::format("docker.io/{}", reference);
}

bool covers(std::string_view entry, std::string_view name) {
  return name.starts_with(entry) && (name.size() == entry.size() || name[entry.size()] == '/' ||
                                     name[entry.size()] == ':' || name[entry.size()] == '@');
}

Account read_account(const json::Value& entry) {
  Account account{.user = std::string(json::get_string_or(entry, "username")),
                  .password = std::string(json::get_string_or(entry, "password"))};
  if (!account.user.empty()) return account;
  const std::string both = base64_decode_lenient(json::get_string_or(entry, "auth")).value_or(std::string());
  const auto colon = both.find(':');
  if (colon != both.npos) account = {.user = both.substr(0, colon), .password = both.substr(colon + 1)};
  return account;
}

std::optional<Account> best_of(const json::Object& entries, std::string_view reference) {
  const std::string name = full_name(reference);
  const json::Value* best = nullptr;
  std::size_t length = 0;
  for (const auto& [key, entry] : entries) {
    const std::string_view place = host_path(key);
    if (place.empty() || place.size() < length || !covers(place, name)) continue;
    best = &entry;
    length = place.size();
  }
  if (!best) return std::nullopt;
  Account account = read_account(*best);
  return account.user.empty() ? std::nullopt : std::optional(std::move(account));
}

}  // namespace

std::optional<Account> account_for(const json::Object& secret, std::string_view reference) {
  if (const std::string text = decoded(secret, ".dockerconfigjson"); !text.empty()) {
    const auto document = json::Document::parse(text);
    const json::Object* entries = document ? json::get_object(document->root(), "auths") : nullptr;
    return entries ? best_of(*entries, reference) : std::nullopt;
  }
  if (const std::string text = decoded(secret, ".dockercfg"); !text.empty()) {
    const auto document = json::Document::parse(text);
    const json::Object* entries = document ? document->root().if_object() : nullptr;
    return entries ? best_of(*entries, reference) : std::nullopt;
  }
  Account account{.user = decoded(secret, "accessKeyId"), .password = decoded(secret, "secretKey")};
  return account.user.empty() ? std::nullopt : std::optional(std::move(account));
}

}  // namespace vg::launch
