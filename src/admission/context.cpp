#include "admission/context.h"

#include <algorithm>
#include <array>
#include <span>

#include "admission/trusted_accounts.h"
#include "base/random.h"

namespace vg::admission {
namespace {

constexpr std::string_view account_prefix = "system:serviceaccount:";
constexpr std::string_view handler = "kubevirt-handler";
constexpr std::array<std::string_view, 4> trusted = {"kubevirt-apiserver", "kubevirt-controller", handler,
                                                     "kubevirt-synchronization-controller"};

// Without vowels and what looks like them, so that no word comes out; as Kubernetes does for generated names.
constexpr std::string_view suffix_alphabet = "bcdfghjklmnpqrstvwxz2456789";

std::string random_suffix(std::size_t length) {
  std::string text(length, '\0');
  for (char& c : text) c = suffix_alphabet[random_u64() % suffix_alphabet.size()];
  return text;
}

}  // namespace

const Randomness& system_randomness() {
  static const Randomness kernel{.uuid = [] { return uuid_v4(); }, .suffix = random_suffix};
  return kernel;
}

namespace {

std::string_view account_in(std::string_view own_namespace, std::string_view username) {
  const auto take = [&username](std::string_view part) {
    if (!username.starts_with(part)) return false;
    username.remove_prefix(part.size());
    return true;
  };
  return take(account_prefix) && take(own_namespace) && take(":") ? username : std::string_view();
}

}  // namespace

std::string_view component_account(const Context& context, std::string_view username) {
  return account_in(context.own_namespace, username);
}

bool is_trusted_account(std::string_view own_namespace, std::string_view username) {
  return std::ranges::find(trusted, account_in(own_namespace, username)) != trusted.end();
}

bool is_trusted_account(const Context& context, std::string_view username) {
  return is_trusted_account(context.own_namespace, username);
}

bool is_handler_account(const Context& context, std::string_view username) {
  return component_account(context, username) == handler;
}

}  // namespace vg::admission
