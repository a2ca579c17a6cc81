// Finding one value in stored JSON without building a document. Stored texts are compact and were written by this
// server, so the scan only has to skip values, not to check them; it still never leaves the text, whatever it holds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vg::resources {

// The text of the value at this path of object members; nothing when a step is missing or not in an object.
std::optional<std::string_view> scan_value(std::string_view json, std::span<const std::string_view> path);

// The same as a string the way field selectors compare it: strings without quotes and escapes, numbers and booleans as
// they are written, null and absent as empty.
std::string scan_text(std::string_view json, std::span<const std::string_view> path);

// Behind the value that begins at `at`; the end of the text when that breaks off.
std::size_t end_of_value(std::string_view json, std::size_t at);

}  // namespace vg::resources
