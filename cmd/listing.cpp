#include "listing.h"

#include <fmt/format.h>

#include "base/json_text.h"

namespace vg::cmd {

std::expected<ListingFormat, int> read_listing(const CommandLine& command, std::vector<Flag> flags,
                                               std::span<const std::string_view> arguments, Output output) {
  std::string format = "table";
  flags.push_back({"output", 'o', &format, "table|json", "how to print"});
  const auto read = read_command(command, flags, arguments, output);
  if (!read) return std::unexpected(read.error());
  return format == "json" ? ListingFormat::json : ListingFormat::table;
}

void append_row(std::string& list, std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  list += list.size() > 1 ? ",\n " : "";
  std::string_view separator = "{";
  for (const auto& [name, value] : members) {
    if (value.empty()) continue;
    list += separator;
    separator = ",";
    append_json_string(list, name);
    list += ':';
    append_json_string(list, value);
  }
  list += '}';
}

}  // namespace vg::cmd
