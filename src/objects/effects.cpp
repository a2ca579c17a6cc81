#include "objects/effects.h"

#include <fmt/format.h>

#include "objects/object_writes.h"
#include "objects/own_writes.h"

namespace vg::resources {
namespace {

Task<Result<void>> carry_out(Backend& backend, Core& core, const admission::SideEffect& effect) {
  const Resource* resource = find_resource(effect.resource);
  if (!resource) co_return fail(Status::internal_error(fmt::format("{} are not served", effect.resource)));
  const User user = virt_api_account(backend.admission.own_namespace);
  ObjectRequest request(backend, core, nullptr, *resource, resource->kind->storage_version(), user,
                        {.ns = effect.ns, .name = effect.name});
  request.manager = own_writers::virt_api;
  request.set_options({.dry_run = effect.dry_run});
  const Patch wanted{.format = PatchFormat::json_patch, .document = json::Value(effect.patch, request.storage())};
  const auto patched = co_await patch(request, wanted);
  if (!patched) co_return fail(patched.error());
  co_return Result<void>();
}

}  // namespace

admission::CarryOut effects_in(Backend& backend) {
  return [&backend](Core& core, const admission::SideEffect& effect) { return carry_out(backend, core, effect); };
}

}  // namespace vg::resources
