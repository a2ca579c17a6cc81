#include "controllers/claims.h"

#include <fmt/format.h>

#include "json/access.h"

namespace vg::controllers {

std::string_view claim_of_volume(const json::Object& volume) {
  if (const json::Object* source = json::get_object(volume, "dataVolume")) return json::get_string_or(*source, "name");
  for (const std::string_view kind : {"persistentVolumeClaim", "memoryDump"})
    if (const json::Object* source = json::get_object(volume, kind)) return json::get_string_or(*source, "claimName");
  return {};
}

std::vector<std::string_view> claims_of(const json::Object& vmi) {
  std::vector<std::string_view> claims;
  const json::Object* spec = json::get_object(vmi, "spec");
  if (!spec) return claims;
  const auto add = [&](std::string_view claim) {
    if (!claim.empty()) claims.push_back(claim);
  };
  if (const json::Array* volumes = json::get_array(*spec, "volumes"))
    for (const json::Value& volume : *volumes)
      if (const json::Object* object = volume.if_object()) add(claim_of_volume(*object));
  if (const json::Array* volumes = json::get_array(*spec, "utilityVolumes"))
    for (const json::Value& volume : *volumes) add(json::get_string_or(volume, "claimName"));
  return claims;
}

std::vector<std::string_view> template_claims_of(const json::Object& vm) {
  const json::Object* spec = json::get_object(vm, "spec");
  const json::Object* machine_template = spec ? json::get_object(*spec, "template") : nullptr;
  return machine_template ? claims_of(*machine_template) : std::vector<std::string_view>();
}

void ClaimUsers::put(std::string_view ns, std::string_view vmi, const std::vector<std::string_view>& claims) {
  const std::string own = fmt::format("{}/{}", ns, vmi);
  if (const auto found = claims_.find(own); found != claims_.end()) {
    for (const std::string& claim : found->second) {
      const auto users = users_.find(claim);
      if (users == users_.end()) continue;
      users->second.erase(std::string(vmi));
      if (users->second.empty()) users_.erase(users);
    }
    claims_.erase(found);
  }
  for (const std::string_view claim : claims) {
    std::string key = fmt::format("{}/{}", ns, claim);
    users_[key].emplace(vmi);
    claims_[own].push_back(std::move(key));
  }
}

std::vector<std::string> ClaimUsers::of(std::string_view ns, std::string_view claim) const {
  const auto found = users_.find(fmt::format("{}/{}", ns, claim));
  if (found == users_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace vg::controllers
