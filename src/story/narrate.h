// A story as people read it: the verdict, what else is so, and what happened in the order of time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "story/verdict.h"

namespace vg::story {

struct Moment {
  Timestamp at;
  std::size_t order = 0;  // among those of one second
  std::string what;
};

// Creations, phases, conditions and events of the objects, the oldest first. At most `max` of the newest.
std::vector<Moment> moments(const Facts& facts, std::size_t max);

}  // namespace vg::story
