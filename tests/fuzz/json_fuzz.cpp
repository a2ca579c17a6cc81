// Any text: the parser refuses it with a reason or gives values that survive writing and reading in every form.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "json/document.h"
#include "json/write.h"

namespace {

using vg::json::Document;
using vg::json::to_text;
using vg::json::Value;

void require(bool holds) {
  if (!holds) std::abort();
}

std::size_t depth_of(const Value& value) {
  std::size_t inside = 0;
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) inside = std::max(inside, depth_of(member.value()));
    return inside + 1;
  }
  if (const auto* array = value.if_array()) {
    for (const Value& element : *array) inside = std::max(inside, depth_of(element));
    return inside + 1;
  }
  return 0;
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<signed char>(c) < 0) return false;
  }
  return true;
}

// Equal but for 1.0, which is written as 1 and read back as an integer.
bool same(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    return left == right || left.to_number<double>() == right.to_number<double>();
  }
  if (left.kind() != right.kind()) return false;
  if (const auto* array = left.if_array()) {
    const auto& other = right.get_array();
    if (array->size() != other.size()) return false;
    for (std::size_t i = 0; i < other.size(); ++i) {
      if (!same((*array)[i], other[i])) return false;
    }
    return true;
  }
  if (const auto* object = left.if_object()) {
    if (object->size() != right.get_object().size()) return false;
    for (const auto& member : *object) {
      const Value* other = right.get_object().if_contains(member.key());
      if (!other || !same(member.value(), *other)) return false;
    }
    return true;
  }
  return left == right;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> duplicates;
  const auto first = Document::parse(text, {.duplicate_fields = &duplicates});
  if (!first) {
    require(first.error().code == 400 && !first.error().message.empty());
    return 0;
  }
  require(depth_of(first->root()) <= vg::limits::json_depth_max);
  require(duplicates.size() <= vg::json::ParseOptions::duplicates_max);
  for (const bool escape_html : {false, true}) {
    for (const bool sort_keys : {false, true}) {
      const std::string written = to_text(first->root(), {.escape_html = escape_html, .sort_keys = sort_keys});
      std::vector<std::string> none;
      const auto second = Document::parse(written, {.duplicate_fields = &none});
      require(second.has_value());
      require(none.empty());
      require(same(first->root(), second->root()));
      // Only a negative zero changes on the way: written as -0, it is read as the integer 0.
      const std::string again = to_text(second->root(), {.escape_html = escape_html, .sort_keys = sort_keys});
      require(again == written || written.find("-0") != written.npos);
      require(!is_ascii(text) || text.find("\\u") != text.npos || is_ascii(written));
    }
  }
  return 0;
}
