// Commands that print a table that the program has, for people or as JSON: `virtgate rules`, `virtgate actions`.
#pragma once

#include <expected>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.h"
#include "program.h"

namespace vg::cmd {

enum class ListingFormat { table, json };

// As read_command, for a command that knows --output beside `flags`.
std::expected<ListingFormat, int> read_listing(const CommandLine& command, std::vector<Flag> flags,
                                               std::span<const std::string_view> arguments, Output output);

// Appends one object of strings to a list that began with "[", without members that are empty.
void append_row(std::string& list, std::initializer_list<std::pair<std::string_view, std::string_view>> members);

}  // namespace vg::cmd
