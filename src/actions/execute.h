// Carries out what was decided: the one place where actions act. Dry run, the mapping of what the API and the node
// refuse, undoing, and the answer are written here and nowhere else.
#pragma once

#include <optional>
#include <string>

#include "actions/action_case.h"
#include "actions/effect.h"
#include "actions/gather.h"
#include "base/task.h"
#include "server/router.h"

namespace vg::actions {

// Answers the call, unless a stream is to be opened: that is given back, so that nothing of the request is held while
// it runs.
Task<std::optional<OpenStream>> execute(Effects effects, const ActionCase& asked, const Parts& parts,
                                        server::Call& call);

// A refusal, in the form that the action's refusals have.
void refuse(server::Call& call, const Action& action, const Status& status);

// What a node said that did not do what it was asked for: code, phrase and body, which controllers look into.
std::string print_node_refusal(const NodeAnswer& answer);

}  // namespace vg::actions
