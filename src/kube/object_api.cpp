#include "kube/object_api.h"

#include <fmt/format.h>

#include <utility>

#include "admission/lookup_name.h"
#include "base/limits.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/write.h"
#include "kube/answer.h"
#include "kube/paths.h"

namespace vg::kube {
namespace {

std::string query_of(const PageRequest& page) {
  const std::string limit = page.limit == 0 ? std::string() : std::to_string(page.limit);
  std::string query;
  for (const auto& [name, value] :
       {std::pair("labelSelector", page.selectors.labels), std::pair("fieldSelector", page.selectors.fields),
        std::pair("limit", std::string_view(limit)), std::pair("continue", page.continue_token)})
    if (!value.empty()) query += fmt::format("{}{}={}", query.empty() ? '?' : '&', name, percent_encode(value));
  return query;
}

// A path with such a name in it would mean something else: the list of all, or another object.
Result<void> check_name(const ObjectName& object) {
  if (admission::check_lookup_name(object.resource.plural, object.name)) return {};
  return fail(Status::not_found(std::string(object.resource.group), std::string(object.resource.plural),
                                std::string(object.name)));
}

// kube-apiserver would hang up while we still write.
Result<void> check_size(std::size_t bytes) {
  if (bytes <= limits::object_body_bytes_max) return {};
  return fail(
      Status::too_large(fmt::format("the object of the action has {} bytes, at most {} are supported by the API server",
                                    bytes, limits::object_body_bytes_max)));
}

WrittenObject written(const json::Value& answer) {
  const json::Object* metadata = json::get_object(answer, "metadata");
  const auto text = [&](std::string_view member) {
    return std::string(metadata ? json::get_string_or(*metadata, member) : std::string_view());
  };
  return {.name = text("name"), .uid = text("uid"), .version = text("resourceVersion")};
}

Task<Result<void>> carry_out(Client& client, Core& core, const admission::SideEffect& effect) {
  const auto resource = resource_of_key(effect.resource);
  if (!resource) co_return fail(Status::internal_error(fmt::format("{} are not served", effect.resource)));
  json::Arena arena;
  const ObjectName object{.resource = *resource, .ns = effect.ns, .name = effect.name};
  auto patched = co_await client.patch(core, object, {}, json::to_text(effect.patch), effect.dry_run, arena.storage());
  if (!patched) co_return fail(std::move(patched.error()));
  co_return Result<void>();
}

}  // namespace

std::optional<ResourceName> resource_of_key(std::string_view key) {
  const resources::Resource* resource = resources::find_resource(key);
  if (!resource) return std::nullopt;
  return ResourceName{resource->group(), resource->kind->storage_version().name, resource->plural()};
}

Task<Result<json::Value>> KubeObjects::get(Core& core, ObjectName object, json::StoragePtr storage) {
  if (auto nameable = check_name(object); !nameable) co_return fail(std::move(nameable.error()));
  co_return co_await client_.get(core, object, std::move(storage));
}

Task<Result<std::vector<json::Value>>> KubeObjects::list(Core& core, ResourceName resource, std::string_view ns,
                                                         Selectors selectors, json::StoragePtr storage) {
  auto all = co_await list_page(core, resource, ns, {.selectors = selectors}, std::move(storage));
  if (!all) co_return fail(std::move(all.error()));
  co_return std::move(all->objects);
}

Task<Result<ObjectPage>> KubeObjects::list_page(Core& core, ResourceName resource, std::string_view ns,
                                                PageRequest page, json::StoragePtr storage) {
  auto listed = co_await client_.list(core, resource, ns, query_of(page), storage, limits::lookup_list_bytes_max);
  if (!listed) co_return fail(std::move(listed.error()));
  name_items(*listed);
  ObjectPage made;
  made.continue_token = json::as_string(json::find_path(*listed, {"metadata", "continue"})).value_or("");
  json::Array* items = json::get_array(*listed, "items");
  if (!items) co_return made;
  made.objects.reserve(items->size());
  for (json::Value& item : *items) made.objects.push_back(std::move(item));
  co_return made;
}

Task<Result<WrittenObject>> KubeObjects::patch(Core& core, ObjectName object, std::string_view subresource,
                                               const json::Array& operations, bool dry_run) {
  if (auto nameable = check_name(object); !nameable) co_return fail(std::move(nameable.error()));
  std::string body;
  json::write(operations, body);
  if (auto fits = check_size(body.size()); !fits) co_return fail(std::move(fits.error()));
  json::Arena arena;
  const auto patched = co_await client_.patch(core, object, subresource, body, dry_run, arena.storage());
  if (!patched) co_return fail(patched.error());
  co_return written(*patched);
}

Task<Result<WrittenObject>> KubeObjects::create(Core& core, ResourceName resource, std::string_view ns,
                                                const json::Value& object, bool dry_run) {
  json::Arena arena;
  const std::string body = json::to_text(object);
  if (auto fits = check_size(body.size()); !fits) co_return fail(std::move(fits.error()));
  const auto created = co_await client_.create(core, resource, ns, body, dry_run, arena.storage());
  if (!created) co_return fail(created.error());
  co_return written(*created);
}

admission::CarryOut effects_through(Client& client) {
  return [&client](Core& core, const admission::SideEffect& effect) { return carry_out(client, core, effect); };
}

}  // namespace vg::kube
