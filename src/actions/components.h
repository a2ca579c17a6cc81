// The pods of KubeVirt's components, and what is asked about them (spec subresources 2.26). All of it is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/parsed.h"
#include "base/status.h"
#include "json/value.h"
#include "ports/component_link.h"

namespace vg::actions {

// Every pod of KubeVirt's has this label; machines' pods as well.
inline constexpr std::string_view component_label = "kubevirt.io";

// Nothing for another pod than a component's, and for one that is not ready to answer.
std::optional<Component> component_of(const json::Value& pod);

// A ClusterProfilerRequest. The views point into the body.
struct ProfilesRequest {
  std::string_view label_selector = {};
  std::string_view continue_token = {};
  std::size_t page_size = 0;  // in pods, of whatever kind
};
// 400 for a body that is no object, a member of another type, and a selector that is none.
Result<ProfilesRequest> read_profiles_request(const json::Value& body);

// {"pprofData": {...}} as a component answers it, without anything else that it says; or what is wrong with it.
Parsed<std::string> read_profiles(std::string_view answer);

}  // namespace vg::actions
