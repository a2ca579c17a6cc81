#include "cel/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cel/format_check.h"
#include "cel/functions.h"

namespace vg::cel {
namespace {

using std::string_view;

// Names of types, which are values as well.
constexpr std::pair<string_view, string_view> type_names[] = {
    {"bool", "bool"},
    {"bytes", "bytes"},
    {"double", "double"},
    {"int", "int"},
    {"list", "[]dyn"},
    {"map", "map[dyn]dyn"},
    {"null_type", "null"},
    {"string", "string"},
    {"type", "type"},
    {"uint", "uint"},
    {"google.protobuf.Duration", "duration"},
    {"google.protobuf.Timestamp", "timestamp"},
};

// The dotted name that a chain of selections spells; nothing for any other expression.
std::optional<std::string> dotted_name(const Node& node) {
  if (node.kind == NodeKind::name) return node.text;
  if (node.kind != NodeKind::select) return std::nullopt;
  auto before = dotted_name(*node.target);
  if (before) *before += "." + node.text;
  return before;
}

bool is_rooted(const Node& node) { return node.kind == NodeKind::select ? is_rooted(*node.target) : node.rooted; }

string_view next_part(string_view& rest, string_view separator) {
  const auto end = std::min(rest.find(separator), rest.size());
  const string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + separator.size(), rest.size()));
  return part;
}

class Checker {
 public:
  Checker(const Dialect& dialect, Types& types) : dialect_(dialect), types_(types) {}

  std::expected<const Type*, Problem> run(const Node& root) {
    const Type* type = types_.final(check(root));
    check_formats();
    if (types_.exhausted()) return std::unexpected(Problem{0, "the expression is too complex; simplify it"});
    if (problem_) return std::unexpected(std::move(*problem_));
    return type;
  }

 private:
  const Type* fail(const Node& node, std::string message) {
    if (!problem_) problem_ = Problem{node.at, std::move(message)};
    return Types::simple(Kind::error);
  }

  const Type* check(const Node& node) {
    const Type* type = find_type(node);
    if (dialect_.extensions) found_[&node] = type;
    return type;
  }

  const Type* find_type(const Node& node) {
    switch (node.kind) {
      case NodeKind::name:
        return name(node);
      case NodeKind::select:
        return select(node);
      case NodeKind::has:
        member(node, check(*node.target));
        return Types::simple(Kind::boolean);
      case NodeKind::call:
        return call(node);
      case NodeKind::list:
        return types_.list(join_all(node, 0, 1));
      case NodeKind::map:
        return map(node);
      case NodeKind::structure:
        return structure(node);
      case NodeKind::fold:
        return fold(node);
      default:
        return literal(node.kind);
    }
  }

  static const Type* literal(NodeKind kind) {
    constexpr Kind kinds[] = {Kind::null, Kind::boolean, Kind::integer, Kind::unsigned_integer,
                              Kind::real, Kind::string,  Kind::bytes};
    return Types::simple(kinds[static_cast<std::size_t>(kind)]);
  }

  // --- names ---

  const Type* name(const Node& node) {
    if (const Type* found = look_up(node.text, node.rooted)) return found;
    return fail(node, fmt::format("unknown identifier \"{}\"{}", node.text, known_names()));
  }

  std::string known_names() const {
    std::string names;
    for (const Variable& variable : dialect_.variables)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", variable.name);
    return fmt::format("; the variables are {}", names);
  }

  const Type* look_up(string_view name, bool rooted) {
    if (!rooted && !dialect_.container.empty())
      if (const Type* found = exactly(fmt::format("{}.{}", dialect_.container, name))) return found;
    return exactly(name);
  }

  const Type* exactly(string_view name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (scope->first == name) return scope->second;
    for (const Variable& variable : dialect_.variables)
      if (variable.name == name) return types_.read_member(variable.structure, {});
    for (const auto& [type, notation] : type_names)
      if (type == name) return types_.type_of(types_.read_member(notation, {}));
    const Structure* structure = find_structure(name, dialect_.domains);
    return structure ? types_.type_of(types_.object(*structure)) : nullptr;
  }

  // --- members ---

  const Type* select(const Node& node) {
    if (const auto dotted = dotted_name(node))
      if (const Type* found = look_up(*dotted, is_rooted(node))) return found;
    return member(node, check(*node.target));
  }

  const Type* member(const Node& node, const Type* of) {
    const Type* target = types_.known(of);
    switch (target->kind) {
      case Kind::map:
        return target->second;
      case Kind::object:
        return member_of(node, *target->structure, node.text);
      case Kind::parameter:
        types_.agree(Types::simple(Kind::dynamic), target);
        return Types::simple(Kind::dynamic);
      case Kind::dynamic:
      case Kind::error:
        return Types::simple(Kind::dynamic);
      default:
        return fail(node, fmt::format("a value of type {} has no member \"{}\"", print(target), node.text));
    }
  }

  const Type* member_of(const Node& node, const Structure& structure, string_view name) {
    const auto notation = member_type(structure, name, dialect_.naming);
    if (notation) return types_.read_member(*notation, package_of(structure));
    const string_view hint = dialect_.naming == Naming::go ? "members have Go names here (vmi.Spec.Domain)"
                                                           : "members have JSON names here (vmi.spec.domain)";
    return fail(node, fmt::format("{} has no member \"{}\"; {}", structure.name, name, hint));
  }

  // --- calls ---

  struct Callee {
    const Function* standard = nullptr;
    const Function* extension = nullptr;
    explicit operator bool() const { return standard || extension; }
  };

  static const Function* find(std::span<const Function> functions, string_view name) {
    const auto at = std::ranges::find(functions, name, &Function::name);
    return at == functions.end() ? nullptr : &*at;
  }
  Callee find(string_view name) const {
    return {.standard = find(standard_functions(), name),
            .extension = dialect_.extensions ? find(extension_functions(), name) : nullptr};
  }

  const Type* call(const Node& node) {
    std::vector<const Type*> arguments;
    if (node.target) arguments.push_back(nullptr);
    for (const Node* part : node.parts) arguments.push_back(check(*part));
    if (node.text == "_&&_" || node.text == "_||_") return logic(node, arguments);
    if (!node.target) return call(node, find(node.text), arguments, false);
    if (const auto before = dotted_name(*node.target))
      if (const Callee callee = find(fmt::format("{}.{}", *before, node.text))) {
        arguments.erase(arguments.begin());
        return call(node, callee, arguments, false);
      }
    arguments[0] = check(*node.target);
    if (is_literal_format(node)) formats_.push_back(&node);
    return call(node, find(node.text), arguments, true);
  }

  const Type* logic(const Node& node, const std::vector<const Type*>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) must_be_bool(*node.parts[i], arguments[i]);
    return Types::simple(Kind::boolean);
  }

  void must_be_bool(const Node& node, const Type* type) {
    if (!types_.agree(type, Types::simple(Kind::boolean)))
      fail(node, fmt::format("must be a bool, not a value of type {}", print(types_.final(type))));
  }

  const Type* call(const Node& node, const Callee& callee, const std::vector<const Type*>& arguments, bool member) {
    if (!callee) return fail(node, fmt::format("unknown function \"{}\"", node.text));
    const Type* result = nullptr;
    for (const Function* function : {callee.standard, callee.extension})
      if (function) try_overloads(function->overloads, arguments, member, result);
    if (result) return result;
    std::string types;
    for (const Type* argument : arguments)
      types += fmt::format("{}{}", types.empty() ? "" : ", ", print(types_.final(argument)));
    return fail(node, fmt::format("\"{}\" does not support ({}){}", node.text, types, mixed_numbers(arguments)));
  }

  // The most common mistake: unsigned members next to plain numbers.
  static string_view mixed_numbers(const std::vector<const Type*>& arguments) {
    const auto has = [&](Kind kind) {
      return std::ranges::any_of(arguments, [kind](const Type* type) { return type->kind == kind; });
    };
    return has(Kind::integer) && has(Kind::unsigned_integer) ? "; write 4u, or uint(x), to compare with a uint" : "";
  }

  // All overloads that fit decide together: where their results differ, the result is dynamic.
  void try_overloads(string_view overloads, const std::vector<const Type*>& arguments, bool member,
                     const Type*& result) {
    while (!overloads.empty()) {
      string_view overload = next_part(overloads, "; ");
      if (overload.starts_with('.') != member) continue;
      if (member) overload.remove_prefix(1);
      string_view wanted = next_part(overload, " = ");
      Types::Letters letters{};
      std::vector<const Type*> parameters;
      while (!wanted.empty()) parameters.push_back(types_.read(next_part(wanted, " "), letters));
      const Type* returned = types_.read(overload, letters);
      if (!types_.agree(arguments, parameters)) continue;
      returned = types_.known(returned);
      if (!result)
        result = returned;
      else if (result->kind != Kind::dynamic && !types_.same(returned, result))
        result = Types::simple(Kind::dynamic);
    }
  }

  // --- lists, maps, structures ---

  // The type that all elements share, or dynamic.
  const Type* join_all(const Node& node, std::size_t first, std::size_t stride) {
    const Type* joined = nullptr;
    for (std::size_t i = first; i < node.parts.size(); i += stride) {
      const Type* type = check(*node.parts[i]);
      if (!joined)
        joined = type;
      else
        joined = types_.agree(joined, type) ? types_.most_general(joined, type) : Types::simple(Kind::dynamic);
    }
    return joined ? joined : types_.fresh();
  }

  const Type* map(const Node& node) {
    const Type* keys = join_all(node, 0, 2);
    return types_.map(keys, join_all(node, 1, 2));
  }

  const Type* structure(const Node& node) {
    const Type* named = look_up(node.text, node.rooted);
    if (!named) return fail(node, fmt::format("unknown structure \"{}\"", node.text));
    if (named->kind != Kind::type || !named->first || named->first->kind != Kind::object)
      return fail(node, fmt::format("members of \"{}\" cannot be set", node.text));
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const Type* value = check(*node.parts[i]);
      const Type* wanted = member_of(node, *named->first->structure, node.fields[i]);
      if (!types_.agree(wanted, value))
        fail(*node.parts[i], fmt::format("{}.{} has type {}, and the value has type {}", node.text, node.fields[i],
                                         print(wanted), print(types_.final(value))));
    }
    return named->first;
  }

  // --- macros that walk ---

  const Type* fold(const Node& node) {
    const Type* range = check(*node.target);
    scopes_.emplace_back(node.variable, element_of(node, types_.known(range)));
    const Type* element = scopes_.back().second;
    std::vector<const Type*> parts;
    for (const Node* part : node.parts) parts.push_back(check(*part));
    scopes_.pop_back();
    if (node.text == "sortBy") return call(node, find("@sortByAssociatedKeys"), {range, types_.list(parts[0])}, true);
    if (node.text == "map" && parts.size() == 1) return types_.list(parts[0]);
    must_be_bool(*node.parts[0], parts[0]);
    if (node.text == "map") return types_.list(parts[1]);
    return node.text == "filter" ? types_.list(element) : Types::simple(Kind::boolean);
  }

  const Type* element_of(const Node& node, const Type* range) {
    switch (range->kind) {
      case Kind::list:
      case Kind::map:
        return range->first;
      case Kind::parameter:
        types_.agree(Types::simple(Kind::dynamic), range);
        return Types::simple(Kind::dynamic);
      case Kind::dynamic:
      case Kind::error:
        return Types::simple(Kind::dynamic);
      default:
        return fail(node, fmt::format("{} requires a list or a map, not a value of type {}", node.text, print(range)));
    }
  }

  void check_formats() {
    const auto type_of = [this](const Node& node) {
      const auto at = found_.find(&node);
      return at == found_.end() ? Types::simple(Kind::dynamic) : types_.final(at->second);
    };
    for (const Node* call : formats_) {
      if (problem_) return;
      problem_ = check_format(*call, type_of);
    }
  }

  const Dialect& dialect_;
  Types& types_;
  std::vector<std::pair<string_view, const Type*>> scopes_;  // variables of macros, innermost last
  std::unordered_map<const Node*, const Type*> found_;
  std::vector<const Node*> formats_;
  std::optional<Problem> problem_;
};

}  // namespace

std::expected<const Type*, Problem> check(const Tree& tree, const Dialect& dialect, Types& types) {
  return Checker(dialect, types).run(*tree.root);
}

}  // namespace vg::cel
