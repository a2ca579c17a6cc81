// Nodes of this machine were away for as long as the server was: that they were silent says nothing about their guests.
#pragma once

#include <string>
#include <vector>

#include "base/core.h"
#include "base/task.h"
#include "objects/object_request.h"

namespace vg::cmd {

// Those that are known count as heard of now, before anybody gives up what runs on them. They say themselves what is
// true a moment later; one that does not is lost after the usual time.
// `leaving` are among them: nothing new is placed there, until they are not among these any more.
Task<void> expect_nodes(resources::Backend& backend, Core& core, std::vector<std::string> names,
                        std::vector<std::string> leaving);

}  // namespace vg::cmd
