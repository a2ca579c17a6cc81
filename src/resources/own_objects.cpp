#include "resources/own_objects.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/selector.h"
#include "json/access.h"
#include "objects/draft.h"
#include "objects/object_writes.h"
#include "objects/own_writes.h"
#include "objects/trace_mark.h"
#include "objects/turn.h"
#include "resources/options.h"
#include "resources/read.h"
#include "resources/selection.h"

namespace vg::resources {
namespace {

// Every version of a kind has the same shape.
json::Value load_as(const StoredObject& object, const ResourceName& asked, const json::StoragePtr& storage) {
  json::Value value = load_object(object, storage);
  value.get_object()["apiVersion"] = api_version(asked.group, asked.version);
  return value;
}

constexpr ResourceName cdi_configs{"cdi.kubevirt.io", "v1beta1", "cdiconfigs"};
bool is_cdi_config(const ResourceName& resource) {
  return resource.group == cdi_configs.group && resource.plural == cdi_configs.plural;
}

struct ParsedSelectors {
  LabelSelector labels;
  FieldSelector fields;
};
Result<ParsedSelectors> parse_selectors(const Selectors& selectors) {
  auto labels = LabelSelector::parse(selectors.labels);
  if (!labels) return fail(Status::bad_request(labels.error()));
  auto fields = FieldSelector::parse(selectors.fields);
  if (!fields) return fail(Status::bad_request(fields.error()));
  return ParsedSelectors{.labels = std::move(*labels), .fields = std::move(*fields)};
}

Result<Selection> read_selectors(const Resource& resource, const Selectors& selectors) {
  auto parsed = parse_selectors(selectors);
  if (!parsed) return fail(std::move(parsed.error()));
  return Selection::make(resource, std::move(parsed->labels), std::move(parsed->fields));
}

WrittenObject written(const StoredObject& object) {
  const Revision revision = object.revision();
  return {.name = std::string(object.name()),
          .uid = std::string(object.uid()),
          .version = revision ? fmt::to_string(revision) : std::string()};
}

void write_as_virt_api(ObjectRequest& request, bool dry_run) {
  request.manager = own_writers::virt_api;
  request.set_options({.dry_run = dry_run});
}

}  // namespace

OwnObjects::OwnObjects(ApiBackend& backend, std::string_view own_namespace, CdiAccess cdi)
    : backend_(backend), user_(virt_api_account(own_namespace)), cdi_(cdi) {}

const Resource* OwnObjects::find_readable(const ResourceName& name) const {
  if (cdi_ == CdiAccess::forbidden && is_cdi_config(name)) return nullptr;
  return find_resource(name.group, name.version, name.plural);
}

Status OwnObjects::unreadable(const ResourceName& name) const {
  const std::string group(name.group), plural(name.plural);
  if (cdi_ == CdiAccess::forbidden && is_cdi_config(name))
    return Status::forbidden(group, plural, "", fmt::format("virt-api has no role for {}.{}", plural, group));
  return Status::not_found(group, plural, "");
}

Task<Result<json::Value>> OwnObjects::get(Core&, ObjectName object, json::StoragePtr storage) {
  const Resource* resource = find_readable(object.resource);
  if (!resource) co_return fail(unreadable(object.resource));
  const ObjectPtr found = backend_.store.get(resource->key, object.ns, object.name);
  if (!found)
    co_return fail(Status::not_found(std::string(object.resource.group), std::string(object.resource.plural),
                                     std::string(object.name)));
  co_return load_as(*found, object.resource, storage);
}

Task<Result<std::vector<json::Value>>> OwnObjects::list(Core& core, ResourceName name, std::string_view ns,
                                                        Selectors selectors, json::StoragePtr storage) {
  (void)tracing::take_over();  // what is at hand needs no span
  const Resource* resource = find_readable(name);
  if (!resource) co_return fail(unreadable(name));
  const auto selection = read_selectors(*resource, selectors);
  if (!selection) co_return fail(selection.error());
  const auto page = backend_.store.list({.resource = resource->key, .ns = ns});
  if (!page) co_return fail(page.error());
  std::vector<json::Value> values;
  std::size_t bytes = 0;
  Turn turn(core);
  for (const ObjectPtr& object : page->objects) {
    if (turn.over(*object)) co_await turn.pass();
    if (!selection->matches(*object)) continue;
    bytes += object->memory_bytes();
    if (bytes > limits::lookup_list_bytes_max)
      co_return fail(Status::internal_error(fmt::format("the {} have more than {} bytes, too many to read",
                                                        resource->plural(), limits::lookup_list_bytes_max)));
    values.push_back(load_as(*object, name, storage));
  }
  co_return values;
}

Task<Result<ObjectPage>> OwnObjects::list_page(Core& core, ResourceName name, std::string_view ns, PageRequest page,
                                               json::StoragePtr storage) {
  (void)tracing::take_over();
  const Resource* resource = find_readable(name);
  if (!resource) co_return fail(unreadable(name));
  auto selectors = parse_selectors(page.selectors);
  if (!selectors) co_return fail(std::move(selectors.error()));
  ListOptions options;
  options.labels = std::move(selectors->labels);
  options.fields = std::move(selectors->fields);
  options.limit = page.limit;
  options.continue_token = page.continue_token;
  auto listed = co_await list_objects(backend_, core, *resource, ns, options);
  if (!listed) co_return fail(std::move(listed.error().status));
  ObjectPage made{.objects = {}, .continue_token = std::move(listed->continue_token)};
  made.objects.reserve(listed->objects.size());
  for (const ObjectPtr& object : listed->objects) made.objects.push_back(load_as(*object, name, storage));
  co_return made;
}

Task<Result<WrittenObject>> OwnObjects::patch(Core& core, ObjectName object, std::string_view subresource,
                                              const json::Array& operations, bool dry_run) {
  tracing::Span span = tracing::Span::below(tracing::take_over(), "write");
  span.set("virtgate.resource", object.resource.plural);
  const Resource* resource = find_readable(object.resource);
  if (!resource) co_return fail(unreadable(object.resource));
  if (!subresource.empty() && (subresource != "status" || !resource->kind->status_subresource))
    co_return fail(Status::not_found(std::string(object.resource.group),
                                     fmt::format("{}/{}", object.resource.plural, subresource),
                                     std::string(object.name)));
  ObjectRequest request(backend_, core, nullptr, *resource, *resource->kind->version(object.resource.version), user_,
                        {.ns = object.ns, .name = object.name, .subresource = subresource});
  write_as_virt_api(request, dry_run);
  const tracing::Attached attached(&request, span);
  const Patch wanted{.format = PatchFormat::json_patch, .document = json::Value(operations, request.storage())};
  const auto patched = co_await resources::patch(request, wanted);
  if (!patched) co_return fail(patched.error());
  co_return written(**patched);
}

Task<Result<WrittenObject>> OwnObjects::create(Core& core, ResourceName name, std::string_view ns,
                                               const json::Value& object, bool dry_run) {
  tracing::Span span = tracing::Span::below(tracing::take_over(), "write");
  span.set("virtgate.resource", name.plural);
  const Resource* resource = find_readable(name);
  if (!resource) co_return fail(unreadable(name));
  ObjectRequest request(backend_, core, nullptr, *resource, *resource->kind->version(name.version), user_, {.ns = ns});
  write_as_virt_api(request, dry_run);
  const tracing::Attached attached(&request, span);
  request.body_bytes = text_bytes_min(object);
  if (request.body_bytes > limits::object_body_bytes_max)
    co_return fail(Status::too_large("the object of the action is too large"));
  const auto created = co_await resources::create(request, {.object = json::Value(object, request.storage())});
  if (!created) co_return fail(created.error());
  co_return written(**created);
}

}  // namespace vg::resources
