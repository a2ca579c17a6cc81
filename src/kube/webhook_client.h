// Who calls webhooks: kube-apiserver, when it shows a certificate by which it can be told from everybody else in the
// network. Whether it must is the operator's choice, since it shows none unless it is configured to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "http/exchange.h"
#include "http/tls.h"

namespace vg::kube {

// The name under which the authorities of that certificate are given to the TLS layer.
inline constexpr std::string_view webhook_authority = "webhook-client";

// `names` are common names, separated by commas; none: any.
http::ClientAuthority webhook_client_authority(std::string certificates_pem, std::string_view names);

// Why this is not kube-apiserver; nothing when it is. Its front-proxy certificate says who it is as well.
std::optional<Status> refuse_stranger(const http::Request& request);

}  // namespace vg::kube
