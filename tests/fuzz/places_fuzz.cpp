// Any text: where the reader gives values it also says where they stand, every member and item has a place of its own
// inside of the text, and what is written of the values is read back as the same.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "json/arena.h"
#include "json/places.h"
#include "json/write.h"
#include "json/yaml.h"
#include "json/yaml_write.h"

namespace {

using namespace vg::json;

constexpr std::size_t text_bytes_max = 64 * 1024;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_simple(std::string_view key) { return !key.empty() && key.find_first_of(".[]") == key.npos; }

// Members with simple names, along simple paths: for others more than one reading of a path is right.
// NOLINTNEXTLINE(misc-no-recursion)
void walk(const Value& value, const std::string& path, const Places& places, const TextLines& lines, int& left) {
  if (--left < 0) return;
  const auto found = places.find(path);
  require(found.exact);
  const auto position = lines.position(found.at);
  require(position.line >= 1 && position.line <= lines.count() && position.column >= 1);
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object)
      if (is_simple(member.key()))
        walk(member.value(),
             path.empty() ? std::string(member.key()) : fmt::format("{}.{}", path, std::string(member.key())), places,
             lines, left);
  } else if (const Array* array = value.if_array()) {
    for (std::size_t i = 0; i < array->size(); ++i)
      walk((*array)[i], fmt::format("{}[{}]", path, i), places, lines, left);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > text_bytes_max) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Arena arena;
  TextProblem problem;
  const auto value = parse_yaml(text, arena.storage(), YamlOptions{.problem = &problem});
  const TextLines lines(text);
  for (std::size_t i = 0; i <= lines.count() + 1; ++i) require(lines.text(i).size() <= size);
  const auto places = places_of_yaml(text);
  require(value.has_value() == places.has_value());
  if (!value) return 0;
  require(problem.line == 0);
  int left = 2000;
  walk(*value, "", *places, lines, left);
  (void)places->find("spec.a[0].b[x.y].c");
  for (const auto& repeated : places->repeated()) (void)lines.position(repeated.at);

  const std::string yaml = to_yaml(*value);
  Arena again;
  const auto back = parse_yaml(yaml, again.storage());
  // What is longer than a body may be, or nested deeper as YAML, is all that may differ.
  if (back) require(to_text(*back) == to_text(*value));
  return 0;
}
