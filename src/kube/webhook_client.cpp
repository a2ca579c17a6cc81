#include "kube/webhook_client.h"

#include <algorithm>
#include <utility>

#include "auth/identify.h"

namespace vg::kube {

http::ClientAuthority webhook_client_authority(std::string certificates_pem, std::string_view names) {
  http::ClientAuthority authority{
      .name = std::string(webhook_authority), .certificates_pem = std::move(certificates_pem), .common_names = {}};
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    if (!name.empty()) authority.common_names.emplace_back(name);
  }
  return authority;
}

std::optional<Status> refuse_stranger(const http::Request& request) {
  const auto& certificate = request.peer ? request.peer->certificate : std::nullopt;
  if (certificate &&
      (certificate->authority == webhook_authority || certificate->authority == auth::front_proxy_authority))
    return std::nullopt;
  return Status::unauthorized(
      "webhooks require the client certificate of kube-apiserver, and this request has none; configure "
      "one (a kubeConfigFile in its AdmissionConfiguration) that --webhook-client-ca-file accepts");
}

}  // namespace vg::kube
