// Documents about the server itself (spec subresources 2.23 to 2.25).
#include <utility>

#include "actions/action_case.h"
#include "actions/decisions.h"
#include "json/access.h"
#include "json/parse.h"
#include "server/version.h"
#include "upstream_release.h"

namespace vg::actions {
namespace {

json::Value server_version(const ActionCase& asked) {
  auto version = json::parse(server::version_json(), asked.storage);
  return version ? std::move(*version) : json::Value(asked.storage);
}

Decision guestfs_failure(const ActionCase& asked, std::string_view why) {
  json::Object failure(asked.storage);
  json::Object& inner = failure["guestfs"].emplace_object();
  inner["status"] = "failed";
  inner["error"] = text_of(why, asked);
  return effects(Reply{.code = 500, .document = json::Value(std::move(failure))});
}

}  // namespace

Decision decide_version(const ActionCase& asked) {
  const json::Value own = server_version(asked);
  json::Object version(asked.storage);
  version["gitVersion"] = text_of(upstream::kubevirt_release, asked);
  for (const std::string_view member : {"gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"})
    version[member] = text_of(json::get_string_or(own, member), asked);
  return effects(Reply{.code = 200, .document = json::Value(std::move(version))});
}

Decision decide_guestfs(const ActionCase& asked) {
  if (!asked.kubevirt) return guestfs_failure(asked, "no deployed KubeVirt object was found");
  const json::Object* status = json::get_object(*asked.kubevirt, "status");
  const auto observed = [&](std::string_view member) {
    return status ? json::get_string_or(*status, member) : std::string_view();
  };
  const auto deployment = json::parse(observed("observedDeploymentConfig"), asked.storage);
  if (!deployment || !deployment->is_object())
    return guestfs_failure(asked, "status.observedDeploymentConfig of the KubeVirt object is not a JSON object");
  json::Object image(asked.storage);
  image["registry"] = text_of(observed("observedKubeVirtRegistry"), asked);
  image["tag"] = text_of(observed("observedKubeVirtVersion"), asked);
  image["digest"] = "";
  image["imagePrefix"] = text_of(json::get_string_or(*deployment, "imagePrefix"), asked);
  image["gsImage"] = text_of(json::get_string_or(*deployment, "GsImage"), asked);
  return effects(Reply{.code = 200, .document = json::Value(std::move(image))});
}

Decision decide_health(const ActionCase& asked) {
  json::Object health(asked.storage);
  json::Object& server = health["apiserver"].emplace_object();
  server["connectivity"] = "ok";
  server["version"] = server_version(asked);
  health["config-resource-version"] = text_of(asked.config.resource_version(), asked);
  return effects(Reply{.code = 200, .document = json::Value(std::move(health))});
}

}  // namespace vg::actions
