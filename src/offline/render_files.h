// Every object of some files as what it becomes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "json/value.h"
#include "offline/check.h"

namespace vg::offline {

enum class RenderAs { object, instance };

// One object, once it was judged. Refused: `problem` says why.
struct RenderedObject {
  std::string file;
  Identity identity;
  const json::Value* before = nullptr;  // as it stands in the file
  const json::Value* after = nullptr;   // null: it was refused
  std::string problem;
};

// In the order of files and lines. What cannot be read or rendered is told as a problem; kinds that are not known are
// handed over as they are.
void render_all(const Sources& sources, KnownObjects& known, const World& world, const CheckOptions& options,
                RenderAs form, const std::function<void(const RenderedObject&)>& show,
                std::vector<std::string>& unreadable);

}  // namespace vg::offline
