#include <fmt/format.h>

#include <utility>

#include "base/limits.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "objects/change.h"
#include "objects/commit.h"
#include "objects/decode.h"
#include "objects/draft.h"
#include "objects/marks.h"
#include "objects/object_meta.h"
#include "objects/object_writes.h"
#include "objects/pod_binding.h"
#include "objects/policies/enforce.h"
#include "objects/rules.h"
#include "objects/write_in_line.h"

namespace vg::resources {
namespace {

const Resource& binding_resource() {
  static const Resource& found = *find_resource("bindings");
  return found;
}

// What the Binding says of itself must fit the request.
Result<void> check_binding(const ObjectRequest& request, json::Object& binding) {
  if (auto settled = settle_namespace(binding, binding_resource(), request.ns); !settled) return settled;
  const std::string_view name = json::get_string_or(metadata_of(std::as_const(binding)), "name");
  if (!request.name.empty() && request.name != name)
    return fail(Status::bad_request(
        fmt::format("metadata.name of the Binding does not match the name in the path, \"{}\"", request.name)));
  auto causes = find_binding_causes(binding);
  if (causes.empty()) return {};
  return fail(Status::invalid("", "Binding", std::string(name), std::move(causes)));
}

// The pod as it will be, or why it cannot.
Result<ObjectDraft> bound(ObjectRequest& request, const StoredObject& current, const json::Object& binding,
                          const ObjectPtr& node, const WriteContext& write) {
  const json::Value old = load_object(current, request.storage());
  json::Value pod(old, request.storage());
  if (auto conflict = find_binding_conflict(pod.get_object()))
    return fail(Status::conflict("", "pods/binding", std::string(current.name()), std::move(*conflict)));
  json::Value where(request.storage());
  if (node) where = load_object(*node, request.storage());
  bind_pod(pod.get_object(), binding, where.if_object(), write.now_rfc3339);
  settle_marks(request, pod.get_object(), &old.get_object());  // a Binding brings annotations
  if (auto shaped = shape_object(pod, request.resource, write, nullptr); !shaped)
    return fail(std::move(shaped.error()));
  std::vector<StatusCause> causes;
  check_metadata(metadata_of(std::as_const(pod.get_object())), request.resource, causes);
  if (!causes.empty()) return fail(Status::invalid("", "Binding", std::string(current.name()), std::move(causes)));
  auto draft = make_draft(pod.get_object(), request.resource, OwnersThatDoNotFit::drop);
  if (auto fits = check_stored_size(current.name(), draft); !fits) return fail(std::move(fits.error()));
  return draft;
}

// Nothing but the pod's node is decided here, so none of the rules for changes of pods are asked: they forbid it.
Task<std::expected<void, Refused>> bind_once(ObjectRequest& request, std::string_view name, const json::Object& binding,
                                             const WriteContext& write) {
  const ObjectPtr current = request.find(name);
  if (!current) co_return refused(request.not_found(name));
  if (auto conflict = find_conflict(request, binding, *current)) co_return refused(std::move(*conflict));
  const json::Object& target = *json::get_object(binding, "target");
  const ObjectPtr node = request.backend.store.get("nodes", "", json::get_string_or(target, "name"));
  const std::size_t bytes = work_bytes(request, current.get()) + (node ? node->json().size() : 0);
  if (auto seated = co_await request.work_on(bytes); !seated) co_return refused(std::move(seated.error()));
  auto draft = co_await off_loop(request.core, bytes, [&] { return bound(request, *current, binding, node, write); });
  if (!draft) co_return refused(std::move(draft.error()));
  if (request.options.dry_run) co_return std::expected<void, Refused>();
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::update,
                                .key = current->key(),
                                .expected_revision = current->revision(),
                                .expected_uid = {},
                                .object = std::move(*draft)});
  auto outcome = co_await commit(request.backend.commits, request.core, std::move(transaction));
  if (outcome) co_return std::expected<void, Refused>();
  const bool raced = is_race(outcome.error());
  co_return refused(std::move(outcome.error()), raced);
}

Result<void> shape_binding(ObjectRequest& request, SentObject& sent) {
  const Resource& resource = binding_resource();
  if (auto typed = check_type(sent.object.get_object(), resource, resource.storage_api_version); !typed) return typed;
  if (auto shaped = shape_typed(sent.object, *resource.kind->type, &sent.problems); !shaped) return shaped;
  return judge_problems(sent.problems, request.options.field_validation, request.warnings, resource.kind->kind,
                        request.version.name);
}

}  // namespace

Task<Result<void>> bind(ObjectRequest& request, SentObject sent) {
  if (auto shaped = co_await off_loop(request.core, work_bytes(request), [&] { return shape_binding(request, sent); });
      !shaped)
    co_return fail(std::move(shaped.error()));
  json::Object& binding = sent.object.get_object();
  if (auto checked = check_binding(request, binding); !checked) co_return fail(std::move(checked.error()));
  const std::string name(json::get_string_or(metadata_of(std::as_const(binding)), "name"));
  request.deed.name = name;
  const std::string now = request.now();
  const WriteContext write = write_context(request, now);
  if (auto problem = co_await find_policy_problem(request,
                                                  {.operation = "CREATE",
                                                   .ns = request.key_ns(),
                                                   .name = name,
                                                   .object = &sent.object,
                                                   .body_version = "v1",
                                                   .body_kind = "Binding"},
                                                  request.storage(), work_bytes(request)))
    co_return fail(std::move(*problem));
  auto done = co_await write_in_line(request, name, [&] { return bind_once(request, name, binding, write); });
  if (!done) co_return fail(std::move(done.error().status));
  co_return Result<void>();
}

}  // namespace vg::resources
