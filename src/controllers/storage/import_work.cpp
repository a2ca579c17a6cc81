#include "controllers/storage/import_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/disk_limits.h"
#include "controllers/common/owners.h"
#include "controllers/storage/facts.h"
#include "json/access.h"

namespace vg::controllers::storage {
namespace {

// As many as an import's message can carry anyway.
constexpr std::size_t headers_asked = 64;

std::string decoded(const json::Value* value) {
  return base64_decode(json::as_string(value).value_or("")).value_or("");
}

struct Account {
  std::string user, password;
};
std::expected<Account, std::string> read_account(const World& world, std::string_view ns, std::string_view name) {
  if (name.empty()) return Account();
  const json::Object* secret = world.get("secrets", ns, name);
  if (!secret) return std::unexpected(fmt::format("secret \"{}\" not found", name));
  const json::Object* data = json::get_object(*secret, "data");
  if (!data) return Account();
  return Account{.user = decoded(json::find(*data, "accessKeyId")),
                 .password = decoded(json::find(*data, "secretKey"))};
}

enum class Asker : std::uint8_t { web, registry };

// DV-82 for web servers, DV-95 for registries.
bool is_authority(std::string_view key, Asker asker) {
  if (key.starts_with('.')) return false;
  return asker == Asker::web || key.ends_with(".crt") || key.ends_with(".pem");
}

std::expected<std::string, std::string> read_authorities(const World& world, std::string_view ns, std::string_view name,
                                                         Asker asker) {
  std::string all;
  if (name.empty()) return all;
  const json::Object* map = world.get("configmaps", ns, name);
  if (!map) return std::unexpected(fmt::format("configmap \"{}\" not found", name));
  if (const json::Object* data = json::get_object(*map, "data"))
    for (const auto& member : *data) {
      if (!is_authority(member.key(), asker)) continue;
      all.append(json::as_string(&member.value()).value_or("")).append("\n");
    }
  return all;
}

// DV-83: "extraHeaders.0", "extraHeaders.1" and so on.
std::expected<std::vector<std::string>, std::string> read_headers(const World& world, const json::Object& claim,
                                                                  std::string_view ns) {
  std::vector<std::string> headers;
  for (std::size_t i = 0; i < headers_asked; ++i) {
    const std::string numbered = fmt::format("{}{}", mark::import_headers, i);
    if (!has_annotation(claim, numbered)) break;
    headers.emplace_back(annotation_of(claim, numbered));
  }
  for (std::size_t i = 0; i < headers_asked; ++i) {
    const std::string numbered = fmt::format("{}{}", mark::import_secret_headers, i);
    if (!has_annotation(claim, numbered)) break;
    const std::string_view name = annotation_of(claim, numbered);
    const json::Object* secret = world.get("secrets", ns, name);
    if (!secret) return std::unexpected(fmt::format("secret \"{}\" not found", name));
    if (const json::Object* data = json::get_object(*secret, "data"))
      for (const auto& member : *data) headers.push_back(decoded(&member.value()));
  }
  std::erase_if(headers, [](const std::string& header) { return !header.contains(':'); });
  return headers;
}

// https://host is what a registry is asked by; an insecure one is named in the CDIConfig (DV-95).
bool is_insecure_registry(const World& world, std::string_view url) {
  const json::Object* config = world.get(cdi_configs, "", cdi_config_name);
  const json::Object* spec = config ? spec_of(*config) : nullptr;
  const json::Array* hosts = spec ? json::get_array(*spec, "insecureRegistries") : nullptr;
  constexpr std::string_view scheme = "docker://";
  std::string_view host = url.substr(url.starts_with(scheme) ? scheme.size() : 0);
  host = host.substr(0, host.find('/'));
  return hosts && std::ranges::any_of(*hosts, [&](const json::Value& one) { return json::as_string(&one) == host; });
}

}  // namespace

std::expected<DiskWork, std::string> import_work(const World& world, const json::Object& claim,
                                                 const ImageTarget& target) {
  const std::string_view ns = metadata_text(claim, "namespace"), source = annotation_of(claim, mark::import_source);
  const std::string url(annotation_of(claim, mark::import_endpoint));
  if (source == "none") return MakeBlankImage{.size = target.size, .preallocate = target.preallocate};
  auto account = read_account(world, ns, annotation_of(claim, mark::import_secret));
  if (!account) return std::unexpected(account.error());
  auto authorities = read_authorities(world, ns, annotation_of(claim, mark::import_authorities),
                                      source == "registry" ? Asker::registry : Asker::web);
  if (!authorities) return std::unexpected(authorities.error());
  auto headers = read_headers(world, claim, ns);
  if (!headers) return std::unexpected(headers.error());
  if (source == "registry")
    return ImportRegistry{.target = target,
                          .url = url,
                          .user = std::move(account->user),
                          .password = std::move(account->password),
                          .authorities = std::move(*authorities),
                          .architecture = std::string(annotation_of(claim, mark::import_architecture)),
                          .insecure = is_insecure_registry(world, url)};
  return ImportHttp{.target = target,
                    .url = url,
                    .checksum = std::string(annotation_of(claim, mark::import_checksum)),
                    .user = std::move(account->user),
                    .password = std::move(account->password),
                    .headers = std::move(*headers),
                    .authorities = std::move(*authorities),
                    .insecure = annotation_of(claim, mark::import_insecure) == "true"};
}

std::expected<ReadDigest, std::string> digest_work(const World& world, std::string_view ns,
                                                   const json::Object& registry) {
  auto account = read_account(world, ns, json::get_string_or(registry, "secretRef"));
  if (!account) return std::unexpected(account.error());
  auto authorities = read_authorities(world, ns, json::get_string_or(registry, "certConfigMap"), Asker::registry);
  if (!authorities) return std::unexpected(authorities.error());
  const std::string url(json::get_string_or(registry, "url"));
  return ReadDigest{.from = {.target = {},
                             .url = url,
                             .user = std::move(account->user),
                             .password = std::move(account->password),
                             .authorities = std::move(*authorities),
                             .insecure = is_insecure_registry(world, url)}};
}

}  // namespace vg::controllers::storage
