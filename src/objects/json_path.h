// The part of JSONPath that printer columns and scale paths of CRDs use: members (.a, ['a']), elements ([0], [-1]), all
// of them ([*], .*) and a filter that compares one value ([?(@.type=='Ready')]).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "json/value.h"

namespace vg::resources {

class JsonPath {
 public:
  static constexpr std::size_t text_bytes_max = limits::json_path_bytes_max;
  static constexpr std::size_t steps_max = limits::json_path_steps_max;
  static constexpr std::size_t results_max = limits::json_path_results_max;

  // With or without the braces and the $ of kubectl ("{.a}", "$.a"). Nothing when the text is not in the part above.
  static std::optional<JsonPath> parse(std::string_view text);

  // What the path leads to, in the order of the document; a step that finds nothing is no error.
  std::vector<const json::Value*> find_all(const json::Value& root, std::size_t limit = results_max) const;
  // The first of them; null when there is none.
  const json::Value* find_first(const json::Value& root) const;

 private:
  enum class SegmentKind : std::uint8_t { member, element, every, filter };
  enum class Comparison : std::uint8_t { exists, equal, unequal, less, less_or_equal, greater, greater_or_equal };
  struct Segment {
    SegmentKind kind = SegmentKind::member;
    std::string name;        // member
    std::int64_t index = 0;  // element; negative counts from the end
    Comparison comparison = Comparison::exists;
    std::vector<std::string> operand;  // filter: the members that lead from the element to what is compared
    json::Value literal;
  };
  class Parser;

  static bool passes(const Segment& step, const json::Value& element);
  // False when enough was found.
  bool walk(const json::Value& at, std::size_t step, std::size_t limit, std::vector<const json::Value*>& found) const;

  std::vector<Segment> steps_;
};

}  // namespace vg::resources
