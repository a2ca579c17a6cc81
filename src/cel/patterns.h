// Regular expressions, as Go has them: their time grows with the text, whatever the pattern.
#pragma once

#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace vg::cel {

// Null for a pattern that is none, or that takes too much memory.
std::shared_ptr<const re2::RE2> compile_pattern(std::string_view pattern);

}  // namespace vg::cel
