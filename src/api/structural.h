// What kube-apiserver does to a custom resource by its CRD's structural schema: it drops what the schema does not know,
// fills in the schema's defaults, and refuses what does not fit. Standalone, this is what stands between a request and
// the admission chain; in a cluster kube-apiserver does it itself.
//
// Behaviour follows kube-apiserver 1.35, except that order never depends on a hash map: causes come in the order of the
// document, and for missing fields in the order of the schema.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::api {

// The order of things for a create: prune, apply_defaults, mutating admission, apply_defaults again, drop the status if
// the kind has the subresource, validate_structure, validating admission. Between mutation and validation nothing is
// pruned: a null that a mutation brought in is a mistake there.

// Removes the fields that the kind's schema does not know, and nulls where it takes none and has no default. The
// object's own metadata is brought into canonical form; a metadata that cannot be read is refused with 400.
//
// When `unknown_fields` is given, it receives the paths of what was not known, as in `unknown field "spec.disks[2].x"`:
// those of the metadata first, each part sorted. At most limits::causes_max of them.
Result<void> prune(json::Value& object, const Kind& kind, std::vector<std::string>* unknown_fields = nullptr);

// Puts the schema's defaults where a value is missing, or null where null is not taken.
void apply_defaults(json::Value& object, const Kind& kind);

// kube-apiserver asks the rules of a schema only when nothing blocks them: not what the schema says itself, and not
// what was found in the metadata before.
enum class Rules : bool { skipped, asked };

// What is wrong with `object`, which should have been pruned and defaulted; empty when nothing is. `old_object` is what
// an update replaces: rules about transitions need it, and what was wrong before and did not change is let through.
//
// Reasons and fields are kube-apiserver's own. One of its answers has no place: when a check fails before the rules
// could run, it says so with the field "<nil>". At most limits::causes_max causes.
std::vector<StatusCause> validate_structure(const json::Value& object, const Kind& kind,
                                            const json::Value* old_object = nullptr, Rules rules = Rules::asked);

// The same for a write to the status subresource: only `status` is looked at.
std::vector<StatusCause> validate_status_structure(const json::Value& object, const Kind& kind,
                                                   const json::Value* old_object = nullptr, Rules rules = Rules::asked);

}  // namespace vg::api
