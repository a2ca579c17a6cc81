// What the actions that need the node share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actions/action_case.h"
#include "actions/effect.h"

namespace vg::actions {

// "/v1/namespaces/NS/virtualmachineinstances/NAME/SUFFIX": how a handler knows the instance.
std::string node_target(const ActionCase& asked, std::string_view suffix);
// 400 unless the instance is in a phase in which a node has it.
std::optional<Status> find_unreachable(const ActionCase& asked);
// The call, unless nobody could answer it.
Decision call_node(const ActionCase& asked, CallNode call);
// 400 for an instance without a graphics device.
std::optional<Status> find_no_display(const ActionCase& asked);

}  // namespace vg::actions
