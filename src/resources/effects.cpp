#include "resources/effects.h"

#include <fmt/format.h>

#include <string>

#include "json/parse.h"
#include "json/patch.h"
#include "resources/change.h"
#include "resources/decode.h"
#include "resources/draft.h"
#include "resources/own_writes.h"

namespace vg::resources {
namespace {

User own_account(const admission::Environment& environment) {
  const std::string& ns = environment.own_namespace;
  return {.name = fmt::format("system:serviceaccount:{}:kubevirt-apiserver", ns),
          .uid = {},
          .groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"},
          .extra = {}};
}

Result<json::Value> patched(Context& context, const json::Value& old, const json::Value& patch,
                            const WriteContext& write) {
  json::Value wanted(old, context.storage());
  if (auto applied = json::apply_json_patch(wanted, patch); !applied) return fail(std::move(applied.error()));
  if (!wanted.is_object()) return fail(Status::bad_request("the patch does not leave an object"));
  if (auto shaped = shape_object(wanted, context.resource, write, nullptr); !shaped)
    return fail(std::move(shaped.error()));
  return wanted;
}

Task<Result<void>> patch_object(Context& context, const admission::Effect& effect) {
  const auto patch = json::parse(effect.patch, context.storage());
  if (!patch) co_return fail(patch.error());
  const std::string now = context.now();
  const WriteContext write = write_context(context, now);
  for (int attempt = 1;; ++attempt) {
    const ObjectPtr current = context.find(effect.name);
    if (!current) co_return fail(context.not_found(effect.name));
    const json::Value old = load_object(*current, context.storage());
    auto wanted = patched(context, old, *patch, write);
    if (!wanted) co_return fail(std::move(wanted.error()));
    auto written = co_await change_object(context, current, old, std::move(*wanted), effect.dry_run, write);
    if (written) co_return Result<void>();
    if (!written.error().raced || attempt == write_attempts_max) co_return fail(std::move(written.error().status));
  }
}

Task<Result<void>> carry_out(Backend& backend, server::Call& call, const admission::Effect& effect) {
  const Resource* resource = find_resource(effect.resource);
  if (!resource) co_return fail(Status::internal_error(fmt::format("{} are not served", effect.resource)));
  const api::KindVersion& version = resource->kind->storage_version();
  const RequestInfo info{.resource_request = true,
                         .path = {},
                         .verb = "patch",
                         .group = std::string(resource->group()),
                         .version = std::string(version.name),
                         .ns = effect.ns,
                         .resource = std::string(resource->plural()),
                         .subresource = {},
                         .name = effect.name};
  const User user = own_account(backend.admission);
  Context context(backend, call, info, *resource, version, user, {});
  context.own_manager = own_writers::virt_api;
  co_return co_await patch_object(context, effect);
}

}  // namespace

server::CarryOut effects_in(Backend& backend) {
  return [&backend](server::Call& call, const admission::Effect& effect) { return carry_out(backend, call, effect); };
}

}  // namespace vg::resources
