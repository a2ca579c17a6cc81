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

json::Value server_version(const ActionCase& about) {
  auto version = json::parse(server::version_json(), about.storage);
  return version ? std::move(*version) : json::Value(about.storage);
}

Decision guestfs_failure(const ActionCase& about, std::string_view why) {
  json::Object failure(about.storage);
  json::Object& inner = failure["guestfs"].emplace_object();
  inner["status"] = "failed";
  inner["error"] = text_of(why, about);
  return effects(Reply{.code = 500, .document = json::Value(std::move(failure))});
}

}  // namespace

Decision decide_version(const ActionCase& about) {
  const json::Value own = server_version(about);
  json::Object version(about.storage);
  version["gitVersion"] = text_of(upstream::kubevirt_release, about);
  for (const std::string_view member : {"gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"})
    version[member] = text_of(json::get_string_or(own, member), about);
  return effects(Reply{.code = 200, .document = json::Value(std::move(version))});
}

Decision decide_guestfs(const ActionCase& about) {
  if (!about.kubevirt) return guestfs_failure(about, "no deployed KubeVirt object was found");
  const json::Object* status = json::get_object(*about.kubevirt, "status");
  const auto observed = [&](std::string_view member) {
    return status ? json::get_string_or(*status, member) : std::string_view();
  };
  const auto deployment = json::parse(observed("observedDeploymentConfig"), about.storage);
  if (!deployment || !deployment->is_object())
    return guestfs_failure(about, "status.observedDeploymentConfig of the KubeVirt object is not a JSON object");
  json::Object image(about.storage);
  image["registry"] = text_of(observed("observedKubeVirtRegistry"), about);
  image["tag"] = text_of(observed("observedKubeVirtVersion"), about);
  image["digest"] = "";
  image["imagePrefix"] = text_of(json::get_string_or(*deployment, "imagePrefix"), about);
  image["gsImage"] = text_of(json::get_string_or(*deployment, "GsImage"), about);
  return effects(Reply{.code = 200, .document = json::Value(std::move(image))});
}

Decision decide_health(const ActionCase& about) {
  json::Object health(about.storage);
  json::Object& server = health["apiserver"].emplace_object();
  server["connectivity"] = "ok";
  server["version"] = server_version(about);
  health["config-resource-version"] = text_of(about.config.resource_version(), about);
  return effects(Reply{.code = 200, .document = json::Value(std::move(health))});
}

}  // namespace vg::actions
