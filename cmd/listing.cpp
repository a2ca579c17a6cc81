#include "listing.h"

#include <fmt/format.h>

#include "base/json_text.h"

namespace vg::cmd {

std::expected<ListingFormat, int> read_listing(std::string_view name, std::string_view synopsis,
                                               std::vector<Flag> flags, std::span<const std::string_view> arguments,
                                               Output output) {
  std::string format = "table";
  flags.push_back({"output", 'o', &format, "FORMAT", "table or json"});
  const std::string usage = fmt::format("usage: virtgate {} {}\n\n{}", name, synopsis, describe_flags(flags));
  const auto parsed = parse_flags(flags, arguments);
  if (parsed && parsed->help) {
    fmt::print(output.out, "{}", usage);
    return std::unexpected(exit_ok);
  }
  const bool known = format == "table" || format == "json";
  if (!parsed || !parsed->positional.empty() || !known) {
    fmt::print(output.err, "virtgate {}: {}\n\n{}", name,
               !parsed  ? parsed.error()
               : !known ? fmt::format("unknown output format \"{}\": supported values: table, json", format)
                        : fmt::format("unexpected argument \"{}\"", parsed->positional.front()),
               usage);
    return std::unexpected(exit_usage);
  }
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
