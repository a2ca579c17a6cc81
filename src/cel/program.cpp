#include "cel/program.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "base/time_rfc3339.h"
#include "cel/builtins.h"
#include "cel/compile.h"
#include "cel/parser.h"

namespace vg::cel {
namespace {

using std::string_view;

constexpr Syntax policy_syntax{.sort_by = true, .optionals = true, .pairs = true};

std::optional<std::string> dotted_name(const Node& node) {
  if (node.kind == NodeKind::name) return node.text;
  if (node.kind != NodeKind::select) return std::nullopt;
  auto before = dotted_name(*node.target);
  if (before) *before += "." + node.text;
  return before;
}

// The parser has found that they fit.
std::int64_t read_integer(string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t size = 0;
  std::from_chars(text.data(), text.data() + text.size(), size, hex ? 16 : 10);
  return static_cast<std::int64_t>(negative ? 0 - size : size);
}

class Linker {
 public:
  explicit Linker(Program& program) : program_(program) {}

  std::optional<Problem> run() {
    for (Node& node : program_.tree.nodes) {
      if (node.kind <= NodeKind::bytes) constant(node, literal(node));
      if (node.kind == NodeKind::select) name_of_type(node);
      if (node.kind == NodeKind::call) link_call(node);
      if (problem_) return problem_;
    }
    return std::nullopt;
  }

 private:
  void constant(Node& node, const Value& value) {
    node.constant = program_.constants.size();
    program_.constants.push_back(value);
  }

  static Value literal(const Node& node) {
    switch (node.kind) {
      case NodeKind::null:
        return {};
      case NodeKind::boolean:
        return Value::of(node.text == "true");
      case NodeKind::integer:
        return Value::of(read_integer(node.text));
      case NodeKind::unsigned_integer:
        return Value::of(
            static_cast<std::uint64_t>(read_integer(string_view(node.text).substr(0, node.text.size() - 1))));
      case NodeKind::real:
        return Value::of(std::strtod(node.text.c_str(), nullptr));
      case NodeKind::string:
        return Value::of_text(node.text);
      default:
        return Value::of_text(node.text, Tag::bytes);
    }
  }

  // google.protobuf.Timestamp, net.IP and so on are values.
  void name_of_type(Node& node) {
    static constexpr string_view names[] = {
        "google.protobuf.Timestamp", "google.protobuf.Duration", "net.IP",        "net.CIDR",
        "kubernetes.Quantity",       "kubernetes.Semver",        "kubernetes.URL"};
    const auto dotted = dotted_name(node);
    for (const string_view name : names)
      if (dotted == name) {
        node.kind = NodeKind::string;
        constant(node, Value::of_text(name, Tag::type));
      }
  }

  void link_call(Node& node) {
    if (const auto before = node.target ? dotted_name(*node.target) : std::nullopt)
      node.builtin = find_builtin(fmt::format("{}.{}", *before, node.text));
    node.global = node.global || node.builtin;
    if (!node.builtin) node.builtin = find_builtin(node.text);
    check_literals(node);
  }

  const Node* written_out(const Node& call, std::size_t argument) {
    if (call.parts.size() <= argument || call.parts[argument]->kind != NodeKind::string) return nullptr;
    return call.parts[argument];
  }

  // What is written out and can never be read is refused now.
  void check_literals(Node& node) {
    if (node.text == "matches" || node.text == "find" || node.text == "findAll")
      if (const Node* pattern = written_out(node, node.target ? 0 : 1)) return link_pattern(node, *pattern);
    if (node.target) return;
    const Node* text = written_out(node, 0);
    if (!text) return;
    if (node.text == "duration" && !parse_duration(text->text)) refuse(*text, "invalid duration argument");
    if (node.text == "timestamp" && !parse_rfc3339(text->text)) refuse(*text, "invalid timestamp argument");
  }

  void link_pattern(Node& node, const Node& pattern) {
    auto compiled = compile_pattern(pattern.text);
    if (!compiled) return refuse(pattern, "invalid matches argument: the pattern is not a valid regular expression");
    program_.patterns.push_back(std::move(compiled));
    node.pattern = program_.patterns.size();
  }

  void refuse(const Node& node, string_view why) {
    if (!problem_) problem_ = Problem{node.at, std::string(why)};
  }

  Program& program_;
  std::optional<Problem> problem_;
};

}  // namespace

std::expected<Compiled, std::string> compile(string_view text, const Dialect& dialect, Types& types) {
  auto program = std::make_shared<Program>();
  program->text = text;
  auto tree = parse(program->text, policy_syntax);
  if (!tree) return std::unexpected(describe(program->text, tree.error()));
  program->tree = std::move(*tree);
  const auto type = check(program->tree, dialect, types);
  if (!type) return std::unexpected(describe(program->text, type.error()));
  if (const auto problem = Linker(*program).run()) return std::unexpected(describe(program->text, *problem));
  return Compiled{.program = std::move(program), .type = *type};
}

}  // namespace vg::cel
