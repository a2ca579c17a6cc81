// Writing objects, whoever asks for it: create, update, patch, apply, delete, and the parts of an object that are
// written on their own. Every write passes the same: shape, admission, rules, quota, store. What comes in is a document
// and what comes out is the stored object; HTTP is not known here.
//
// The request says where the object is, who writes and with which options. What it gathers (warnings, the deed) is to
// be told to whoever asked, also after a refusal.
#pragma once

#include <string_view>

#include "base/status.h"
#include "base/task.h"
#include "catalog/negotiate.h"
#include "json/value.h"
#include "objects/decode.h"
#include "objects/object_request.h"
#include "ports/object_store.h"

namespace vg::resources {

// An object as it was written, with what was found wrong with its text. Its memory lives as long as the request's.
struct SentObject {
  json::Value object;
  FieldProblems problems = {};
};

Task<Result<ObjectPtr>> create(ObjectRequest& request, SentObject sent);
Task<Result<ObjectPtr>> update(ObjectRequest& request, SentObject sent);

struct Patch {
  PatchFormat format = PatchFormat::merge_patch;  // not apply
  json::Value document;
};
// Reads the text of a patch. 400 for what is none, or a 422 about unknown members where the options are strict.
Result<Patch> parse_patch(ObjectRequest& request, std::string_view text, PatchFormat format);
Task<Result<ObjectPtr>> patch(ObjectRequest& request, const Patch& patch);

struct AppliedObject {
  ObjectPtr object;
  bool created = false;
};
// Reads the text of a configuration.
Result<json::Value> parse_configuration(ObjectRequest& request, std::string_view text);
Task<Result<AppliedObject>> apply(ObjectRequest& request, const json::Value& configuration);

struct Deleted {
  ObjectPtr object;      // the version that went, or the one that waits
  bool removed = false;  // it is gone
};
Task<Result<Deleted>> remove(ObjectRequest& request, const DeleteOptions& options);
// All of them, several at a time.
Task<Result<void>> remove_all(ObjectRequest& request, const ObjectList& objects, const DeleteOptions& options);
// Deletes a pod unless admission rules want something else done first. `eviction` is what was posted.
Task<Result<Deleted>> evict(ObjectRequest& request, json::Value eviction, const DeleteOptions& options);

const api::Type& scale_type();
// The Scale that an object shows.
json::Value make_scale(const json::Object& object, const api::Scale& scale, const json::StoragePtr& storage);
// By a Scale that was sent, or by a patch of the present one. Returns the object whose scale it is.
Task<Result<ObjectPtr>> update_scale(ObjectRequest& request, const json::Value& sent);
Task<Result<ObjectPtr>> patch_scale(ObjectRequest& request, const Patch& patch);

// Gives a pod its node. The Binding's own name says which pod, where the request names none.
Task<Result<void>> bind(ObjectRequest& request, SentObject sent);

}  // namespace vg::resources
