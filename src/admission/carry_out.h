// Carrying out what admission rules want done to other objects: they only decide it (admission::SideEffect).
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "admission/review.h"
#include "base/core.h"
#include "base/status.h"
#include "base/task.h"

namespace vg::admission {

// Does it, under KubeVirt's own name, on the core of the request that it came from.
using CarryOut = std::function<Task<Result<void>>(Core&, const SideEffect&)>;

// In their order, up to the first that fails. Answers with what is then to be told instead of the verdict. An empty
// function can do nothing.
Task<std::optional<Status>> carry_out_all(std::span<const SideEffect> effects, Core& core, const CarryOut& carry_out);

}  // namespace vg::admission
