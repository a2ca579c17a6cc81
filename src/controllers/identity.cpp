#include "controllers/identity.h"

#include <fmt/format.h>

#include "admission/asker.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

std::string_view account_of(const json::Object* spec) {
  if (!spec) return {};
  if (const std::string_view named = json::get_string_or(*spec, "serviceAccountName"); !named.empty()) return named;
  if (const json::Array* volumes = json::get_array(*spec, "volumes"))
    for (const json::Value& volume : *volumes) {
      const json::Object* source =
          volume.is_object() ? json::get_object(volume.get_object(), "serviceAccount") : nullptr;
      const std::string_view named = source ? json::get_string_or(*source, "serviceAccountName") : std::string_view();
      if (!named.empty()) return named;
    }
  return {};
}

}  // namespace

User service_account(std::string_view ns, std::string_view name) {
  return {.name = fmt::format("system:serviceaccount:{}:{}", ns, name),
          .uid = {},
          .groups = {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", ns), "system:authenticated"},
          .extra = {}};
}

Identity Identity::machine(std::string_view ns, const json::Object* spec) {
  const std::string_view named = account_of(spec);
  return Identity(std::make_shared<const User>(service_account(ns, named.empty() ? "default" : named)));
}

Identity Identity::asker_of(const json::Object& object, std::string_view from) {
  auto user = admission::asker_of(object, from);
  return Identity(user ? std::make_shared<const User>(std::move(*user)) : nullptr);
}

}  // namespace vg::controllers
