#include "resources/discovery_accept.h"

#include <algorithm>
#include <charconv>

namespace vg::resources {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string_view take_until(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const std::string_view taken = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return trimmed(taken);
}

AcceptClause read_clause(std::string_view text) {
  AcceptClause clause;
  clause.type = take_until(text, ';');
  while (!text.empty()) {
    std::string_view parameter = take_until(text, ';');
    const std::string_view name = take_until(parameter, '=');
    std::string_view value = trimmed(parameter);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) value = value.substr(1, value.size() - 2);
    if (name == "as") clause.as = value;
    if (name == "g") clause.group = value;
    if (name == "v") clause.version = value;
    if (name == "q") {
      double weight = 1;
      if (std::from_chars(value.data(), value.data() + value.size(), weight).ec == std::errc() && weight >= 0)
        clause.weight = std::min(weight, 1.0);
    }
  }
  return clause;
}

}  // namespace

std::vector<AcceptClause> read_accept(std::string_view header) {
  std::vector<AcceptClause> clauses;
  if (trimmed(header).empty()) {
    clauses.push_back({.type = "*/*"});
    return clauses;
  }
  while (!header.empty() && clauses.size() < clauses_max) {
    const AcceptClause clause = read_clause(take_until(header, ','));
    if (clause.type.empty() || clause.weight == 0) continue;
    // Behind all that weigh as much, so that equal ones stay in order.
    const auto place = std::ranges::find_if(clauses, [&](const auto& other) { return other.weight < clause.weight; });
    clauses.insert(place, clause);
  }
  return clauses;
}

bool accepts(const AcceptClause& clause, std::string_view type) {
  if (clause.type == type || clause.type == "*/*") return true;
  return clause.type.ends_with("/*") && type.starts_with(clause.type.substr(0, clause.type.size() - 1));
}

}  // namespace vg::resources
