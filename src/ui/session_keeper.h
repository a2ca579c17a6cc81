// Ends sessions whose time is over or whose credential holds no longer, although nobody asks anything with them: what
// they have open goes with them.
#pragma once

#include "base/core.h"
#include "base/task.h"
#include "ui/service.h"
#include "ui/sessions.h"

namespace vg::ui {

// One look at all of them. `check` is asked about sessions that have something open.
Task<void> look_after_sessions(Core& core, const Sessions& sessions, const UiService::CheckToken& check);

// Again and again. Everything outlives the task.
Task<void> keep_sessions(Core& core, const Sessions& sessions, const UiService::CheckToken& check);

}  // namespace vg::ui
