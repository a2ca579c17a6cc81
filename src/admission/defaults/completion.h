// What a mutating webhook comes to, before it becomes a patch. A webhook sends the patch; a create on this machine
// takes the object as it lies there.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "admission/context.h"
#include "admission/review.h"
#include "json/value.h"

namespace vg::admission {

// Completes `about.object` where it lies; the verdict's patch leads there from the object as it was sent. After a
// refusal the object is good for nothing. The object is in canonical form before and after.
using Complete = Verdict (*)(const Case& judged);

Verdict complete_vmi(const Case& judged);        // spec work-objects 1
Verdict complete_vm(const Case& judged);         // spec vm-instancetype 2
Verdict complete_migration(const Case& judged);  // spec work-objects 2.1
Verdict complete_clone(const Case& judged);      // spec work-objects 2.2
// Takes the pod as it was sent, or none at all: it never refuses.
Verdict complete_launcher_pod(const Case& judged);  // spec work-objects 2.3

// For whoever has the object itself and wants no patch: a create on this machine, `virtgate render`. Brings `object`
// into canonical form and completes it where it lies; objects of a kind without defaults are only brought into that
// form. `old_object` is null for a create, else in canonical form. The checks that a webhook makes before its defaults
// (resource, schema) are the caller's. A refused object is good for nothing.
struct Draft {
  std::string_view group, kind;
  json::Value& object;
  const json::Value* old_object = nullptr;
  std::string_view username = {};
};
Verdict complete_object(const Draft& draft, const Context& context);

// --- for those functions

// Replaces these top-level members of the object, which must be in canonical form, as a whole, as upstream does: equal
// parts are sent too. Members are named with their slash.
Verdict replace_members(const Case& judged, std::initializer_list<std::string_view> paths);

// Whether it is the pod of a machine, by its label: only those are registered for.
bool is_launcher_pod(const json::Value& object);

}  // namespace vg::admission
