// Shell patterns, as Go's path.Match reads them.
#pragma once

#include <string_view>

namespace vg {

// '*' stands for any characters but '/', '?' for one of these, [a-z] and [^a-z] for one of a class or not of it, and
// '\' makes the next character an ordinary one. The whole text must match. A malformed pattern matches nothing.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace vg
