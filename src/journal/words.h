// Lines of the journal with a byte or two in place of what nearly all of them say, so that a hundred thousand fit.
#pragma once

#include <string>
#include <string_view>

namespace vg::journal {

// Of JSON, in which the byte 1 never stands as it is.
std::string shorten(std::string_view text);
// What shorten() made of a text, back again. Of anything else some text.
std::string restore(std::string_view text);

}  // namespace vg::journal
