// Carries out AskComponents: one question to many pods, and one answer of all theirs.
#pragma once

#include <string>

#include "actions/effect.h"
#include "base/status.h"
#include "base/task.h"
#include "server/router.h"

namespace vg::actions {

// The document to answer with; empty when nothing was collected. 500 when one of the components did not do what it was
// asked for, which names some of those; 429 when too many ask already.
Task<Result<std::string>> ask_components(const AskComponents& asked, ComponentLink& link, server::Call& call);

}  // namespace vg::actions
