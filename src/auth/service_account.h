// How service accounts appear as users.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vg::auth {

inline constexpr std::string_view service_account_prefix = "system:serviceaccount:";
inline constexpr std::string_view service_accounts_group = "system:serviceaccounts";

std::string service_account_user(std::string_view ns, std::string_view name);
std::vector<std::string> service_account_groups(std::string_view ns);

struct ServiceAccountName {
  std::string_view ns, name;
};
// Nothing unless the user name is one that service_account_user makes of valid names.
std::optional<ServiceAccountName> split_service_account_user(std::string_view user);

}  // namespace vg::auth
