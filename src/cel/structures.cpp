#include "cel/structures.h"

#include <algorithm>

namespace vg::cel {
namespace {

using std::string_view;

const Structure* find_in(std::span<const Structure> rows, string_view name) {
  const auto at = std::ranges::lower_bound(rows, name, {}, &Structure::name);
  return at != rows.end() && at->name == name ? &*at : nullptr;
}

bool is_json_default(string_view go_name, string_view member) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return go_name.size() == member.size() && small(go_name[0]) == member[0] && go_name.substr(1) == member.substr(1);
}

bool goes_by(string_view names, string_view member, Naming naming) {
  const auto slash = names.find('/');
  const string_view go_name = names.substr(0, slash);
  if (naming == Naming::go) return go_name == member;
  return slash == names.npos ? is_json_default(go_name, member) : names.substr(slash + 1) == member;
}

}  // namespace

const Structure* find_structure(string_view name, bool with_domains) {
  const Structure* found = find_in(machine_structures(), name);
  return found || !with_domains ? found : find_in(domain_structures(), name);
}

const Structure* find_policy_structure(string_view name) { return find_in(policy_structures(), name); }

string_view package_of(const Structure& structure) { return structure.name.substr(0, structure.name.rfind('.')); }

std::optional<string_view> member_type(const Structure& structure, string_view member, Naming naming) {
  string_view rest = structure.members;
  while (!rest.empty() && !member.empty()) {
    const auto space = std::min(rest.find(' '), rest.size());
    const string_view word = rest.substr(0, space);
    rest.remove_prefix(std::min(space + 1, rest.size()));
    const auto colon = word.find(':');
    if (goes_by(word.substr(0, colon), member, naming)) return word.substr(colon + 1);
  }
  return std::nullopt;
}

}  // namespace vg::cel
