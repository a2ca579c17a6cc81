// Label and field selectors, as they travel in the query of a request and stand in objects.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parsed.h"

namespace vg {

class LabelRequirement {
 public:
  enum class Operator { exists, does_not_exist, equals, not_equals, in, not_in, greater_than, less_than };

  // Checks the key, the values and how many there must be.
  static Parsed<LabelRequirement> make(std::string key, Operator op, std::vector<std::string> values);

  // `value` is the object's value for key(), if it has one.
  bool matches(std::optional<std::string_view> value) const;
  const std::string& key() const { return key_; }
  Operator op() const { return op_; }
  const std::vector<std::string>& values() const { return values_; }  // sorted, each once
  std::string to_string() const;

 private:
  LabelRequirement(std::string key, Operator op, std::vector<std::string> values);

  std::string key_;
  Operator op_;
  std::vector<std::string> values_;
};

// One entry of matchExpressions; `op` is "In", "NotIn", "Exists" or "DoesNotExist".
struct MatchExpression {
  std::string key;
  std::string op;
  std::vector<std::string> values;
};

// All requirements must hold; without any, everything matches.
class LabelSelector {
 public:
  LabelSelector() = default;
  // "a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1,j<2"; "==" is "=".
  static Parsed<LabelSelector> parse(std::string_view text);
  static Parsed<LabelSelector> from(std::span<const std::pair<std::string, std::string>> match_labels,
                                    std::span<const MatchExpression> match_expressions);

  // `lookup(key)` gives an object's label as std::optional<std::string_view>.
  template <class Lookup>
  bool matches(const Lookup& lookup) const {
    for (const LabelRequirement& requirement : requirements_) {
      if (!requirement.matches(lookup(std::string_view(requirement.key())))) return false;
    }
    return true;
  }
  bool empty() const { return requirements_.empty(); }
  const std::vector<LabelRequirement>& requirements() const { return requirements_; }  // sorted by key
  std::string to_string() const;

 private:
  explicit LabelSelector(std::vector<LabelRequirement> requirements);
  std::vector<LabelRequirement> requirements_;
};

class FieldSelector {
 public:
  struct Term {
    std::string field;
    std::string value;
    bool equal = true;
    bool operator==(const Term&) const = default;
  };

  // "metadata.name=x,status.phase!=y"; in a value '\' goes before '\', ',' and '='. Which fields exist is up to the
  // resource, not to this parser.
  static Parsed<FieldSelector> parse(std::string_view text);

  // `lookup(field)` gives an object's field as std::string_view; a missing one is empty.
  template <class Lookup>
  bool matches(const Lookup& lookup) const {
    for (const Term& term : terms_) {
      if ((lookup(std::string_view(term.field)) == std::string_view(term.value)) != term.equal) return false;
    }
    return true;
  }
  bool empty() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }
  // The one value that `field` must have, if the selector says so: lets a store look up instead of search.
  std::optional<std::string_view> exact(std::string_view field) const;

 private:
  std::vector<Term> terms_;
};

}  // namespace vg
