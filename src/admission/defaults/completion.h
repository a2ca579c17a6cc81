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

// One operation of the patch that leads from the object as it was sent to the object as it is now.
struct PatchStep {
  std::string_view op;
  std::string_view path;
  const json::Value* value;  // inside the object
};

struct Completion {
  Verdict verdict;  // has no patch
  std::vector<PatchStep> steps;
};

// Completes `about.object` where it lies. After a refusal the object is good for nothing. The object is in canonical
// form before and after.
using Complete = Completion (*)(const Case& about);

Completion complete_vmi(const Case& about);           // spec work-objects 1
Completion complete_vm(const Case& about);            // spec vm-instancetype 2
Completion complete_migration(const Case& about);     // spec work-objects 2.1
Completion complete_clone(const Case& about);         // spec work-objects 2.2
Completion complete_launcher_pod(const Case& about);  // spec work-objects 2.3

// Null for a path that completes nothing.
Complete find_completion(std::string_view webhook_path);

// The same, answered with a patch: for the table of chains.
Verdict mutate_vmi(const Case& about);
Verdict mutate_vm(const Case& about);
Verdict mutate_migration(const Case& about);
Verdict mutate_clone(const Case& about);
Verdict mutate_launcher_pod(const Case& about);  // takes the pod as it was sent, or none at all: it never refuses

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
Completion replace_members(const Case& about, std::initializer_list<std::string_view> paths);
Completion refuse(Verdict verdict);
// Empty without steps.
std::string print_patch(const std::vector<PatchStep>& steps);

}  // namespace vg::admission
