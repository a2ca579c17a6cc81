#include "kube/front_proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "auth/headers.h"
#include "auth/identify.h"
#include "base/trimmed.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"

namespace vg::kube {
namespace {

// A JSON list of strings in a string. Nothing when the key is absent; an empty text is an empty list.
Result<std::optional<std::vector<std::string>>> read_names(const json::Object& data, std::string_view key,
                                                           const json::StoragePtr& storage) {
  const auto text = json::get_string(data, key);
  if (!text) return std::nullopt;
  std::vector<std::string> names;
  if (text->empty()) return names;
  const auto parsed = json::parse(*text, storage);
  const json::Array* list = parsed ? parsed->if_array() : nullptr;
  if (!list && !(parsed && parsed->is_null()))
    return fail(Status::bad_request(fmt::format("{} of ConfigMap {}/{} is not a JSON list of strings", key,
                                                front_proxy_namespace, front_proxy_config_map)));
  for (std::size_t i = 0; list && i < list->size(); ++i) names.emplace_back(json::as_string(&(*list)[i]).value_or(""));
  return names;
}

// The names that are always known, then those of the ConfigMap.
Result<void> add_names(std::vector<std::string>& names, std::string_view usual, const json::Object& data,
                       std::string_view key, const json::StoragePtr& storage) {
  names.emplace_back(usual);
  auto more = read_names(data, key, storage);
  if (!more) return fail(std::move(more.error()));
  if (*more)
    for (std::string& name : **more)
      if (!name.empty()) names.push_back(std::move(name));
  return {};
}

bool is_header(const http::HeaderField& field, std::string_view name) {
  return field.name.size() == name.size() && auth::starts_with_fold(field.name, name);
}

// The values of the first of these names that is there at all.
std::optional<std::vector<std::string>> first_present(const std::vector<std::string>& names,
                                                      const http::Headers& headers) {
  for (const std::string& name : names) {
    std::vector<std::string> values;
    for (const http::HeaderField& field : headers.fields())
      if (is_header(field, name)) values.emplace_back(field.value);
    if (!values.empty()) return values;
  }
  return std::nullopt;
}

}  // namespace

std::optional<http::ClientAuthority> FrontProxy::authority() const {
  if (!allowed_names || authorities_pem.empty()) return std::nullopt;
  return http::ClientAuthority{.name = std::string(auth::front_proxy_authority),
                               .certificates_pem = authorities_pem,
                               .common_names = *allowed_names};
}

Result<FrontProxy> read_front_proxy(std::string_view config_map) {
  json::Arena arena;
  const auto document = json::parse(config_map, arena.storage());
  if (!document) return fail(document.error());
  const json::Object* data = json::get_object(*document, "data");
  const auto authorities = data ? json::get_string(*data, "requestheader-client-ca-file") : std::nullopt;
  if (!authorities)
    return fail(Status::bad_request(
        fmt::format("ConfigMap {}/{} has no requestheader-client-ca-file: the API server runs without aggregation",
                    front_proxy_namespace, front_proxy_config_map)));
  FrontProxy proxy{.authorities_pem = std::string(*authorities)};
  if (auto count = http::read_bundle(proxy.authorities_pem); !count) return fail(std::move(count.error()));
  auto allowed = read_names(*data, "requestheader-allowed-names", arena.storage());
  if (!allowed) return fail(std::move(allowed.error()));
  proxy.allowed_names = std::move(*allowed);
  struct Row {
    std::vector<std::string>& names;
    std::string_view usual, key;
  };
  for (const Row& row : {Row{proxy.user_headers, "X-Remote-User", "requestheader-username-headers"},
                         Row{proxy.group_headers, "X-Remote-Group", "requestheader-group-headers"},
                         Row{proxy.extra_prefixes, "X-Remote-Extra-", "requestheader-extra-headers-prefix"}})
    if (auto added = add_names(row.names, row.usual, *data, row.key, arena.storage()); !added)
      return fail(std::move(added.error()));
  return proxy;
}

Result<User> user_of_headers(const FrontProxy& proxy, const http::Headers& headers) {
  auto names = first_present(proxy.user_headers, headers);
  if (!names) return fail(Status::unauthorized("the front proxy sent no user"));
  // An access review about nobody is one about the groups alone, and those are for people who have a name.
  if (trimmed(names->front()).empty()) return fail(Status::unauthorized("the front proxy sent an empty user"));
  auto groups = first_present(proxy.group_headers, headers);
  if (!groups) return fail(Status::unauthorized("the front proxy sent no group"));
  User user{.name = std::move(names->front()), .uid = {}, .groups = std::move(*groups), .extra = {}};
  for (const std::string& prefix : proxy.extra_prefixes)
    for (auto& [key, values] : auth::extra_headers(headers, prefix))
      user.extra.insert_or_assign(key, std::move(values));
  return user;
}

}  // namespace vg::kube
