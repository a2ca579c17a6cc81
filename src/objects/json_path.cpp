#include "objects/json_path.h"

#include <charconv>
#include <compare>
#include <system_error>

#include "json/access.h"

namespace vg::resources {
namespace {

// kubectl's paths end a bare name at these; everything else, dashes and slashes too, belongs to the name.
constexpr std::string_view name_ends = ".[]{}()'\" \t,@?";

std::optional<double> as_number(const json::Value& value) {
  if (const auto* number = value.if_int64()) return static_cast<double>(*number);
  if (const auto* number = value.if_uint64()) return static_cast<double>(*number);
  if (const auto* number = value.if_double()) return *number;
  return std::nullopt;
}

// Values of different types have no order; that also makes them unequal.
std::partial_ordering compare(const json::Value& a, const json::Value& b) {
  if (const auto *x = a.if_string(), *y = b.if_string(); x && y) return std::string_view(*x) <=> std::string_view(*y);
  if (const auto *x = a.if_bool(), *y = b.if_bool(); x && y)
    return *x == *y ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
  if (const auto x = as_number(a), y = as_number(b); x && y) return *x <=> *y;
  if (a.is_null() && b.is_null()) return std::partial_ordering::equivalent;
  return std::partial_ordering::unordered;
}

}  // namespace

class JsonPath::Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  bool parse(std::vector<Segment>& steps) {
    while (!rest_.empty()) {
      if (steps.size() == steps_max) return false;
      Segment step;
      if (rest_.starts_with("..")) return false;  // recursive descent: no column needs it
      if (take(".")) {
        if (rest_.empty()) return steps.empty();  // "." alone is the document
        if (rest_.front() == '[') continue;
        if (take("*"))
          step.kind = SegmentKind::every;
        else if (!bare_name(step.name))
          return false;
      } else if (take("[")) {
        if (!bracket(step)) return false;
      } else if (!steps.empty() || !bare_name(step.name)) {
        return false;
      }
      steps.push_back(std::move(step));
    }
    return true;
  }

 private:
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }

  // A backslash takes the character behind it as it is: .metadata.labels.kubevirt\.io
  bool bare_name(std::string& name) {
    while (!rest_.empty() && !name_ends.contains(rest_.front())) {
      if (rest_.front() == '\\') rest_.remove_prefix(1);
      if (rest_.empty()) return false;
      name.push_back(rest_.front());
      rest_.remove_prefix(1);
    }
    return !name.empty();
  }

  bool quoted(std::string& text) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != quote) {
      if (rest_.front() == '\\') rest_.remove_prefix(1);
      if (rest_.empty()) return false;
      text.push_back(rest_.front());
      rest_.remove_prefix(1);
    }
    return take(std::string_view(&quote, 1));
  }

  bool at_quote() const { return !rest_.empty() && (rest_.front() == '\'' || rest_.front() == '"'); }

  template <class Number>
  bool number(Number& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }

  bool bracket(Segment& step) {
    skip_blanks();
    if (take("*")) {
      step.kind = SegmentKind::every;
    } else if (take("?(")) {
      step.kind = SegmentKind::filter;
      if (!filter(step)) return false;
    } else if (at_quote()) {
      if (!quoted(step.name)) return false;
    } else {
      step.kind = SegmentKind::element;
      if (!number(step.index)) return false;
    }
    skip_blanks();
    return take("]");
  }

  bool filter(Segment& step) {
    skip_blanks();
    if (!take("@")) return false;
    while (!rest_.empty() && (rest_.front() == '.' || rest_.front() == '[')) {
      if (step.operand.size() == steps_max) return false;
      std::string name;
      if (take("[")) {
        if (!at_quote() || !quoted(name) || !take("]")) return false;
      } else {
        take(".");
        // An operator ends the name here, blanks around it or not.
        const std::size_t end = rest_.find_first_of("=!<>)");
        const std::string_view behind = end == std::string_view::npos ? std::string_view() : rest_.substr(end);
        rest_ = rest_.substr(0, end);
        if (!bare_name(name)) return false;
        rest_ = std::string_view(rest_.data(), rest_.size() + behind.size());
      }
      step.operand.push_back(std::move(name));
    }
    skip_blanks();
    if (take(")")) return true;
    if (!comparison(step.comparison)) return false;
    skip_blanks();
    if (!literal(step.literal)) return false;
    skip_blanks();
    return take(")");
  }

  bool comparison(Comparison& result) {
    if (take("=="))
      result = Comparison::equal;
    else if (take("!="))
      result = Comparison::unequal;
    else if (take("<="))
      result = Comparison::less_or_equal;
    else if (take(">="))
      result = Comparison::greater_or_equal;
    else if (take("<"))
      result = Comparison::less;
    else if (take(">"))
      result = Comparison::greater;
    else
      return false;
    return true;
  }

  bool literal(json::Value& value) {
    if (at_quote()) {
      std::string text;
      if (!quoted(text)) return false;
      value = text;
      return true;
    }
    if (take("true")) return value = true, true;
    if (take("false")) return value = false, true;
    if (take("null")) return value = nullptr, true;
    double number_value = 0;
    if (!number(number_value)) return false;
    value = number_value;
    return true;
  }

  std::string_view rest_;
};

std::optional<JsonPath> JsonPath::parse(std::string_view text) {
  if (text.size() > text_bytes_max) return std::nullopt;
  if (text.starts_with('{') && text.ends_with('}') && text.size() >= 2) text = text.substr(1, text.size() - 2);
  if (text.starts_with('$')) text.remove_prefix(1);
  JsonPath path;
  if (!Parser(text).parse(path.steps_)) return std::nullopt;
  return path;
}

bool JsonPath::passes(const Segment& step, const json::Value& element) {
  const json::Value* value = &element;
  for (const std::string& name : step.operand) {
    value = json::find(*value, name);
    if (!value) return false;  // as kubectl: an element without the member passes no comparison, not even !=
  }
  const auto order = compare(*value, step.literal);
  switch (step.comparison) {
    case Comparison::exists:
      return true;
    case Comparison::equal:
      return order == 0;
    case Comparison::unequal:
      return order != 0;
    case Comparison::less:
      return order < 0;
    case Comparison::less_or_equal:
      return order <= 0;
    case Comparison::greater:
      return order > 0;
    case Comparison::greater_or_equal:
      return order >= 0;
  }
  return false;
}

bool JsonPath::walk(const json::Value& at, std::size_t step, std::size_t limit,
                    std::vector<const json::Value*>& found) const {
  if (step == steps_.size()) {
    found.push_back(&at);
    return found.size() < limit;
  }
  const Segment& here = steps_[step];
  const json::Array* array = at.if_array();
  const json::Object* object = at.if_object();
  switch (here.kind) {
    case SegmentKind::member: {
      const json::Value* next = object ? json::find(*object, here.name) : nullptr;
      return !next || walk(*next, step + 1, limit, found);
    }
    case SegmentKind::element: {
      if (!array) return true;
      const auto size = static_cast<std::int64_t>(array->size());
      const std::int64_t index = here.index < 0 && here.index >= -size ? here.index + size : here.index;
      return index < 0 || index >= size || walk((*array)[static_cast<std::size_t>(index)], step + 1, limit, found);
    }
    case SegmentKind::every:
    case SegmentKind::filter: {
      const auto wanted = [&](const json::Value& value) {
        return here.kind == SegmentKind::every || passes(here, value);
      };
      if (array) {
        for (const json::Value& value : *array)
          if (wanted(value) && !walk(value, step + 1, limit, found)) return false;
      } else if (object) {
        for (const auto& member : *object)
          if (wanted(member.value()) && !walk(member.value(), step + 1, limit, found)) return false;
      }
      return true;
    }
  }
  return true;
}

std::vector<const json::Value*> JsonPath::find_all(const json::Value& root, std::size_t limit) const {
  std::vector<const json::Value*> found;
  if (limit > 0) walk(root, 0, limit, found);
  return found;
}

const json::Value* JsonPath::find_first(const json::Value& root) const {
  const auto found = find_all(root, 1);
  return found.empty() ? nullptr : found.front();
}

}  // namespace vg::resources
