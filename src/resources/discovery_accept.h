// What an Accept header asks for, as far as discovery needs it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace vg::resources {

struct AcceptClause {
  std::string_view type = {};  // "application/json", "*/*"
  std::string_view as = {}, group = {}, version = {};
  double weight = 1;
};

// The heaviest clause first, among equal ones the first; those with weight 0 are left out. No header at all accepts
// everything. Clauses beyond `clauses_max` are not read: no client sends that many.
inline constexpr std::size_t clauses_max = 32;
std::vector<AcceptClause> read_accept(std::string_view header);

// Whether the clause takes this media type.
bool accepts(const AcceptClause& clause, std::string_view type);

}  // namespace vg::resources
