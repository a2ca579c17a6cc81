#include "base/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <tuple>

#include "base/joined.h"
#include "base/limits.h"
#include "base/names.h"

namespace vg {
namespace {

using Operator = LabelRequirement::Operator;

struct OperatorForm {
  Operator op;
  std::string_view symbol;           // in the text of a selector
  std::string_view expression_name;  // in matchExpressions, where it exists
  std::size_t values_min;
  std::size_t values_max;
};
// In the order of the enumeration.
constexpr std::array<OperatorForm, 8> operator_forms{{
    {Operator::exists, "", "Exists", 0, 0},
    {Operator::does_not_exist, "!", "DoesNotExist", 0, 0},
    {Operator::equals, "=", "", 1, 1},
    {Operator::not_equals, "!=", "", 1, 1},
    {Operator::in, "in", "In", 1, limits::selector_values_max},
    {Operator::not_in, "notin", "NotIn", 1, limits::selector_values_max},
    {Operator::greater_than, ">", "", 1, 1},
    {Operator::less_than, "<", "", 1, 1},
}};

constexpr const OperatorForm& form(Operator op) { return operator_forms[static_cast<std::size_t>(op)]; }
constexpr bool takes_list(Operator op) { return op == Operator::in || op == Operator::not_in; }
constexpr bool takes_number(Operator op) { return op == Operator::greater_than || op == Operator::less_than; }

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
constexpr bool is_symbol(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }

// Words and symbols of a label selector. The end of the text is the empty token.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) { advance(); }

  std::string_view peek() const { return token_; }
  std::string_view take() {
    const std::string_view token = token_;
    advance();
    return token;
  }
  bool take_if(std::string_view token) {
    if (token_ != token) return false;
    advance();
    return true;
  }
  bool at_end() const { return token_.empty(); }
  bool at_word() const { return !token_.empty() && !is_symbol(token_[0]); }

 private:
  void advance() {
    rest_.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_space) - rest_.begin()));
    std::size_t size = 0;
    if (rest_.starts_with("==") || rest_.starts_with("!=")) {
      size = 2;
    } else if (!rest_.empty() && is_symbol(rest_[0])) {
      size = 1;
    } else {
      const auto ends_word = [](char c) { return is_space(c) || is_symbol(c); };
      size = static_cast<std::size_t>(std::ranges::find_if(rest_, ends_word) - rest_.begin());
    }
    token_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  std::string_view token_;
};

std::string found(const Tokens& tokens) {
  return tokens.at_end() ? std::string("the end") : fmt::format("\"{}\"", tokens.peek());
}

// "(a,b)": between the commas stands a word or nothing, which is the empty value.
Parsed<std::vector<std::string>> parse_list(Tokens& tokens, std::string_view op) {
  if (!tokens.take_if("(")) return not_parsed(fmt::format("expected \"(\" after \"{}\", not {}", op, found(tokens)));
  std::vector<std::string> values;
  for (;;) {
    values.emplace_back(tokens.at_word() ? tokens.take() : std::string_view());
    if (values.size() > limits::selector_values_max) {
      return not_parsed(fmt::format("at most {} values are supported", limits::selector_values_max));
    }
    if (tokens.take_if(")")) return values;
    if (!tokens.take_if(",")) return not_parsed(fmt::format("expected ',' or ')', not {}", found(tokens)));
  }
}

Parsed<std::vector<std::string>> parse_single(Tokens& tokens) {
  if (tokens.at_word()) return std::vector<std::string>{std::string(tokens.take())};
  if (tokens.at_end() || tokens.peek() == ",") return std::vector<std::string>{""};
  return not_parsed(fmt::format("expected a value, not {}", found(tokens)));
}

std::optional<Operator> parse_operator(std::string_view token) {
  if (token == "==") return Operator::equals;
  const auto is_binary = [&](const OperatorForm& f) { return f.values_max > 0 && f.symbol == token; };
  const auto* it = std::ranges::find_if(operator_forms, is_binary);
  return it == operator_forms.end() ? std::nullopt : std::optional(it->op);
}

Parsed<LabelRequirement> parse_requirement(Tokens& tokens) {
  const bool negated = tokens.take_if("!");
  if (!tokens.at_word()) return not_parsed(fmt::format("expected a label key, not {}", found(tokens)));
  std::string key(tokens.take());
  if (negated) return LabelRequirement::make(std::move(key), Operator::does_not_exist, {});
  if (tokens.at_end() || tokens.peek() == ",") return LabelRequirement::make(std::move(key), Operator::exists, {});
  const auto op = parse_operator(tokens.peek());
  if (!op) return not_parsed(fmt::format("expected one of = == != in notin > < after the key, not {}", found(tokens)));
  const std::string_view symbol = tokens.take();
  auto values = takes_list(*op) ? parse_list(tokens, symbol) : parse_single(tokens);
  if (!values) return not_parsed(std::move(values.error()));
  return LabelRequirement::make(std::move(key), *op, *std::move(values));
}

Parsed<bool> check_text(std::string_view text) {
  if (text.size() <= limits::selector_bytes_max) return true;
  return not_parsed(fmt::format("must not be longer than {} bytes", limits::selector_bytes_max));
}

std::string too_many() {
  return fmt::format("at most {} requirements are supported", limits::selector_requirements_max);
}

// The terms between commas that no backslash protects.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

Parsed<std::string> unescape(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || std::string_view("\\,=").find(text[i]) == std::string_view::npos) {
        return not_parsed("'\\' in a value must be followed by '\\', ',' or '='");
      }
    } else if (text[i] == ',' || text[i] == '=') {
      return not_parsed(fmt::format("'{0}' in a value must be written as '\\{0}'", text[i]));
    }
    value += text[i];
  }
  return value;
}

Parsed<FieldSelector::Term> parse_term(std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos) {
    return not_parsed(fmt::format("expected field=value or field!=value, not \"{}\"", text));
  }
  const bool equal = at == 0 || text[at - 1] != '!';
  const std::string_view field = text.substr(0, equal ? at : at - 1);
  std::string_view value = text.substr(at + 1);
  if (equal && value.starts_with('=')) value.remove_prefix(1);
  if (field.empty()) return not_parsed(fmt::format("expected a field before \"{}\"", text));
  auto unescaped = unescape(value);
  if (!unescaped) return not_parsed(std::move(unescaped.error()));
  return FieldSelector::Term{std::string(field), *std::move(unescaped), equal};
}

}  // namespace

LabelRequirement::LabelRequirement(std::string key, Operator op, std::vector<std::string> values)
    : key_(std::move(key)), op_(op), values_(std::move(values)) {
  std::ranges::sort(values_);
  const auto repeated = std::ranges::unique(values_);
  values_.erase(repeated.begin(), repeated.end());
}

Parsed<LabelRequirement> LabelRequirement::make(std::string key, Operator op, std::vector<std::string> values) {
  if (const Defects defects = qualified_name_defects(key); !defects.empty()) {
    return not_parsed(fmt::format("label key \"{}\": {}", key, joined(defects, "; ")));
  }
  const OperatorForm& f = form(op);
  if (values.size() < f.values_min || values.size() > f.values_max) {
    return not_parsed(fmt::format("label key \"{}\": {}", key,
                                  f.values_max == 0   ? "the operator does not support values"
                                  : f.values_max == 1 ? "the operator requires exactly one value"
                                                      : fmt::format("1 to {} values are required", f.values_max)));
  }
  for (const std::string& value : values) {
    if (const Defects defects = label_value_defects(value); !defects.empty()) {
      return not_parsed(fmt::format("value \"{}\" of label key \"{}\": {}", value, key, joined(defects, "; ")));
    }
    if (takes_number(op) && !parse_int(value)) {
      return not_parsed(fmt::format("label key \"{}\": \"{}\" must be an integer for this operator", key, value));
    }
  }
  return LabelRequirement(std::move(key), op, std::move(values));
}

bool LabelRequirement::matches(std::optional<std::string_view> value) const {
  const auto listed = [&] { return std::ranges::binary_search(values_, *value, std::less<>()); };
  switch (op_) {
    case Operator::exists:
      return value.has_value();
    case Operator::does_not_exist:
      return !value.has_value();
    case Operator::equals:
    case Operator::in:
      return value && listed();
    case Operator::not_equals:
    case Operator::not_in:
      return !value || !listed();
    case Operator::greater_than:
    case Operator::less_than:
      break;
  }
  const auto number = value ? parse_int(*value) : std::nullopt;
  const auto bound = parse_int(values_[0]);
  return number && (op_ == Operator::greater_than ? *number > *bound : *number < *bound);
}

std::string LabelRequirement::to_string() const {
  const std::string_view symbol = form(op_).symbol;
  if (values_.empty()) return fmt::format("{}{}", symbol, key_);
  if (takes_list(op_)) return fmt::format("{} {} ({})", key_, symbol, joined(values_, ","));
  return fmt::format("{}{}{}", key_, symbol, values_[0]);
}

LabelSelector::LabelSelector(std::vector<LabelRequirement> requirements) : requirements_(std::move(requirements)) {
  // By everything, so that equal selectors print alike whatever their order was.
  using Everything = std::tuple<const std::string&, Operator, const std::vector<std::string>&>;
  std::ranges::sort(requirements_, {},
                    [](const LabelRequirement& r) { return Everything(r.key(), r.op(), r.values()); });
}

Parsed<LabelSelector> LabelSelector::parse(std::string_view text) {
  if (auto ok = check_text(text); !ok) return not_parsed(std::move(ok.error()));
  Tokens tokens(text);
  std::vector<LabelRequirement> requirements;
  if (tokens.at_end()) return LabelSelector();
  do {
    auto requirement = parse_requirement(tokens);
    if (!requirement) return not_parsed(std::move(requirement.error()));
    requirements.push_back(*std::move(requirement));
    if (requirements.size() > limits::selector_requirements_max) return not_parsed(too_many());
  } while (tokens.take_if(","));
  if (!tokens.at_end()) return not_parsed(fmt::format("expected ',' or the end, not {}", found(tokens)));
  return LabelSelector(std::move(requirements));
}

Parsed<LabelSelector> LabelSelector::from(std::span<const std::pair<std::string, std::string>> match_labels,
                                          std::span<const MatchExpression> match_expressions) {
  if (match_labels.size() + match_expressions.size() > limits::selector_requirements_max) {
    return not_parsed(too_many());
  }
  std::vector<LabelRequirement> requirements;
  for (const auto& [key, value] : match_labels) {
    auto requirement = LabelRequirement::make(key, Operator::equals, {value});
    if (!requirement) return not_parsed(std::move(requirement.error()));
    requirements.push_back(*std::move(requirement));
  }
  for (const MatchExpression& expression : match_expressions) {
    const auto named = [&](const OperatorForm& f) {
      return !f.expression_name.empty() && f.expression_name == expression.op;
    };
    const auto* it = std::ranges::find_if(operator_forms, named);
    if (it == operator_forms.end()) {
      return not_parsed(
          fmt::format("operator \"{}\": supported values: In, NotIn, Exists, DoesNotExist", expression.op));
    }
    auto requirement = LabelRequirement::make(expression.key, it->op, expression.values);
    if (!requirement) return not_parsed(std::move(requirement.error()));
    requirements.push_back(*std::move(requirement));
  }
  return LabelSelector(std::move(requirements));
}

std::string LabelSelector::to_string() const {
  std::string text;
  for (const LabelRequirement& requirement : requirements_) {
    if (!text.empty()) text += ',';
    text += requirement.to_string();
  }
  return text;
}

Parsed<FieldSelector> FieldSelector::parse(std::string_view text) {
  if (auto ok = check_text(text); !ok) return not_parsed(std::move(ok.error()));
  FieldSelector selector;
  for (std::string_view part : split_terms(text)) {
    if (part.empty()) continue;
    if (selector.terms_.size() == limits::selector_requirements_max) return not_parsed(too_many());
    auto term = parse_term(part);
    if (!term) return not_parsed(std::move(term.error()));
    selector.terms_.push_back(*std::move(term));
  }
  return selector;
}

std::optional<std::string_view> FieldSelector::exact(std::string_view field) const {
  const auto it = std::ranges::find_if(terms_, [&](const Term& term) { return term.equal && term.field == field; });
  return it == terms_.end() ? std::nullopt : std::optional<std::string_view>(it->value);
}

}  // namespace vg
