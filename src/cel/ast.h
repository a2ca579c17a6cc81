// An expression as a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace vg::cel {

enum class NodeKind : std::uint8_t {
  null,
  boolean,
  integer,
  unsigned_integer,
  real,
  string,
  bytes,
  name,       // text
  select,     // target.text
  has,        // the macro has(target.text)
  call,       // text(parts), or target.text(parts)
  list,       // parts
  map,        // parts: key, value, key, value, ...
  structure,  // text{fields[i]: parts[i]}
  fold,       // the macros that walk a list or map: target.text(variable, parts)
};

struct Node {
  NodeKind kind = NodeKind::null;
  std::size_t at = 0;     // the byte where it starts
  std::size_t depth = 1;  // levels of the tree from here on
  std::string text = {};
  bool rooted = false;  // a name with a leading dot, which is looked up as it is
  const Node* target = nullptr;
  std::vector<const Node*> parts = {};
  std::vector<std::string_view> fields = {};  // of a structure
  std::string_view variable = {};             // of a fold
};

// Nodes stay where they are when more are added.
struct Tree {
  std::deque<Node> nodes;
  const Node* root = nullptr;
};

}  // namespace vg::cel
