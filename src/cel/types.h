// The types of expressions, and which may stand for which (cel-spec, "Gradual Type Checking").
//
// Notation: bool, int, uint, double, string, bytes, timestamp, duration, null, type, dyn; []T for a list, map[K]V for a
// map; optional[T]; the name of a structure; a single capital letter for a type that is still to be found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema.h"
#include "cel/structures.h"

namespace vg::cel {

enum class Kind : std::uint8_t {
  null,
  boolean,
  integer,
  unsigned_integer,
  real,
  string,
  bytes,
  timestamp,
  duration,
  type,
  dynamic,   // known only when the expression runs
  error,     // a problem was told already: goes with everything
  list,      // of first
  map,       // from first to second
  optional,  // a value of first, or none
  object,
  parameter,  // still to be found
};

struct Type {
  Kind kind = Kind::error;
  const Type* first = nullptr;  // also what a type is the type of
  const Type* second = nullptr;
  const Structure* structure = nullptr;
  const api::Type* schema = nullptr;  // of an object that is described by the schema instead
  std::size_t parameter = 0;
};

// The types of one expression. They live as long as this does.
class Types {
 public:
  explicit Types(std::size_t steps_max) : steps_left_(steps_max) {}

  static const Type* simple(Kind kind);
  const Type* list(const Type* of) { return made({.kind = Kind::list, .first = of}); }
  const Type* map(const Type* key, const Type* value) {
    return made({.kind = Kind::map, .first = key, .second = value});
  }
  const Type* optional(const Type* of) { return made({.kind = Kind::optional, .first = of}); }
  const Type* object(const Structure& structure) { return made({.kind = Kind::object, .structure = &structure}); }
  const Type* object(const api::Type& schema) { return made({.kind = Kind::object, .schema = &schema}); }
  // What expressions see of a value that the schema describes.
  const Type* described(const api::Node& node);
  const Type* type_of(const Type* what) { return made({.kind = Kind::type, .first = what}); }
  const Type* fresh();

  // The parameters of one signature, by letter.
  using Letters = std::array<const Type*, 26>;
  const Type* read(std::string_view notation, Letters& letters);
  // The type of a member: `package` is that of the structure it belongs to.
  const Type* read_member(std::string_view notation, std::string_view package);

  // Whether values of the one type may stand where the other is asked for. What this finds out about parameters is kept
  // when it holds for all pairs.
  bool agree(std::span<const Type* const> left, std::span<const Type* const> right);
  bool agree(const Type* left, const Type* right) { return agree(std::span(&left, 1), std::span(&right, 1)); }

  // With everything put in that is known of parameters.
  const Type* known(const Type* type) { return substitute(type, false); }
  // The same; what is still not known is dynamic.
  const Type* final(const Type* type) { return substitute(type, true); }
  // The less specific of two that agree.
  const Type* most_general(const Type* left, const Type* right) { return covers(left, right) ? left : right; }
  bool same(const Type* left, const Type* right);

  // True once more was asked than the limit allows: answers since then mean nothing.
  bool exhausted() const { return steps_left_ == 0; }
  std::size_t steps_left() const { return steps_left_; }

 private:
  const Type* made(Type type) { return &types_.emplace_back(type); }
  // One step of a recursion that input drives. False when there were too many, or they go too deep.
  class Level;
  bool assignable(const Type* left, const Type* right);
  bool null_fits(const Type* type) const;
  // Whether `type` may be put in for a parameter; `bound` says whether something had been put in before.
  bool put_in(const Type* type, const Type* parameter, bool& bound);
  bool occurs(const Type* parameter, const Type* within);
  bool covers(const Type* left, const Type* right);
  void bind(const Type* parameter, const Type* type);
  const Type* substitute(const Type* type, bool to_dynamic);

  std::deque<Type> types_;
  std::vector<const Type*> bound_;  // by the number of the parameter
  std::vector<std::pair<std::size_t, const Type*>> undo_;
  std::size_t steps_left_;
  std::size_t level_ = 0;
};

// As in the notation; what is nested deeper than a few levels is left out.
std::string print(const Type* type);
// As the reference implementation writes types: list(int), map(string, dyn), optional_type(int).
std::string print_reference(const Type* type);

}  // namespace vg::cel
