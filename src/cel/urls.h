// Absolute URLs and paths, as Go's url.ParseRequestURI takes them apart.
#pragma once

#include <optional>
#include <string_view>

namespace vg::cel {

// Parts of the text, as they stand in it.
struct Url {
  std::string_view scheme, host, path, query;
  std::string_view hostname() const;
  std::string_view port() const;
};

std::optional<Url> parse_url(std::string_view text);

}  // namespace vg::cel
