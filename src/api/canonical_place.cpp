#include "api/canonical_place.h"

#include <fmt/format.h>

#include <iterator>

#include "base/limits.h"

namespace vg::api {
namespace {

void append_name(std::string_view name, std::string& out) {
  if (name.size() <= limits::shown_name_bytes_max) {
    out += name;
    return;
  }
  // Not in the middle of a character.
  std::size_t end = limits::shown_name_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  out.append(name.substr(0, end)).append("...");
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
void append_place(const Place& place, PlaceStyle style, std::string& out) {
  if (place.kind == Place::Kind::root) return;
  append_place(*place.parent, style, out);
  const bool is_index = place.kind == Place::Kind::index;
  const bool in_brackets =
      is_index ? style != PlaceStyle::dotted : place.kind == Place::Kind::key && style == PlaceStyle::brackets;
  if (!in_brackets && !out.empty()) out += '.';
  if (in_brackets) out += '[';
  if (is_index) {
    fmt::format_to(std::back_inserter(out), "{}", place.index);
  } else {
    append_name(place.name, out);
  }
  if (in_brackets) out += ']';
}

}  // namespace

std::string print_place(const Place& place, PlaceStyle style) {
  std::string out;
  append_place(place, style, out);
  return out;
}

}  // namespace vg::api
