#include "admission/defaults/completion.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "admission/defaults/presets.h"
#include "api/canonical.h"
#include "api/schema.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::admission {
namespace {

using std::string_view;

const Webhook* mutator_of(const api::Kind& kind) {
  for (const Webhook& webhook : webhooks()) {
    const Subject& subject = webhook.subjects.front();
    if (webhook.mutating() && subject.kind == kind.kind && subject.kind_group == kind.group) return &webhook;
  }
  return nullptr;
}

}  // namespace

Verdict complete_object(const Draft& draft, const Context& context) {
  const api::Kind* kind = api::find_kind(draft.group, "", draft.kind);
  if (!kind) return Verdict::allow();
  const bool empty_requests = sends_empty_requests(&draft.object);
  if (auto good = api::canonicalize(draft.object, *kind->type); !good)
    return Verdict::error(std::move(good.error().message));
  const Webhook* found = mutator_of(*kind);
  if (!found || (draft.old_object && !found->takes_updates())) return Verdict::allow();
  const Webhook& webhook = *found;
  Review review;
  review.operation_name = draft.old_object ? "UPDATE" : "CREATE";
  review.user.username = draft.username;
  review.resource = {.group = kind->group, .version = webhook.versions.back(), .resource = kind->plural};
  const Case judged{.context = context,
                    .review = review,
                    .webhook = webhook,
                    .object = &draft.object,
                    .old_object = draft.old_object,
                    .empty_requests = empty_requests};
  Verdict verdict = webhook.complete(judged);
  verdict.patch.clear();  // the object is what was wanted
  return verdict;
}

// Bringing a machine into canonical form costs as much as all of its defaults, so defaults write nothing that Go would
// leave out. The fuzzers hold them to it.
void check_canonical([[maybe_unused]] const Case& judged) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  const Subject* subject = find_subject(judged.webhook, judged.review.resource.resource);
  const api::Kind* kind = subject ? api::find_kind(subject->kind_group, "", subject->kind) : nullptr;
  json::Value copy(*judged.object);
  if (kind && (!api::canonicalize(copy, *kind->type) || copy != *judged.object)) std::abort();
#endif
}

Verdict replace_members(const Case& judged, std::initializer_list<string_view> paths) {
  check_canonical(judged);
  Verdict verdict;
  for (const string_view path : paths)
    if (const json::Value* value = json::find(*judged.object, path.substr(1)))
      verdict.patch.push_back({.op = "replace", .path = path, .value = value});
  return verdict;
}

bool is_launcher_pod(const json::Value& object) {
  return json::as_string(json::find_path(object, {"metadata", "labels", "kubevirt.io"})) == "virt-launcher";
}

}  // namespace vg::admission
