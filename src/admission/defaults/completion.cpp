#include "admission/defaults/completion.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "admission/defaults/presets.h"
#include "admission/webhook_operations.h"
#include "api/canonical.h"
#include "api/schema.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::admission {
namespace {

using std::string_view;

Verdict with_patch(Completion completion) {
  if (completion.verdict.allowed) completion.verdict.patch = print_patch(completion.steps);
  return std::move(completion.verdict);
}

struct Row {
  string_view path;
  Complete complete;
};

constexpr std::array table = std::to_array<Row>({
    {"/virtualmachineinstances-mutate", complete_vmi},
    {"/virtualmachines-mutate", complete_vm},
    {"/migration-mutate-create", complete_migration},
    {"/vm-clone-mutate-create", complete_clone},
    {"/virt-launcher-pod-mutate", complete_launcher_pod},
});

const Row* row_of(const api::Kind& kind) {
  for (const Row& row : table) {
    const Subject& subject = find_webhook(row.path)->subjects.front();
    if (subject.kind == kind.kind && subject.kind_group == kind.group) return &row;
  }
  return nullptr;
}

}  // namespace

// Straight into text: the values stay where they are.
std::string print_patch(const std::vector<PatchStep>& steps) {
  std::string out;
  if (steps.empty()) return out;
  for (const PatchStep& step : steps) {
    out += out.empty() ? "[{\"op\":" : ",{\"op\":";
    json::write_string(step.op, out);
    out += ",\"path\":";
    json::write_string(step.path, out);
    out += ",\"value\":";
    json::write(*step.value, out);
    out += '}';
  }
  out += ']';
  return out;
}

Complete find_completion(string_view webhook_path) {
  const Row* row = std::ranges::find(table, webhook_path, &Row::path);
  return row == table.end() ? nullptr : row->complete;
}

Verdict complete_object(const Draft& draft, const Context& context) {
  const api::Kind* kind = api::find_kind(draft.group, "", draft.kind);
  if (!kind) return Verdict::allow();
  const bool empty_requests = sends_empty_requests(&draft.object);
  if (auto good = api::canonicalize(draft.object, *kind->type); !good)
    return Verdict::error(std::move(good.error().message));
  const Row* row = row_of(*kind);
  if (!row) return Verdict::allow();
  const Webhook& webhook = *find_webhook(row->path);
  if (draft.old_object && operations_of(webhook) == Operations::create) return Verdict::allow();
  Review review;
  review.operation_name = draft.old_object ? "UPDATE" : "CREATE";
  review.user.username = draft.username;
  review.resource = {.group = kind->group, .version = webhook.versions.back(), .resource = kind->plural};
  const Case about{.context = context,
                   .review = review,
                   .webhook = webhook,
                   .object = &draft.object,
                   .old_object = draft.old_object,
                   .empty_requests = empty_requests};
  return row->complete(about).verdict;
}

Verdict mutate_vmi(const Case& about) { return with_patch(complete_vmi(about)); }
Verdict mutate_vm(const Case& about) { return with_patch(complete_vm(about)); }
Verdict mutate_migration(const Case& about) { return with_patch(complete_migration(about)); }
Verdict mutate_clone(const Case& about) { return with_patch(complete_clone(about)); }
Verdict mutate_launcher_pod(const Case& about) { return with_patch(complete_launcher_pod(about)); }

Completion refuse(Verdict verdict) { return {.verdict = std::move(verdict), .steps = {}}; }

// Bringing a machine into canonical form costs as much as all of its defaults, so defaults write nothing that Go would
// leave out. The fuzzers hold them to it.
void check_canonical([[maybe_unused]] const Case& about) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  const Subject* subject = find_subject(about.webhook, about.review.resource.resource);
  const api::Kind* kind = subject ? api::find_kind(subject->kind_group, "", subject->kind) : nullptr;
  json::Value copy(*about.object);
  if (kind && (!api::canonicalize(copy, *kind->type) || copy != *about.object)) std::abort();
#endif
}

Completion replace_members(const Case& about, std::initializer_list<string_view> paths) {
  check_canonical(about);
  Completion completion;
  for (const string_view path : paths)
    if (const json::Value* value = json::find(*about.object, path.substr(1)))
      completion.steps.push_back({.op = "replace", .path = path, .value = value});
  return completion;
}

}  // namespace vg::admission
