// JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386), with the semantics that kube-apiserver gives them, so that a
// patch does the same in both modes.
//
// Functions change the document completely or, when they refuse, not at all, unless they say otherwise. What they put
// into it is copied to the document's own storage.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/limits.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::json {

// Where kube-apiserver departs from the RFC, or where the RFC leaves a choice:
// - `test` of an absent member against null, or against no value, succeeds.
// - `replace` of an absent member of an object sets it. Its parent must exist.
// - A missing "value" is null. `copy` from an absent member of an object copies null.
// - Negative array indices count from the end; in `add`, -1 is behind the last element.
// - The whole document ("") can be replaced and tested only.
// Refusals: 400 when the patch is no list of operations, 413 when it has too many, 422 Invalid when an operation is
// malformed or fails; the message then names the operation.
Result<void> apply_json_patch(Value& document, const Value& patch);
// The same for whoever throws the document away after a refusal, which may leave it half-changed.
Result<void> apply_json_patch_in_place(Value& document, const Value& patch);

// A null removes a member. What the patch adds loses its nulls first, also those of objects in lists, which the RFC
// would keep. Refusals: 400 when the patch is no object.
Result<void> apply_merge_patch(Value& document, const Value& patch);

// Makes JSON patches: [{"op","path","value"},...]; only `remove` has no value.
class PatchBuilder {
 public:
  explicit PatchBuilder(StoragePtr storage) : operations_(std::move(storage)) {}

  // Values are moved into the patch when they live in its storage, else copied.
  PatchBuilder& add(std::string_view path, Value value) { return append("add", path, &value); }
  PatchBuilder& replace(std::string_view path, Value value) { return append("replace", path, &value); }
  PatchBuilder& test(std::string_view path, Value value) { return append("test", path, &value); }
  PatchBuilder& remove(std::string_view path) { return append("remove", path, nullptr); }

  bool empty() const { return operations_.empty(); }
  const Array& operations() const { return operations_; }
  Array take() { return std::move(operations_); }

 private:
  PatchBuilder& append(std::string_view op, std::string_view path, Value* value);

  Array operations_;
};

}  // namespace vg::json
