#include "admission/admit.h"

#include "api/canonical.h"
#include "api/schema.h"

namespace vg::admission {
namespace {

// Null for an object whose shape is not ours to know.
const api::Type* type_of(const Webhook& webhook, const Review& review) {
  const Subject* subject = find_subject(webhook, review.resource.resource);
  const api::Kind* kind = subject ? api::find_kind(subject->kind_group, "", subject->kind) : nullptr;
  return kind ? kind->type : nullptr;
}

}  // namespace

Verdict admit(const Webhook& webhook, const Review& review, const json::StoragePtr&) {
  const api::Type* type = type_of(webhook, review);
  if (!type) return Verdict::allow();
  if (review.object)
    if (auto good = api::canonicalize(*review.object, *type); !good) return Verdict::error(good.error().message);
  // As upstream, the old object is read only when there can be one (spec server 5.6).
  if (review.old_object && review.operation() == Operation::update)
    if (auto good = api::canonicalize(*review.old_object, *type); !good) return Verdict::error(good.error().message);
  return Verdict::allow();
}

}  // namespace vg::admission
