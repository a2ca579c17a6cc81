#include "kube/tls_settings.h"

#include "config/cluster_config.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::kube {

std::optional<TlsSettings> read_tls_settings(std::string_view kubevirt) {
  const auto document = json::Document::parse(kubevirt);
  if (!document) return std::nullopt;
  const json::Value& root = document->root();
  if (!config::counts(root)) return std::nullopt;
  TlsSettings settings;
  const json::Value* wanted = json::find_path(root, {"spec", "configuration", "tlsConfiguration"});
  if (!wanted || !wanted->is_object()) return settings;
  settings.min_version = http::tls_version_from(json::get_string_or(*wanted, "minTLSVersion"));
  if (const json::Array* ciphers = json::get_array(*wanted, "ciphers"))
    for (const json::Value& cipher : *ciphers) settings.ciphers.emplace_back(json::as_string(&cipher).value_or(""));
  return settings;
}

TlsSettings tls_settings(const Reflector& kubevirts, std::string_view ns) {
  for (const auto& object : kubevirts.list(ns))
    if (auto settings = read_tls_settings(object->json)) return std::move(*settings);
  return {};
}

}  // namespace vg::kube
