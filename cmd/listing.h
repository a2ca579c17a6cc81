// Commands that print a table that the program has, for people or as JSON: `virtgate rules`, `virtgate actions`.
#pragma once

#include <expected>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flags.h"
#include "program.h"

namespace vg::cmd {

enum class ListingFormat { table, json };

// Reads the command line of `virtgate NAME`, which knows --output beside `flags`; `synopsis` is the flags as usage
// shows them. The error is the exit code: what there was to say has been printed.
std::expected<ListingFormat, int> read_listing(std::string_view name, std::string_view synopsis,
                                               std::vector<Flag> flags, std::span<const std::string_view> arguments,
                                               Output output);

// Appends one object of strings to a list that began with "[", without members that are empty.
void append_row(std::string& list, std::initializer_list<std::pair<std::string_view, std::string_view>> members);

}  // namespace vg::cmd
