// Kubernetes' strategic merge patch: a merge patch that knows which lists are sets of named things.
#pragma once

#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace vg::json {

class MergeRules;

// How one field merges, as the API types declare it. (Their third strategy, retainKeys, tells clients to send the
// directive $retainKeys; a server only ever looks at the directive.)
struct MergeRule {
  enum class Strategy {
    unspecified,  // objects merge, lists are replaced
    merge,        // lists merge: objects by merge_key, scalars as a set
    replace,      // objects and lists are replaced as a whole
  };
  Strategy strategy = Strategy::unspecified;
  std::string_view merge_key = {};
  const MergeRules* inside =
      nullptr;  // rules for the object in this field, or for the elements of the list; may be null
};

// The rules for the fields of one type of object. The schema implements it; what it hands out lives as long as itself.
class MergeRules {
 public:
  virtual ~MergeRules() = default;
  virtual MergeRule field(std::string_view name) const = 0;
};

// Applies `patch`, with its directives:
//   "$patch": "replace" | "delete" | "merge"   of an object: take only the patch; empty it; merge as usual
//                                               of an element of a merging list: replace the list; delete the element
//   "$retainKeys": [names]                      drop the members that are not named
//   "$deleteFromPrimitiveList/<field>": [...]   take scalars out of a list
//   "$setElementOrder/<field>": [...]           put the elements in this order
// A null removes a member. Directives and nulls never get into the document.
//
// The order of a merged list: the elements of the patch in the order of $setElementOrder or else of the patch, the
// others as they were; elements that are new stand before the first old one that the patch does not mention, as in
// Kubernetes.
//
// The document changes completely or, on a refusal, not at all. Refusals: 400 for a malformed directive, 422 Invalid
// for lists that cannot be merged.
Result<void> apply_strategic_patch(Value& document, const Value& patch, const MergeRules& rules);

}  // namespace vg::json
