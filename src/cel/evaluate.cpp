#include "cel/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/phrases.h"
#include "base/policy_limits.h"
#include "cel/builtins.h"

namespace vg::cel {
namespace {

using std::string_view;

// What the reference implementation charges.
constexpr std::uint64_t name_cost = 1, call_cost = 1, list_cost = 10, map_cost = 30, step_cost = 2;
// A question to the authorizer is real work elsewhere.
constexpr std::uint64_t question_cost = 350'000;

constexpr string_view type_names[] = {"bool",      "bytes",  "double", "int",  "list",         "map",
                                      "null_type", "string", "type",   "uint", "optional_type"};

class Evaluator {
 public:
  Evaluator(const Program& program, Activation& activation, Memory& memory, Meter& meter)
      : program_(program), activation_(activation), memory_(memory), meter_(meter) {}

  Value eval(const Node& node) {
    switch (node.kind) {
      case NodeKind::name:
        return name(node);
      case NodeKind::select:
        return select(node);
      case NodeKind::has:
        return has(node);
      case NodeKind::call:
        return call(node);
      case NodeKind::list:
        return list(node);
      case NodeKind::map:
        return map(node);
      case NodeKind::fold:
        return fold(node);
      case NodeKind::structure:
        return no_overload();
      default:
        return program_.constants[node.constant];
    }
  }

 private:
  static Value no_overload() { return Value::of_text(phrases::no_such_overload, Tag::error); }

  // --- names and members ---

  const Value* in_scope(string_view name) const {
    const auto found =
        std::find_if(scopes_.rbegin(), scopes_.rend(), [&](const auto& scope) { return scope.first == name; });
    return found == scopes_.rend() ? nullptr : &found->second;
  }

  Value name(const Node& node) {
    meter_.take(name_cost);
    if (!node.rooted)
      if (const Value* value = in_scope(node.text)) return *value;
    if (const auto value = activation_.find(node.text)) return *value;
    if (std::ranges::find(type_names, node.text) != std::end(type_names)) return Value::of_text(node.text, Tag::type);
    return memory_.error(phrases::undeclared(node.text));
  }

  // What was bound under a dotted name, such as variables.x.
  std::optional<Value> dotted(const Node& node) {
    const Node& target = *node.target;
    if (target.kind != NodeKind::name || in_scope(target.text)) return std::nullopt;
    if (target.text != "variables" && target.text != "authorizer") return std::nullopt;
    return activation_.find(fmt::format("{}.{}", target.text, node.text));
  }

  Value select(const Node& node) {
    meter_.take(name_cost);
    if (const auto bound = dotted(node)) return *bound;
    const Value target = eval(*node.target);
    if (target.is_error()) return target;
    if (!target.is(Tag::optional)) return member(target, node.text);
    if (!target.inner) return target;
    Value found;
    return target.inner->is(Tag::map) && target.inner->find(Value::of_text(node.text), found)
               ? memory_.optional(found)
               : Value::optional_of(nullptr);
  }

  Value member(const Value& target, string_view name) {
    Value found;
    if (target.is(Tag::map) && target.find(Value::of_text(name), found)) return found;
    return memory_.error(fmt::format("{}: {}", phrases::no_such_key, name));
  }

  Value has(const Node& node) {
    if (dotted(node)) return Value::of(true);
    Value target = eval(*node.target);
    if (target.is_error()) return target;
    if (target.is(Tag::optional)) {
      if (!target.inner) return Value::of(false);
      target = *target.inner;
    }
    Value found;
    if (target.is(Tag::list)) return no_overload();
    // What is no map has no members.
    return Value::of(target.is(Tag::map) && target.find(Value::of_text(node.text), found));
  }

  // --- calls ---

  Value call(const Node& node) {
    if (node.text == "_&&_") return logic(node, false);
    if (node.text == "_||_") return logic(node, true);
    if (node.text == "_?_:_") return choice(node);
    if (node.target && (node.text == "or" || node.text == "orValue")) return otherwise(node);
    std::array<Value, 6> arguments;
    std::size_t count = 0;
    if (node.target && !node.global) arguments[count++] = eval(*node.target);
    if (node.parts.size() + count > arguments.size()) return no_overload();
    for (const Node* part : node.parts) arguments[count++] = eval(*part);
    for (std::size_t i = 0; i < count; ++i)
      if (arguments[i].is_error()) return arguments[i];
    meter_.take(call_cost);
    if (node.text == "check" && node.target) return ask(std::span(arguments.data(), count));
    if (!node.builtin) return no_overload();
    Runtime runtime{.memory = memory_, .meter = meter_};
    if (node.pattern > 0) runtime.pattern = program_.patterns[node.pattern - 1].get();
    return node.builtin->run(runtime, std::span(arguments.data(), count));
  }

  // One side that decides makes the other's error irrelevant.
  Value logic(const Node& node, bool decisive) {
    Value problem = Value::of(!decisive);
    for (const Node* part : node.parts) {
      const Value value = eval(*part);
      if (value.is(Tag::boolean) && value.boolean == decisive) return value;
      if (!value.is(Tag::boolean) && !problem.is_error()) problem = value.is_error() ? value : no_overload();
    }
    return problem;
  }

  Value choice(const Node& node) {
    const Value condition = eval(*node.parts[0]);
    if (condition.is_error()) return condition;
    if (!condition.is(Tag::boolean)) return no_overload();
    return eval(*node.parts[condition.boolean ? 1 : 2]);
  }

  // The alternative is looked at only where there is no value.
  Value otherwise(const Node& node) {
    meter_.take(call_cost);
    const Value target = eval(*node.target);
    if (target.is_error()) return target;
    if (!target.is(Tag::optional) || node.parts.size() != 1) return no_overload();
    if (!target.inner) return eval(*node.parts[0]);
    return node.text == "or" ? target : *target.inner;
  }

  Value ask(std::span<const Value> arguments) {
    if (arguments.size() != 2 || !arguments[0].is(Tag::access) || !arguments[1].is(Tag::string)) return no_overload();
    const AccessCheck& check = *arguments[0].access;
    if (!check.path_check && !check.resource_known) return no_overload();
    meter_.take(question_cost);
    Value decision(Tag::decision);
    decision.decision = memory_.make(activation_.ask(check, arguments[1].text));
    return decision;
  }

  // --- lists and maps ---

  // Takes an optional entry's value out; false where there is none.
  static bool present(Value& value, const Node& node, std::size_t entry) {
    if (entry >= node.optional.size() || !node.optional[entry]) return true;
    if (!value.is(Tag::optional)) {
      value = no_overload();
      return true;
    }
    if (!value.inner) return false;
    value = *value.inner;
    return true;
  }

  Value list(const Node& node) {
    meter_.take(list_cost);
    std::vector<Value> values;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      Value value = eval(*node.parts[i]);
      if (!value.is_error() && !present(value, node, i)) continue;
      if (value.is_error()) return value;
      values.push_back(value);
    }
    return memory_.list(values);
  }

  Value map(const Node& node) {
    meter_.take(map_cost);
    std::vector<Entry> entries;
    for (std::size_t i = 0; i + 1 < node.parts.size(); i += 2) {
      const Value key = eval(*node.parts[i]);
      if (key.is_error()) return key;
      Value value = eval(*node.parts[i + 1]);
      if (!value.is_error() && !present(value, node, i / 2)) continue;
      if (value.is_error()) return value;
      entries.push_back({key, value});
    }
    return memory_.map(std::move(entries));
  }

  // --- macros ---

  // Calls `visit` for each element with the variables set, until it returns false.
  template <class Visit>
  void walk(const Node& node, const Value& range, Visit visit) {
    const bool pairs = !node.second.empty(), is_map = range.is(Tag::map);
    for (std::size_t i = 0, size = range.size(); i < size; ++i) {
      meter_.take(step_cost);
      const std::size_t depth = scopes_.size();
      const Value element = is_map ? range.key_at(i) : range.at(i);
      if (pairs) {
        scopes_.emplace_back(node.variable, is_map ? element : Value::of(static_cast<std::int64_t>(i)));
        scopes_.emplace_back(node.second, is_map ? range.value_at(i) : element);
      } else {
        scopes_.emplace_back(node.variable, element);
      }
      const bool more = visit(element);
      scopes_.resize(depth);
      if (!more) return;
    }
  }

  Value fold(const Node& node) {
    const Value range = eval(*node.target);
    if (range.is_error()) return range;
    if (node.text.starts_with("opt")) return optional_fold(node, range);
    if (!range.is(Tag::list) && !range.is(Tag::map)) return no_overload();
    if (node.text == "all") return every(node, range, false);
    if (node.text == "exists") return every(node, range, true);
    if (node.text == "exists_one" || node.text == "existsOne") return exactly_one(node, range);
    if (node.text == "filter") return filter(node, range);
    if (node.text == "sortBy") return sort_by(node, range);
    if (node.text == "transformMap" || node.text == "transformMapEntry") return transform_map(node, range);
    return transform(node, range);
  }

  Value optional_fold(const Node& node, const Value& target) {
    if (!target.is(Tag::optional)) return no_overload();
    if (!target.inner) return target;
    scopes_.emplace_back(node.variable, *target.inner);
    const Value value = eval(*node.parts[0]);
    scopes_.pop_back();
    if (value.is_error()) return value;
    if (node.text == "optMap") return memory_.optional(value);
    return value.is(Tag::optional) ? value : no_overload();
  }

  // all and exists: one element that decides makes the errors of others irrelevant.
  Value every(const Node& node, const Value& range, bool decisive) {
    Value result = Value::of(!decisive);
    walk(node, range, [&](const Value&) {
      const Value value = eval(*node.parts[0]);
      if (value.is(Tag::boolean) && value.boolean == decisive) {
        result = value;
        return false;
      }
      if (!value.is(Tag::boolean) && !result.is_error()) result = value.is_error() ? value : no_overload();
      return true;
    });
    return result;
  }

  Value exactly_one(const Node& node, const Value& range) {
    std::size_t count = 0;
    Value problem;
    walk(node, range, [&](const Value&) {
      const Value value = eval(*node.parts[0]);
      if (!value.is(Tag::boolean)) {
        problem = value.is_error() ? value : no_overload();
        return false;
      }
      count += value.boolean ? 1 : 0;
      return true;
    });
    return problem.is_error() ? problem : Value::of(count == 1);
  }

  Value filter(const Node& node, const Value& range) {
    std::vector<Value> values;
    Value problem;
    walk(node, range, [&](const Value& element) {
      const Value value = eval(*node.parts[0]);
      if (value.is_true()) values.push_back(element);
      if (!value.is(Tag::boolean)) problem = value.is_error() ? value : no_overload();
      return !problem.is_error();
    });
    return problem.is_error() ? problem : memory_.list(values);
  }

  // Whether the element is taken, by the first of two parts.
  bool takes(const Node& node, Value& problem) {
    if (node.parts.size() < 2) return true;
    const Value wanted = eval(*node.parts[0]);
    if (!wanted.is(Tag::boolean)) problem = wanted.is_error() ? wanted : no_overload();
    return wanted.is_true();
  }

  // map and transformList.
  Value transform(const Node& node, const Value& range) {
    std::vector<Value> values;
    Value problem;
    walk(node, range, [&](const Value&) {
      if (!takes(node, problem)) return !problem.is_error();
      const Value value = eval(*node.parts.back());
      if (value.is_error()) problem = value;
      values.push_back(value);
      return !problem.is_error();
    });
    return problem.is_error() ? problem : memory_.list(values);
  }

  Value sort_by(const Node& node, const Value& range) {
    const Value keys = transform(node, range);
    if (keys.is_error()) return keys;
    const std::array arguments{range, keys};
    Runtime runtime{.memory = memory_, .meter = meter_};
    return find_builtin("@sortByAssociatedKeys")->run(runtime, arguments);
  }

  // A key that is there already is an error.
  Value add_entries(std::vector<Entry>& entries, const Value& more) {
    for (std::size_t i = 0; i < more.size(); ++i) {
      const Value key = more.key_at(i);
      for (const Entry& entry : entries)
        if (equal(entry.key, key, meter_)) return memory_.error("insert failed: the key already exists");
      entries.push_back({key, more.value_at(i)});
    }
    return {};
  }

  Value transform_map(const Node& node, const Value& range) {
    std::vector<Entry> entries;
    Value problem;
    walk(node, range, [&](const Value&) {
      if (!takes(node, problem)) return !problem.is_error();
      const Value key = scopes_[scopes_.size() - 2].second;
      const Value value = eval(*node.parts.back());
      if (value.is_error())
        problem = value;
      else if (node.text == "transformMap")
        entries.push_back({key, value});
      else if (!value.is(Tag::map))
        problem = no_overload();
      else
        problem = add_entries(entries, value);
      meter_.take(1 + entries.size() / 1000);
      return !problem.is_error();
    });
    return problem.is_error() ? problem : memory_.map(std::move(entries));
  }

  const Program& program_;
  Activation& activation_;
  Memory& memory_;
  Meter& meter_;
  std::vector<std::pair<string_view, Value>> scopes_;  // variables of macros, innermost last
};

}  // namespace

Outcome run(const Program& program, Activation& activation, Memory& memory, Budget& budget) {
  const std::uint64_t cost_max = std::min(budget.cost_left, limits::cel_cost_max);
  Meter meter(cost_max, budget.tick);
  Outcome outcome;
  try {
    outcome.value = Evaluator(program, activation, memory, meter).eval(*program.tree.root);
  } catch (const Exhausted&) {
    outcome.value = Value::of_text("operation cancelled: actual cost limit exceeded", Tag::error);
    outcome.out_of_budget = cost_max < limits::cel_cost_max;
  }
  // What it named may have been evaluated meanwhile, from the same budget.
  budget.cost_left -= std::min(budget.cost_left, meter.used());
  return outcome;
}

}  // namespace vg::cel
