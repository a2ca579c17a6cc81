// Finding the instance type and the preference that a VM names (spec vm-instancetype 4.1, 6.2).
#pragma once

#include <cstdint>
#include <string_view>

#include "admission/context.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::admission {

// What of the two families of kinds differs, and nothing else.
struct Family {
  std::string_view matcher;           // member of a VM's spec that names the object
  std::string_view status_reference;  // member of a VM's status that remembers the revision in use
  std::string_view kind, cluster_kind;
  std::string_view plural, cluster_plural;
  std::string_view name_label, kind_label;  // on volumes: what to infer (2.4)
  bool sizes_memory;                        // an inferred one takes the place of the VM's own memory (K28)
};

extern const Family instancetype_family;
extern const Family preference_family;

// The spec of the object that `vm` names, in canonical form and in the request's storage; null when it names none.
// Failures: a lookup that failed, nothing of that name, a kind or a revision that makes no sense.
Result<const json::Object*> find_named_spec(const json::Object& vm, const Family& family, const Context& context);
// The same where `matcher` stands in the place of the VM's own; null: it names none.
Result<const json::Object*> find_spec(const json::Object& vm, const json::Object* matcher, const Family& family,
                                      const Context& context);

}  // namespace vg::admission
