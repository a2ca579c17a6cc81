// The items of a list, each as a piece of its own: so that a list of any length takes no more memory than its text, and
// all processors work on it.
//
// Items are told apart by how the text is laid out, without reading it: by braces in JSON, by indentation in YAML.
// Texts that are laid out in other ways are no lists to this; whoever uses it reads them as a whole. A text that only
// looks as if it could be divided (a quoted text with a line such as "- a", an alias of another item's anchor) leaves
// an item that cannot be read by itself, and then has to be read as a whole as well.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offline/source.h"

namespace vg::offline {

class ListItems {
 public:
  // Nothing when it is no list, has no items, or cannot be divided. The piece must outlive what is made.
  static std::optional<ListItems> of(const Piece& list);
  // Nothing behind the last one.
  std::optional<Piece> next();

 private:
  struct Range {
    std::size_t begin, end;
  };
  struct Layout {
    std::vector<Range> items;
    std::string rest;  // the list without its items
  };
  explicit ListItems(const Piece& list, std::vector<Range> items);
  static std::optional<Layout> divide_json(std::string_view text);
  static std::optional<Layout> divide_yaml(std::string_view text);
  void pass(std::string_view text);

  const Piece& list_;
  std::vector<Range> items_;
  std::shared_ptr<const std::string> comments_;
  std::size_t next_ = 0, at_ = 0;
  std::size_t line_, column_;
};

}  // namespace vg::offline
