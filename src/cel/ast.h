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
  fold,       // the macros that walk a list or map: target.text(variable, parts); also optMap and optFlatMap
};

struct Builtin;  // functions that can be called when an expression runs (builtins.h)

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
  std::string_view second = {};               // of a fold over positions or keys and values; empty: it has one variable
  std::vector<bool> optional = {};            // of a list or map: which entries are left out when they have no value
  // --- for whoever evaluates (program.h); nothing in a tree that is only checked ---
  const Builtin* builtin = nullptr;  // of a call
  bool global = false;               // of a call: the target is part of the function's name
  std::size_t constant = 0;          // of a literal: its place among the program's values
  std::size_t pattern = 0;           // of a call with a pattern that is written out: its place among those, from 1
};

// Nodes stay where they are when more are added.
struct Tree {
  std::deque<Node> nodes;
  const Node* root = nullptr;
};

}  // namespace vg::cel
