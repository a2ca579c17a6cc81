#include "api/canonical_place.h"

#include <fmt/format.h>

#include <iterator>

namespace vg::api {
namespace {

// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
void append_place(const Place& place, PlaceStyle style, std::string& out) {
  if (place.step == Place::Step::root) return;
  append_place(*place.parent, style, out);
  const bool is_index = place.step == Place::Step::index;
  const bool in_brackets =
      is_index ? style != PlaceStyle::dotted : place.step == Place::Step::key && style == PlaceStyle::brackets;
  if (!in_brackets && !out.empty()) out += '.';
  if (in_brackets) out += '[';
  if (is_index) {
    fmt::format_to(std::back_inserter(out), "{}", place.index);
  } else {
    out += place.name;
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
