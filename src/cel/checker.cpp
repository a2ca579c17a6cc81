#include "cel/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/phrases.h"
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
    if (dialect_.extensions || dialect_.policies) found_[&node] = type;
    return type;
  }

  const Type* find_type(const Node& node) {
    switch (node.kind) {
      case NodeKind::name:
        return name(node);
      case NodeKind::select:
        return select(node);
      case NodeKind::has:
        // What stands behind a dotted name is there, or the name could not have been bound.
        if (!bound_member(node)) member(node, check(*node.target));
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
    if (dialect_.policies) return fail(node, phrases::undeclared(node.text));
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
    for (const Binding& binding : dialect_.bindings)
      if (binding.name == name) return binding.type;
    for (const Variable& variable : dialect_.variables)
      if (variable.name == name) return types_.read_member(variable.structure, {});
    for (const auto& [type, notation] : type_names)
      if (type == name) return types_.type_of(types_.read_member(notation, {}));
    const Structure* structure =
        dialect_.policies ? find_policy_structure(name) : find_structure(name, dialect_.domains);
    return structure ? types_.type_of(types_.object(*structure)) : nullptr;
  }

  // --- members ---

  const Type* select(const Node& node) {
    if (const auto dotted = dotted_name(node))
      if (const Type* found = look_up(*dotted, is_rooted(node))) return found;
    return member(node, check(*node.target));
  }

  bool bound_member(const Node& node) {
    const auto before = dialect_.bindings.empty() ? std::nullopt : dotted_name(*node.target);
    return before && std::ranges::find(dialect_.bindings, fmt::format("{}.{}", *before, node.text), &Binding::name) !=
                         dialect_.bindings.end();
  }

  const Type* member(const Node& node, const Type* of) { return member(node, node.text, of); }

  const Type* member(const Node& node, string_view name, const Type* of) {
    const Type* target = types_.known(of);
    switch (target->kind) {
      case Kind::optional:
        return types_.optional(inside(member(node, name, target->first)));
      case Kind::map:
        return target->second;
      case Kind::object:
        return target->schema ? described_member(node, *target->schema, name)
                              : member_of(node, *target->structure, name);
      case Kind::parameter:
        types_.agree(Types::simple(Kind::dynamic), target);
        return Types::simple(Kind::dynamic);
      case Kind::dynamic:
      case Kind::error:
        return Types::simple(Kind::dynamic);
      default:
        return fail(node, fmt::format("a value of type {} has no member \"{}\"", print(target), name));
    }
  }

  // An optional of an optional is one.
  static const Type* inside(const Type* type) { return type->kind == Kind::optional ? type->first : type; }

  const Type* described_member(const Node& node, const api::Type& schema, string_view name) {
    const api::Field* field = schema.find(name);
    return field ? types_.described(*field) : fail(node, phrases::undefined_field(name));
  }

  const Type* member_of(const Node& node, const Structure& structure, string_view name) {
    const auto notation = member_type(structure, name, dialect_.naming);
    if (notation) return types_.read_member(*notation, package_of(structure));
    if (dialect_.policies) return fail(node, phrases::undefined_field(name));
    const string_view hint = dialect_.naming == Naming::go ? "members have Go names here (vmi.Spec.Domain)"
                                                           : "members have JSON names here (vmi.spec.domain)";
    return fail(node, fmt::format("{} has no member \"{}\"; {}", structure.name, name, hint));
  }

  // --- calls ---

  struct Callee {
    const Function* standard = nullptr;
    const Function* extension = nullptr;
    const Function* policy = nullptr;
    explicit operator bool() const { return standard || extension || policy; }
  };

  static const Function* find(std::span<const Function> functions, string_view name) {
    const auto at = std::ranges::find(functions, name, &Function::name);
    return at == functions.end() ? nullptr : &*at;
  }
  Callee find(string_view name) const {
    return {.standard = find(standard_functions(), name),
            .extension = dialect_.extensions ? find(extension_functions(), name) : nullptr,
            .policy = dialect_.policies ? find(policy_functions(), name) : nullptr};
  }

  const Type* call(const Node& node) {
    std::vector<const Type*> arguments;
    if (node.target) arguments.push_back(nullptr);
    const bool format = node.text == "format";
    if (format) ++format_arguments_;
    for (const Node* part : node.parts) arguments.push_back(check(*part));
    if (format) --format_arguments_;
    if (node.text == "_&&_" || node.text == "_||_") return logic(node, arguments);
    if (node.text == "_?._") return types_.optional(inside(member(node, node.parts[1]->text, arguments[0])));
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
    if (!callee && dialect_.policies) return fail(node, phrases::undeclared(node.text));
    if (!callee) return fail(node, fmt::format("unknown function \"{}\"", node.text));
    const Type* result = nullptr;
    for (const Function* function : {callee.standard, callee.extension, callee.policy})
      if (function) try_overloads(function->overloads, arguments, member, result);
    if (result) return result;
    if (dialect_.policies) return no_overload(node, arguments, member);
    std::string types;
    for (const Type* argument : arguments)
      types += fmt::format("{}{}", types.empty() ? "" : ", ", print(types_.final(argument)));
    return fail(node, fmt::format("\"{}\" does not support ({}){}", node.text, types, mixed_numbers(arguments)));
  }

  const Type* no_overload(const Node& node, const std::vector<const Type*>& arguments, bool member) {
    std::string types;
    for (std::size_t i = member ? 1 : 0; i < arguments.size(); ++i)
      types += fmt::format("{}{}", types.empty() ? "" : ", ", print_reference(types_.final(arguments[i])));
    const std::string target = member ? print_reference(types_.final(arguments[0])) + "." : "";
    return fail(node, fmt::format("{}{}", phrases::no_overload(node.text, fmt::format("{}({})", target, types)),
                                  mixed_numbers(arguments)));
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
      const Type* type = entry(node, i, stride, first, check(*node.parts[i]));
      if (!joined)
        joined = type;
      else if (types_.agree(joined, type))
        joined = types_.most_general(joined, type);
      else
        joined = dialect_.policies && format_arguments_ == 0 ? of_two_types(*node.parts[i], joined, type)
                                                             : Types::simple(Kind::dynamic);
    }
    return joined ? joined : types_.fresh();
  }

  // What an entry adds: an optional one the value that it may have.
  const Type* entry(const Node& node, std::size_t i, std::size_t stride, std::size_t first, const Type* type) {
    const bool is_value = stride == 1 || first == 1;
    if (!is_value || i / stride >= node.optional.size() || !node.optional[i / stride]) return type;
    const Type* inner = types_.fresh();
    if (types_.agree(type, types_.optional(inner))) return types_.known(inner);
    return fail(*node.parts[i], fmt::format("an optional entry must be an optional value, not a value of type {}",
                                            print(types_.final(type))));
  }

  const Type* of_two_types(const Node& node, const Type* wanted, const Type* found) {
    return fail(node, fmt::format("expected type '{}' but found '{}'; the entries of a list or map must have one type",
                                  print_reference(types_.final(wanted)), print_reference(types_.final(found))));
  }

  const Type* map(const Node& node) {
    const Type* keys = join_all(node, 0, 2);
    return types_.map(keys, join_all(node, 1, 2));
  }

  const Type* structure(const Node& node) {
    if (dialect_.policies) return fail(node, phrases::undeclared(node.text));
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
    if (node.text.starts_with("opt")) return optional_fold(node, range);
    if (!node.second.empty()) return pair_fold(node, types_.known(range));
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

  // optMap and optFlatMap: `variable` is the value, if there is one.
  const Type* optional_fold(const Node& node, const Type* target) {
    const Type* inner = types_.fresh();
    if (!types_.agree(target, types_.optional(inner)))
      return fail(node, fmt::format("{} requires an optional value, not a value of type {}", node.text,
                                    print(types_.final(target))));
    scopes_.emplace_back(node.variable, types_.known(inner));
    const Type* result = check(*node.parts[0]);
    scopes_.pop_back();
    if (node.text == "optMap") return types_.optional(result);
    const Type* flat = types_.optional(types_.fresh());
    if (types_.agree(result, flat)) return types_.known(flat);
    return fail(*node.parts[0], "optFlatMap requires an expression that gives an optional value");
  }

  // Macros with two variables: position and value of a list, key and value of a map.
  const Type* pair_fold(const Node& node, const Type* range) {
    const Type* second = element_of(node, range);
    const Type* first = range->kind == Kind::list ? Types::simple(Kind::integer) : second;
    if (range->kind == Kind::map) second = range->second;
    scopes_.emplace_back(node.variable, first);
    scopes_.emplace_back(node.second, second);
    std::vector<const Type*> parts;
    for (const Node* part : node.parts) parts.push_back(check(*part));
    scopes_.resize(scopes_.size() - 2);
    const bool transforms = node.text.starts_with("transform");
    if (!transforms || parts.size() == 2) must_be_bool(*node.parts[0], parts[0]);
    if (!transforms) return Types::simple(Kind::boolean);
    if (node.text == "transformList") return types_.list(parts.back());
    if (node.text == "transformMap") return types_.map(first, parts.back());
    const Type* entries = types_.map(types_.fresh(), types_.fresh());
    if (types_.agree(parts.back(), entries)) return types_.known(entries);
    return fail(*node.parts.back(), "transformMapEntry requires an expression that gives a map");
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
  std::size_t format_arguments_ = 0;  // how many calls of format() surround this: their lists may be mixed
  std::optional<Problem> problem_;
};

}  // namespace

std::expected<const Type*, Problem> check(const Tree& tree, const Dialect& dialect, Types& types) {
  return Checker(dialect, types).run(*tree.root);
}

}  // namespace vg::cel
