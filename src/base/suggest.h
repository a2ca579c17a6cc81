// What somebody may have meant by a word that is not known.
#pragma once

#include <span>
#include <string_view>

namespace vg {

// The known word that takes the fewest typing mistakes (a letter too many, missing, wrong, or two exchanged) to become
// `word`; empty when none is near. Mistakes are counted up to a third of the word.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace vg
