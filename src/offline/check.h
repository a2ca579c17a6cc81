// Checks files: reads them once, document by document, with as many threads as there are processors, and judges each
// object as it comes. What depends on an object that came later is judged again at the end, so the order of files and
// documents does not matter.
#pragma once

#include <memory>
#include <vector>

#include "offline/examine.h"
#include "offline/finding.h"
#include "offline/source.h"

namespace vg::offline {

using Sources = std::vector<std::unique_ptr<Source>>;

// Adds the objects of files that are not checked themselves. What cannot be read is told in `unreadable`.
void learn_all(const Sources& sources, const CheckOptions& options, KnownObjects& known,
               std::vector<std::string>& unreadable);

// `known` receives the objects of the files; `world` refers to it.
Outcome check(const Sources& sources, KnownObjects& known, const World& world, const CheckOptions& options);

}  // namespace vg::offline
