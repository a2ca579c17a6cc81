// Where in a document a field stands, and what people see of it. The text is gone over when the first place is asked
// for: of most documents there is nothing to tell.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "json/places.h"
#include "json/yaml.h"
#include "offline/finding.h"
#include "offline/source.h"

namespace vg::offline {

class Locator {
 public:
  Locator(const Piece& piece, const json::YamlOptions& options) : piece_(piece), options_(options) {}

  // Line, column and source of a finding about `field` of an object; item: its place in a list, or nothing when it is
  // the document itself.
  void place(Finding& finding, std::string_view field, std::optional<std::size_t> item);
  // Of a line and column that count from the beginning of the document.
  void place_at(Finding& finding, std::size_t line, std::size_t column);
  void place_at_character(Finding& finding, std::size_t at);
  // Members that stand in one object twice.
  const std::vector<json::Places::Repeated>& repeated() { return places().repeated(); }
  // Whether a comment silences it: at the end of its line, in the lines right above it, or before the document's first
  // field, where it holds for all of it. "# virtgate: skip WISE-01, REF-01"
  bool is_silenced(const Finding& finding);

 private:
  const json::Places& places();
  const json::TextLines& lines();

  const Piece& piece_;
  const json::YamlOptions& options_;
  std::optional<json::Places> places_;
  std::optional<json::TextLines> lines_;
  std::optional<std::vector<json::Places::Id>> items_;
};

}  // namespace vg::offline
