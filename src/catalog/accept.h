// What an Accept header asks for, read as kube-apiserver reads it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace vg::resources {

inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view yaml_type = "application/yaml";  // every JSON text is YAML as well

struct AcceptClause {
  std::string_view type = {};  // "application/json", "*/*", "*"
  std::string_view as = {}, group = {}, version = {}, stream = {};
  double weight = 1;

  // Whether something else is wanted than the object itself; one that does not say what cannot be had.
  bool converts() const { return !as.empty() || !group.empty() || !version.empty(); }
};

// The heaviest clause first, among equal ones those without wildcards, then the first. A weight is an order and nothing
// more: 0 is the lightest, and no refusal. No header at all accepts everything. Clauses beyond
// limits::accept_clauses_max are not read.
std::vector<AcceptClause> read_accept(std::string_view header);

// Whether the clause takes this media type.
bool accepts(const AcceptClause& clause, std::string_view type);

// Kubernetes' own paths are found by the media types that they offer: the header must name one of them, or "*/*". Other
// wildcards do for custom kinds alone.
bool names_one_of(std::span<const AcceptClause> clauses, std::span<const std::string_view> types);

}  // namespace vg::resources
