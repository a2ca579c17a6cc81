#include "api/structural_reach.h"

#include <vector>

namespace vg::api {
namespace {

std::uint8_t own_reach(const Node& node) {
  std::uint8_t reach = 0;
  if (node.crd && !node.crd->default_json.empty()) reach |= reaches_default;
  if (node.crd && !node.crd->rules.empty()) reach |= reaches_rule;
  if (node.list_type == ListType::set || node.list_type == ListType::map) reach |= reaches_unique_list;
  return reach;
}

std::uint8_t reach_with(const Node& node, const std::vector<std::uint8_t>& of_types) {
  std::uint8_t reach = 0;
  for (const Node* at = &node; at; at = at->element) {
    reach |= own_reach(*at);
    if (at->shape == Shape::structure && !at->type->crd_opaque) {
      reach |= of_types[static_cast<std::size_t>(at->type - types().data())];
    }
  }
  return reach;
}

// Types refer to each other in any order, so pass over all of them until nothing changes.
std::vector<std::uint8_t> reach_of_types() {
  std::vector<std::uint8_t> reach(types().size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t at = 0; at < reach.size(); ++at) {
      std::uint8_t found = reach[at];
      for (const Field& field : types()[at].fields) found |= reach_with(field, reach);
      changed = changed || found != reach[at];
      reach[at] = found;
    }
  }
  return reach;
}

}  // namespace

std::uint8_t reach_of(const Node& node) {
  static const std::vector<std::uint8_t> of_types = reach_of_types();
  return reach_with(node, of_types);
}

}  // namespace vg::api
