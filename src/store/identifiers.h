// Identifiers in objects (metadata.uid, owners, firmware) are 36 characters that repeat nowhere, so no dictionary helps
// with them: they are most of what is left of a packed machine. They stand for 16 bytes, and are kept as those.
//
// The short form of a text has a mark and 16 bytes in place of each identifier, and everything else as it is. The mark
// is a byte that UTF-8 never contains.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vg::store {

inline constexpr std::size_t identifier_saving = 36 - 17;

// Appends the short form to `out` and returns how many identifiers were replaced. 0: there are none, or the text has
// bytes that could be taken for a mark; `out` is of no use then.
std::size_t shorten_identifiers(std::string_view text, std::string& out);

// The reverse, in place: the short form stands at the end of `size` bytes, and the text fills all of them afterwards.
void restore_identifiers(char* bytes, std::size_t size, std::size_t identifiers);

}  // namespace vg::store
