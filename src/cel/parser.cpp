#include "cel/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "base/limits.h"

namespace vg::cel {
namespace {

using std::string_view;

constexpr string_view reserved[] = {"as",       "break",  "const",  "continue", "else", "for",
                                    "function", "if",     "import", "let",      "loop", "namespace",
                                    "package",  "return", "var",    "void",     "while"};

// What a macro that walks a list is called, and how many arguments it may have.
struct Fold {
  string_view name;
  std::size_t arguments;
  bool Syntax::* needs = nullptr;  // null: everybody has it
  std::size_t variables = 1;
};
constexpr Fold folds[] = {{"all", 2},
                          {"exists", 2},
                          {"exists_one", 2},
                          {"existsOne", 2},
                          {"filter", 2},
                          {"map", 2},
                          {"map", 3},
                          {"sortBy", 2, &Syntax::sort_by},
                          {"optMap", 2, &Syntax::optionals},
                          {"optFlatMap", 2, &Syntax::optionals},
                          {"all", 3, &Syntax::pairs, 2},
                          {"exists", 3, &Syntax::pairs, 2},
                          {"exists_one", 3, &Syntax::pairs, 2},
                          {"existsOne", 3, &Syntax::pairs, 2},
                          {"transformList", 3, &Syntax::pairs, 2},
                          {"transformList", 4, &Syntax::pairs, 2},
                          {"transformMap", 3, &Syntax::pairs, 2},
                          {"transformMap", 4, &Syntax::pairs, 2},
                          {"transformMapEntry", 3, &Syntax::pairs, 2},
                          {"transformMapEntry", 4, &Syntax::pairs, 2}};

constexpr string_view comparisons[] = {"<", "<=", ">=", ">", "==", "!=", "in"};
constexpr string_view products[] = {"*", "/", "%"};
constexpr string_view sums[] = {"+", "-"};

bool is_literal(NodeKind kind) { return kind <= NodeKind::bytes; }
bool is_number(NodeKind kind) {
  return kind == NodeKind::integer || kind == NodeKind::unsigned_integer || kind == NodeKind::real;
}

// Whether math.greatest and math.least take it, by its looks alone.
bool may_be_number(const Node& node) {
  if (is_literal(node.kind)) return is_number(node.kind);
  return node.kind != NodeKind::list && node.kind != NodeKind::map && node.kind != NodeKind::structure;
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Syntax& syntax) : tokens_(std::move(tokens)), syntax_(syntax) {}

  std::expected<Tree, Problem> run() {
    const Node* root = expression();
    if (!problem_ && here().kind != TokenKind::end)
      fail(here().at, fmt::format("unexpected \"{}\" after the end of the expression", here().text));
    if (problem_) return std::unexpected(std::move(*problem_));
    tree_.root = root;
    return std::move(tree_);
  }

 private:
  const Token& here(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool sees(string_view sign, std::size_t ahead = 0) const {
    const Token& token = here(ahead);
    return (token.kind == TokenKind::sign || token.kind == TokenKind::keyword) && token.text == sign;
  }
  bool take(string_view sign) {
    if (!sees(sign)) return false;
    ++at_;
    return true;
  }
  void expect(string_view sign) {
    if (problem_ || take(sign)) return;
    if (here().kind == TokenKind::end)
      fail(here().at, fmt::format("expected \"{}\", not the end of the expression", sign));
    else
      fail(here().at, fmt::format("expected \"{1}\", not \"{0}\"", here().text, sign));
  }

  // Nothing is read after the first problem: every function then ends at once.
  const Node* fail(std::size_t at, std::string message) {
    if (!problem_) problem_ = Problem{at, std::move(message)};
    at_ = tokens_.size() - 1;
    return &nothing_;
  }

  const Node* made(Node node) {
    const auto grow = [&node](const Node* child) { node.depth = std::max(node.depth, child->depth + 1); };
    if (node.target) grow(node.target);
    std::ranges::for_each(node.parts, grow);
    if (node.depth > limits::cel_depth_max)
      return fail(node.at, fmt::format("the expression is nested deeper than {} levels", limits::cel_depth_max));
    tree_.nodes.push_back(std::move(node));
    return &tree_.nodes.back();
  }
  const Node* call(std::size_t at, std::string function, std::vector<const Node*> arguments) {
    return made({.kind = NodeKind::call, .at = at, .text = std::move(function), .parts = std::move(arguments)});
  }

  const Node* expression() {
    if (++nesting_ > limits::cel_depth_max)
      return fail(here().at, fmt::format("the expression is nested deeper than {} levels", limits::cel_depth_max));
    const Node* result = alternatives();
    if (take("?")) {
      const Node* yes = alternatives();
      expect(":");
      const Node* no = expression();
      result = call(result->at, "_?_:_", {result, yes, no});
    }
    --nesting_;
    return result;
  }

  const Node* alternatives() { return chain("||", &Parser::conjunction); }
  const Node* conjunction() { return chain("&&", &Parser::relation); }

  const Node* chain(string_view sign, const Node* (Parser::*operand)()) {
    std::vector<const Node*> parts{(this->*operand)()};
    while (take(sign)) parts.push_back((this->*operand)());
    if (parts.size() == 1) return parts[0];
    const std::size_t at = parts[0]->at;
    return call(at, fmt::format("_{}_", sign), std::move(parts));
  }

  const Node* relation() { return left_to_right(comparisons, &Parser::sum); }
  const Node* sum() { return left_to_right(sums, &Parser::product); }
  const Node* product() { return left_to_right(products, &Parser::unary); }

  const Node* left_to_right(std::span<const string_view> signs, const Node* (Parser::*operand)()) {
    const Node* left = (this->*operand)();
    for (;;) {
      const auto sign = std::ranges::find_if(signs, [this](string_view known) { return sees(known); });
      if (sign == signs.end()) return left;
      ++at_;
      const Node* right = (this->*operand)();
      left = call(left->at, *sign == "in" ? "@in" : fmt::format("_{}_", *sign), {left, right});
    }
  }

  // A minus right before digits is part of the number: the smallest integer can be written in no other way.
  bool at_negative_number() const {
    return sees("-") && (here(1).kind == TokenKind::integer || here(1).kind == TokenKind::real);
  }

  const Node* unary() {
    const std::size_t at = here().at;
    const string_view sign = sees("-") ? "-" : "!";
    std::size_t count = 0;
    for (; sees(sign) && !at_negative_number(); ++count) ++at_;
    const Node* operand = member();
    // Two of them cancel each other out, and are not even looked at.
    return count % 2 == 0 ? operand : call(at, fmt::format("{}_", sign), {operand});
  }

  const Node* member() {
    const Node* node = primary();
    while (!problem_) {
      if (take("."))
        node = member_of(node);
      else if (take("["))
        node = element_of(node);
      else
        break;
    }
    return node;
  }

  const Node* element_of(const Node* node) {
    const bool optional = takes_optional();
    const Node* index = expression();
    expect("]");
    return call(node->at, optional ? "_[?_]" : "_[_]", {node, index});
  }

  // Takes the question mark of an optional entry or member.
  bool takes_optional() {
    if (!sees("?")) return false;
    if (syntax_.optionals) return take("?");
    fail(here().at, "optional values are not supported; use has() to check for a member");
    return false;
  }

  const Node* member_of(const Node* node) {
    const bool optional = takes_optional();
    const Token name = here();
    if (name.kind != TokenKind::identifier) return fail(name.at, "the name of a member must follow the dot");
    ++at_;
    if (optional)
      return call(node->at, "_?._",
                  {node, made({.kind = NodeKind::string, .at = name.at, .text = std::string(name.text)})});
    if (!take("("))
      return made({.kind = NodeKind::select, .at = name.at, .text = std::string(name.text), .target = node});
    std::vector<const Node*> arguments = list_until(")", false);
    if (problem_) return &nothing_;
    for (const Fold& fold : folds)
      if (fold.name == name.text && fold.arguments == arguments.size() && (!fold.needs || syntax_.*fold.needs))
        return fold_over(node, name, fold.variables, std::move(arguments));
    if (syntax_.extremes && node->kind == NodeKind::name && node->text == "math" &&
        (name.text == "greatest" || name.text == "least"))
      return extreme(name, std::move(arguments));
    return made({.kind = NodeKind::call,
                 .at = name.at,
                 .text = std::string(name.text),
                 .target = node,
                 .parts = std::move(arguments)});
  }

  const Node* fold_over(const Node* range, const Token& name, std::size_t variables,
                        std::vector<const Node*> arguments) {
    for (std::size_t i = 0; i < variables; ++i)
      if (arguments[i]->kind != NodeKind::name || arguments[i]->rooted)
        return fail(arguments[i]->at, fmt::format("{} requires the name of its variable as the {} argument", name.text,
                                                  i == 0 ? "first" : "second"));
    const Node& variable = *arguments[0];
    const std::string_view second = variables == 2 ? std::string_view(arguments[1]->text) : std::string_view();
    if (variables == 2 && second == variable.text)
      return fail(arguments[1]->at, fmt::format("the two variables of {} must have different names", name.text));
    if (name.text == "sortBy" && (is_literal(range->kind) || range->kind == NodeKind::map ||
                                  range->kind == NodeKind::structure || range->kind == NodeKind::has))
      return fail(range->at, "sortBy requires a list");
    arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(variables));
    return made({.kind = NodeKind::fold,
                 .at = name.at,
                 .text = std::string(name.text),
                 .target = range,
                 .parts = std::move(arguments),
                 .variable = variable.text,
                 .second = second});
  }

  // math.greatest and math.least take any number of numbers, or one list of them.
  const Node* extreme(const Token& name, std::vector<const Node*> arguments) {
    const auto numbers = [](const std::vector<const Node*>& nodes) {
      return !nodes.empty() && std::ranges::all_of(nodes, [](const Node* node) { return may_be_number(*node); });
    };
    const bool one_list = arguments.size() == 1 && arguments[0]->kind == NodeKind::list && numbers(arguments[0]->parts);
    if (!one_list && !numbers(arguments))
      return fail(name.at, fmt::format("math.{} requires numbers, or one list of numbers", name.text));
    if (arguments.size() > 2)
      arguments = {made({.kind = NodeKind::list, .at = name.at, .parts = std::move(arguments)})};
    return call(name.at, name.text == "greatest" ? "math.@max" : "math.@min", std::move(arguments));
  }

  // Expressions up to a closing bracket, which is taken as well.
  std::vector<const Node*> list_until(string_view close, bool comma_may_end, std::vector<bool>* optional = nullptr) {
    std::vector<const Node*> parts;
    if (comma_may_end && sees(",") && sees(close, 1)) ++at_;
    while (!problem_ && !sees(close)) {
      if (optional) optional->push_back(takes_optional());
      parts.push_back(expression());
      if (!take(",")) break;
      if (!comma_may_end && sees(close)) fail(here().at, "an argument must follow the comma");
    }
    expect(close);
    return parts;
  }

  const Node* primary() {
    if (problem_) return &nothing_;
    const Token& token = here();
    const std::size_t at = token.at;
    if (token.kind == TokenKind::identifier || (sees(".") && here(1).kind == TokenKind::identifier)) return named();
    if (take("(")) {
      const Node* inner = expression();
      expect(")");
      return inner;
    }
    if (take("[")) {
      Node list{.kind = NodeKind::list, .at = at};
      list.parts = list_until("]", true, &list.optional);
      return made(std::move(list));
    }
    if (take("{")) return map(at);
    return literal();
  }

  const Node* map(std::size_t at) {
    Node map{.kind = NodeKind::map, .at = at};
    if (sees(",") && sees("}", 1)) ++at_;
    while (!problem_ && !sees("}")) {
      map.optional.push_back(takes_optional());
      map.parts.push_back(expression());
      expect(":");
      map.parts.push_back(expression());
      if (!take(",")) break;
    }
    expect("}");
    return made(std::move(map));
  }

  // How many tokens the name of a structure takes that starts here, or 0 when no such literal does.
  std::size_t structure_name_tokens() const {
    std::size_t count = 1;
    while (sees(".", count) && here(count + 1).kind == TokenKind::identifier) count += 2;
    return sees("{", count) ? count : 0;
  }

  const Node* named() {
    const std::size_t at = here().at;
    const bool rooted = take(".");
    if (const std::size_t count = structure_name_tokens()) return structure(at, rooted, count);
    const Token name = here();
    if (std::ranges::find(reserved, name.text) != std::end(reserved))
      return fail(name.at, fmt::format("\"{}\" is a reserved word and cannot be a name", name.text));
    ++at_;
    if (!take("(")) return made({.kind = NodeKind::name, .at = at, .text = std::string(name.text), .rooted = rooted});
    std::vector<const Node*> arguments = list_until(")", false);
    if (problem_) return &nothing_;
    if (name.text == "has" && !rooted && arguments.size() == 1) return has(*arguments[0]);
    return made({.kind = NodeKind::call,
                 .at = at,
                 .text = std::string(name.text),
                 .rooted = rooted,
                 .parts = std::move(arguments)});
  }

  const Node* has(const Node& member) {
    if (member.kind != NodeKind::select) return fail(member.at, "has() requires a member, for example has(a.b)");
    return made({.kind = NodeKind::has, .at = member.at, .text = member.text, .target = member.target});
  }

  const Node* structure(std::size_t at, bool rooted, std::size_t name_tokens) {
    Node node{.kind = NodeKind::structure, .at = at, .rooted = rooted};
    for (std::size_t i = 0; i < name_tokens; ++i) node.text += here(i).text;
    at_ += name_tokens;
    expect("{");
    if (sees(",") && sees("}", 1)) ++at_;
    while (!problem_ && !sees("}")) {
      if (sees("?")) fail(here().at, "optional members of structures are not supported");
      if (here().kind != TokenKind::identifier) fail(here().at, "expected the name of a member");
      node.fields.push_back(here().text);
      ++at_;
      expect(":");
      node.parts.push_back(expression());
      if (!take(",")) break;
    }
    expect("}");
    return made(std::move(node));
  }

  const Node* literal() {
    const std::size_t at = here().at;
    const bool negative = take("-");
    const Token token = here();
    if (token.kind != TokenKind::end) ++at_;
    switch (token.kind) {
      case TokenKind::integer:
        return integer(at, token.text, negative);
      case TokenKind::unsigned_integer:
        if (!negative) return unsigned_integer(at, token.text);
        break;
      case TokenKind::real:
        return real(at, fmt::format("{}{}", negative ? "-" : "", token.text));
      case TokenKind::string:
      case TokenKind::bytes:
        return made({.kind = token.kind == TokenKind::string ? NodeKind::string : NodeKind::bytes,
                     .at = at,
                     .text = token.value});
      case TokenKind::keyword:
        if (token.text == "null") return made({.kind = NodeKind::null, .at = at});
        if (token.text != "in") return made({.kind = NodeKind::boolean, .at = at, .text = std::string(token.text)});
        break;
      default:
        break;
    }
    if (token.kind == TokenKind::end) return fail(token.at, "expected a value, not the end of the expression");
    return fail(token.at, fmt::format("expected a value, not \"{}\"", token.text));
  }

  static std::optional<std::uint64_t> magnitude(string_view digits) {
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value, hex ? 16 : 10);
    return error == std::errc() && end == digits.end() ? std::optional(value) : std::nullopt;
  }

  const Node* integer(std::size_t at, string_view digits, bool negative) {
    const auto value = magnitude(digits);
    constexpr std::uint64_t most = INT64_MAX;
    if (!value || *value > most + (negative ? 1 : 0)) return fail(at, "the number does not fit into 64 bits");
    return made({.kind = NodeKind::integer, .at = at, .text = fmt::format("{}{}", negative ? "-" : "", digits)});
  }

  const Node* unsigned_integer(std::size_t at, string_view digits) {
    if (!magnitude(digits.substr(0, digits.size() - 1))) return fail(at, "the number does not fit into 64 bits");
    return made({.kind = NodeKind::unsigned_integer, .at = at, .text = std::string(digits)});
  }

  const Node* real(std::size_t at, std::string digits) {
    if (std::isinf(std::strtod(digits.c_str(), nullptr))) return fail(at, "the number does not fit into 64 bits");
    return made({.kind = NodeKind::real, .at = at, .text = std::move(digits)});
  }

  std::vector<Token> tokens_;
  Syntax syntax_;
  std::size_t at_ = 0;
  std::size_t nesting_ = 0;
  Tree tree_;
  Node nothing_;
  std::optional<Problem> problem_;
};

}  // namespace

std::expected<Tree, Problem> parse(string_view text, const Syntax& syntax) {
  if (text.size() > limits::cel_expression_bytes_max)
    return std::unexpected(Problem{0, fmt::format("the expression has {} bytes, at most {} are supported", text.size(),
                                                  limits::cel_expression_bytes_max)});
  auto tokens = tokenize(text);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  return Parser(std::move(*tokens), syntax).run();
}

}  // namespace vg::cel
