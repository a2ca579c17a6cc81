#include "catalog/accept.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "base/trimmed.h"

namespace vg::resources {
namespace {

constexpr std::string_view anything = "*/*";

std::string_view take_until(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const std::string_view taken = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return trimmed(taken, header_blanks);
}

// What is no number weighs nothing.
double read_weight(std::string_view text) {
  double weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  return error == std::errc() && end == text.data() + text.size() ? weight : 0;
}

AcceptClause read_clause(std::string_view text) {
  AcceptClause clause;
  clause.type = take_until(text, ';');
  while (!text.empty()) {
    std::string_view parameter = take_until(text, ';');
    const std::string_view name = take_until(parameter, '=');
    const std::string_view value = trimmed(parameter, header_blanks);
    if (value.empty() || value.contains('=')) continue;
    if (name == "as") clause.as = value;
    if (name == "g") clause.group = value;
    if (name == "v") clause.version = value;
    if (name == "stream") clause.stream = value;
    if (name == "q") clause.weight = read_weight(value);
  }
  return clause;
}

bool is_media_type(std::string_view type) {
  const auto slash = type.find('/');
  if (slash == std::string_view::npos) return type == "*";
  return slash + 1 < type.size() && !type.substr(slash + 1).contains('/');
}

bool any_type(const AcceptClause& clause) { return clause.type.starts_with('*'); }
bool any_subtype(const AcceptClause& clause) { return clause.type.ends_with('*'); }

// As kube-apiserver compares them, which is no order in the strict sense: a clause without wildcards also passes a
// heavier one with them. What it comes to is settled by the way in which the list is sorted.
bool goes_before(const AcceptClause& clause, const AcceptClause& other) {
  if (clause.weight > other.weight) return true;
  if (!any_type(clause) && any_type(other)) return true;
  return !any_subtype(clause) && any_subtype(other);
}

}  // namespace

std::vector<AcceptClause> read_accept(std::string_view header) {
  std::vector<AcceptClause> clauses;
  if (trimmed(header, header_blanks).empty()) {
    clauses.push_back({.type = anything});
    return clauses;
  }
  while (!header.empty() && clauses.size() < limits::accept_clauses_max) {
    const AcceptClause clause = read_clause(take_until(header, ','));
    if (!is_media_type(clause.type)) continue;
    auto place = clauses.end();
    while (place != clauses.begin() && goes_before(clause, *(place - 1))) --place;
    clauses.insert(place, clause);
  }
  return clauses;
}

bool accepts(const AcceptClause& clause, std::string_view type) {
  if (clause.type == type || clause.type == anything || clause.type == "*") return true;
  return clause.type.ends_with("/*") && type.starts_with(clause.type.substr(0, clause.type.size() - 1));
}

bool names_one_of(std::span<const AcceptClause> clauses, std::span<const std::string_view> types) {
  return std::ranges::any_of(clauses, [&](const AcceptClause& clause) {
    return clause.type == anything || std::ranges::find(types, clause.type) != types.end();
  });
}

}  // namespace vg::resources
