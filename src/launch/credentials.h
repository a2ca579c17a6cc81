// Accounts of registries, as image pull secrets have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::launch {

struct Account {
  std::string user, password;
  bool operator==(const Account&) const = default;
};

// The account for an image: the entry whose name is the longest beginning of the reference, of a Secret with
// .dockerconfigjson or .dockercfg; or one with accessKeyId and secretKey, as CDI's have.
std::optional<Account> account_for(const json::Object& secret, std::string_view reference);

}  // namespace vg::launch
