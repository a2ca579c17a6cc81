#include "auth/forbidden.h"

#include <fmt/format.h>

namespace vg::auth {
namespace {

std::string what(const AccessAttributes& attributes) {
  if (!attributes.resource_request) return fmt::format("path \"{}\"", attributes.path);
  std::string text = fmt::format("resource \"{}{}{}\" in API group \"{}\"", attributes.resource,
                                 attributes.subresource.empty() ? "" : "/", attributes.subresource, attributes.group);
  if (!attributes.ns.empty())
    text += fmt::format(" in the namespace \"{}\"", attributes.ns);
  else
    text += " at the cluster scope";
  return text;
}

}  // namespace

Status forbidden(const User& user, const AccessAttributes& attributes, std::string_view reason) {
  std::string message = fmt::format("User \"{}\" cannot {} {}", user.name, attributes.verb, what(attributes));
  if (!reason.empty()) message += fmt::format(": {}", reason);
  if (!attributes.resource_request) return Status::forbidden("", "", "", std::move(message));
  return Status::forbidden(std::string(attributes.group), std::string(attributes.resource),
                           std::string(attributes.name), std::move(message));
}

}  // namespace vg::auth
