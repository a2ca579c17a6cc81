#include "cel/types.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/limits.h"

namespace vg::cel {
namespace {

using std::string_view;

constexpr std::pair<string_view, Kind> names[] = {
    {"null", Kind::null},         {"bool", Kind::boolean},  {"int", Kind::integer}, {"uint", Kind::unsigned_integer},
    {"double", Kind::real},       {"string", Kind::string}, {"bytes", Kind::bytes}, {"timestamp", Kind::timestamp},
    {"duration", Kind::duration}, {"type", Kind::type},     {"dyn", Kind::dynamic}, {"error", Kind::error},
};

bool is_open(const Type* type) { return type->kind == Kind::dynamic || type->kind == Kind::error; }

std::string print_to(const Type* type, int levels) {
  if (levels == 0) return "...";
  switch (type->kind) {
    case Kind::list:
      return fmt::format("[]{}", print_to(type->first, levels - 1));
    case Kind::map:
      return fmt::format("map[{}]{}", print_to(type->first, levels - 1), print_to(type->second, levels - 1));
    case Kind::optional:
      return fmt::format("optional[{}]", print_to(type->first, levels - 1));
    case Kind::object:
      return std::string(type->structure ? type->structure->name : type->schema->openapi_name);
    default:
      for (const auto& [name, kind] : names)
        if (kind == type->kind) return std::string(name);
      return "dyn";
  }
}

std::string print_reference_to(const Type* type, int levels) {
  if (levels == 0) return "...";
  switch (type->kind) {
    case Kind::list:
      return fmt::format("list({})", print_reference_to(type->first, levels - 1));
    case Kind::map:
      return fmt::format("map({}, {})", print_reference_to(type->first, levels - 1),
                         print_reference_to(type->second, levels - 1));
    case Kind::optional:
      return fmt::format("optional_type({})", print_reference_to(type->first, levels - 1));
    case Kind::null:
      return "null_type";
    default:
      return print_to(type, levels);
  }
}

// In `optional[T]`: what stands between the brackets; nothing for any other notation.
std::optional<string_view> inside_optional(string_view notation) {
  constexpr string_view start = "optional[";
  if (!notation.starts_with(start)) return std::nullopt;
  return notation.substr(start.size(), notation.size() - start.size() - 1);
}

// In `map[K]V`: where the bracket of K ends. Keys are never maps or lists.
std::size_t key_end(string_view notation) { return notation.find(']'); }

}  // namespace

const Type* Types::simple(Kind kind) {
  static const std::array<Type, static_cast<std::size_t>(Kind::list)> all = [] {
    std::array<Type, static_cast<std::size_t>(Kind::list)> types;
    for (std::size_t i = 0; i < types.size(); ++i) types[i].kind = static_cast<Kind>(i);
    return types;
  }();
  return &all[static_cast<std::size_t>(kind)];
}

const Type* Types::fresh() {
  bound_.push_back(nullptr);
  return made({.kind = Kind::parameter, .parameter = bound_.size() - 1});
}

const Type* Types::read(string_view notation, Letters& letters) {
  if (notation.starts_with("[]")) return list(read(notation.substr(2), letters));
  if (notation.starts_with("map[")) {
    const auto end = key_end(notation);
    const Type* key = read(notation.substr(4, end - 4), letters);
    return map(key, read(notation.substr(end + 1), letters));
  }
  if (const auto inside = inside_optional(notation)) return optional(read(*inside, letters));
  if (notation.size() == 1) {
    const Type*& letter = letters[static_cast<std::size_t>(notation[0] - 'A')];
    if (!letter) letter = fresh();
    return letter;
  }
  return read_member(notation, {});
}

const Type* Types::read_member(string_view notation, string_view package) {
  if (notation.starts_with("[]")) return list(read_member(notation.substr(2), package));
  if (notation.starts_with("map[")) {
    const auto end = key_end(notation);
    const Type* key = read_member(notation.substr(4, end - 4), package);
    return map(key, read_member(notation.substr(end + 1), package));
  }
  if (const auto inside = inside_optional(notation)) return optional(read_member(*inside, package));
  for (const auto& [name, kind] : names)
    if (name == notation) return simple(kind);
  const bool complete = notation.find('.') != notation.npos;
  const std::string name = complete ? std::string(notation) : fmt::format("{}.{}", package, notation);
  const Structure* structure = find_policy_structure(name);
  if (!structure) structure = find_structure(name, true);
  return structure ? object(*structure) : simple(Kind::error);
}

const Type* Types::described(const api::Node& node) {
  switch (node.shape) {
    case api::Shape::string:
    case api::Shape::duration:
      return simple(Kind::string);
    case api::Shape::boolean:
      return simple(Kind::boolean);
    case api::Shape::bytes:
      return simple(Kind::bytes);
    case api::Shape::time:
    case api::Shape::micro_time:
      return simple(Kind::timestamp);
    case api::Shape::float32:
    case api::Shape::float64:
      return simple(Kind::real);
    case api::Shape::structure:
      return object(*node.type);
    case api::Shape::list:
      return list(described(*node.element));
    case api::Shape::map:
      return map(simple(Kind::string), described(*node.element));
    case api::Shape::quantity:
    case api::Shape::int_or_string:
    case api::Shape::raw:
    case api::Shape::fields:
      return simple(Kind::dynamic);
    default:
      return simple(Kind::integer);
  }
}

class Types::Level {
 public:
  explicit Level(Types& types) : types_(types) {
    if (++types_.level_ > limits::cel_type_levels_max) types_.steps_left_ = 0;
    if (types_.steps_left_ > 0) --types_.steps_left_;
  }
  ~Level() { --types_.level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  explicit operator bool() const { return types_.steps_left_ > 0; }

 private:
  Types& types_;
};

bool Types::agree(std::span<const Type* const> left, std::span<const Type* const> right) {
  if (left.size() != right.size()) return false;
  undo_.clear();
  bool all = true;
  for (std::size_t i = 0; i < left.size() && all; ++i) all = assignable(left[i], right[i]);
  if (!all)
    for (; !undo_.empty(); undo_.pop_back()) bound_[undo_.back().first] = undo_.back().second;
  return all;
}

void Types::bind(const Type* parameter, const Type* type) {
  undo_.emplace_back(parameter->parameter, bound_[parameter->parameter]);
  bound_[parameter->parameter] = type;
}

bool Types::null_fits(const Type* type) const {
  return type->kind == Kind::null || type->kind == Kind::object || type->kind == Kind::timestamp ||
         type->kind == Kind::duration || type->kind == Kind::optional;
}

bool Types::assignable(const Type* left, const Type* right) {
  const Level level(*this);
  if (!level) return false;
  if (left == right) return true;
  if (right->kind == Kind::parameter) {
    bool bound = false;
    if (put_in(left, right, bound)) return true;
    if (bound) return false;
  }
  bool bound = false;
  if (left->kind == Kind::parameter) return put_in(right, left, bound);
  if (is_open(left) || is_open(right)) return true;
  if (left->kind == Kind::null) return null_fits(right);
  if (right->kind == Kind::null) return null_fits(left);
  if (left->kind != right->kind) return false;
  if (left->kind == Kind::object) return left->structure == right->structure && left->schema == right->schema;
  if (left->kind == Kind::list || left->kind == Kind::optional) return assignable(left->first, right->first);
  if (left->kind == Kind::map) return assignable(left->first, right->first) && assignable(left->second, right->second);
  return true;
}

bool Types::put_in(const Type* type, const Type* parameter, bool& bound) {
  if (same(type, parameter)) return bound = true;
  const Type* before = bound_[parameter->parameter];
  if (!before) {
    if (occurs(parameter, type)) return false;
    bind(parameter, type);
    return true;
  }
  bound = true;
  if (same(type, before)) return true;
  if (!assignable(type, before)) return false;
  const Type* general = most_general(type, before);
  if (!occurs(parameter, general)) bind(parameter, general);
  return true;
}

bool Types::occurs(const Type* parameter, const Type* within) {
  const Level level(*this);
  if (!level) return true;
  if (within->kind == Kind::parameter) {
    if (within->parameter == parameter->parameter) return true;
    const Type* behind = bound_[within->parameter];
    return behind && occurs(parameter, behind);
  }
  return ((within->kind == Kind::list || within->kind == Kind::optional) && occurs(parameter, within->first)) ||
         (within->kind == Kind::map && (occurs(parameter, within->first) || occurs(parameter, within->second)));
}

bool Types::covers(const Type* left, const Type* right) {
  const Level level(*this);
  if (!level) return true;
  if (left->kind == Kind::dynamic || left->kind == Kind::parameter) return true;
  if (right->kind == Kind::dynamic || right->kind == Kind::parameter || left->kind != right->kind) return false;
  if (left->kind == Kind::list || left->kind == Kind::optional) return covers(left->first, right->first);
  if (left->kind == Kind::map) return covers(left->first, right->first) && covers(left->second, right->second);
  return left->structure == right->structure && left->schema == right->schema;
}

bool Types::same(const Type* left, const Type* right) {
  const Level level(*this);
  if (left == right || !level) return true;
  if (left->kind != right->kind || left->structure != right->structure || left->schema != right->schema ||
      left->parameter != right->parameter)
    return false;
  if (left->kind == Kind::type)
    return !left->first == !right->first && (!left->first || same(left->first, right->first));
  return (!left->first || same(left->first, right->first)) && (!left->second || same(left->second, right->second));
}

const Type* Types::substitute(const Type* type, bool to_dynamic) {
  const Level level(*this);
  if (!level) return simple(Kind::error);
  if (type->kind == Kind::parameter) {
    const Type* behind = bound_[type->parameter];
    if (behind) return substitute(behind, to_dynamic);
    return to_dynamic ? simple(Kind::dynamic) : type;
  }
  if (type->kind != Kind::list && type->kind != Kind::map && type->kind != Kind::optional) return type;
  const Type* first = substitute(type->first, to_dynamic);
  const Type* second = type->second ? substitute(type->second, to_dynamic) : nullptr;
  if (first == type->first && second == type->second) return type;
  if (type->kind == Kind::optional) return optional(first);
  return second ? map(first, second) : list(first);
}

std::string print(const Type* type) {
  constexpr int shown_levels = 4;
  return print_to(type, shown_levels);
}

std::string print_reference(const Type* type) {
  constexpr int shown_levels = 4;
  return print_reference_to(type, shown_levels);
}

}  // namespace vg::cel
