#include "auth/service_account.h"

#include <fmt/format.h>

#include "base/names.h"

namespace vg::auth {

std::string service_account_user(std::string_view ns, std::string_view name) {
  return fmt::format("{}{}:{}", service_account_prefix, ns, name);
}

std::vector<std::string> service_account_groups(std::string_view ns) {
  return {std::string(service_accounts_group), fmt::format("{}:{}", service_accounts_group, ns)};
}

std::optional<ServiceAccountName> split_service_account_user(std::string_view user) {
  if (!user.starts_with(service_account_prefix)) return std::nullopt;
  user.remove_prefix(service_account_prefix.size());
  const std::size_t colon = user.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const ServiceAccountName name{.ns = user.substr(0, colon), .name = user.substr(colon + 1)};
  if (!dns1123_label_defects(name.ns).empty() || !dns1123_subdomain_defects(name.name).empty()) return std::nullopt;
  return name;
}

}  // namespace vg::auth
