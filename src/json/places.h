// Where in a text the members and items of its document stand, for whoever tells people about a text. It is made by the
// same reading that makes the values, in a second go: whoever only wants the values pays nothing for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace vg::json {

// A tree of nodes. What an alias stands for is the anchor's own node: people have to change it there. Places are
// counted in characters from the beginning of the text, without a byte order mark.
class Places {
 public:
  using Id = std::uint32_t;
  static constexpr Id none = UINT32_MAX;

  // --- for readers
  Id add_node(std::size_t at);
  void add_item(Id list, Id item);
  // The last of several members with one name counts, and the repetition is remembered.
  void add_member(Id object, std::string_view key, std::size_t key_at, Id value);
  // What another object has and this one has not, as YAML's merge keys add it.
  void merge(Id object, Id other);
  void set_root(Id root) { root_ = root; }

  // --- for everybody else
  struct Found {
    std::size_t at = 0;
    bool exact = false;  // false: the nearest place above what is not there
  };
  // The place that a path such as `spec.disks[2].name`, `metadata.labels[a/b]` or `metadata.labels.a/b` names: the key
  // of a member, the beginning of an item.
  Found find(std::string_view path) const { return find(root_, path); }
  // The same for a document inside of this one, such as an item of a list.
  Found find(Id from, std::string_view path) const;
  Id root() const { return root_; }
  std::size_t place_of(Id node) const { return nodes_[node].at; }
  // The items of a member of the document, in order; none when it is no list.
  std::vector<Id> items(std::string_view member) const;

  struct Repeated {
    std::string key;
    std::size_t at = 0;
  };
  const std::vector<Repeated>& repeated() const { return repeated_; }

 private:
  struct Node {
    std::uint32_t at = 0;
    Id first = none, last = none;  // links
  };
  struct Link {
    std::string key;  // empty for items, and for a member without a name
    std::uint32_t at = 0;
    Id node = none, next = none;
    bool item = false;
  };
  struct Search;
  void attach(Id parent, Link link);
  Id find_link(Id object, std::string_view key) const;

  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::map<std::pair<Id, std::string>, Id> members_;  // by object and key; ordered: no choice of names makes it slow
  std::vector<Repeated> repeated_;
  Id root_ = none;
};

// What is wrong with a text, apart from a sentence about it. Lines and columns count from 1, columns in characters.
struct TextProblem {
  std::size_t line = 0, column = 0;
  std::string what;
};

// The places of a text that json::parse accepts.
Places places_of_json(std::string_view text);

// From a place to what an editor calls it. Lines end with "\n", "\r\n" or "\r".
class TextLines {
 public:
  explicit TextLines(std::string_view text);

  struct Position {
    std::size_t line = 1, column = 1;
  };
  Position position(std::size_t at) const;
  std::size_t count() const { return lines_.size(); }
  // The text of a line, from 1, without its end.
  std::string_view text(std::size_t line) const;

 private:
  struct Line {
    std::size_t at;     // in characters
    std::size_t begin;  // in bytes
    std::size_t end;
  };
  std::string_view text_;
  std::vector<Line> lines_;
};

}  // namespace vg::json
