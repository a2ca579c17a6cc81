// Writing JSON strings. Status and log lines need it below src/json, which in turn may use it for its own writer.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace vg {

// Length of the well-formed UTF-8 sequence at the start of `text` (1 to 4), or 0 when there is none: truncated,
// overlong, a surrogate half, above U+10FFFF, or `text` is empty.
std::size_t utf8_sequence_length(std::string_view text);

// Appends `text` as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD, one for each byte, so that
// the result is always valid JSON. At most `bytes_max` bytes are written between the quotes: longer text is cut between
// characters and ends with U+2026 (for that, `bytes_max` must be 3 or more).
void append_json_string(std::string& out, std::string_view text,
                        std::size_t bytes_max = std::numeric_limits<std::size_t>::max());

}  // namespace vg
