#include "resources/own_objects.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/selector.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/status.h"
#include "json/write.h"
#include "resources/draft.h"
#include "resources/options.h"
#include "resources/own_writes.h"
#include "resources/read.h"
#include "resources/selection.h"
#include "resources/turn.h"
#include "resources/write.h"

namespace vg::resources {
namespace {

// A request that came over no connection.
class OwnExchange final : public http::Exchange {
 public:
  OwnExchange(Core& core, std::string_view method, std::string_view content_type, std::string_view query,
              std::string body)
      : core_(core), body_(std::move(body)) {
    request_.method = method;
    request_.query = query;
    request_.protocol = "HTTP/1.1";
    request_.headers.add("Content-Type", content_type);
  }

  const http::Request& request() const override { return request_; }
  Core& core() override { return core_; }
  Task<Result<std::string_view>> read_body(std::size_t limit) override {
    if (body_.size() > limit) co_return fail(Status::too_large("the object of the action is too large"));
    co_return std::string_view(body_);
  }
  void respond(http::Response response) override { response_ = std::move(response); }
  Task<bool> begin_stream(http::Response) override { co_return false; }
  Task<bool> write(std::string_view) override { co_return false; }
  Task<Result<std::unique_ptr<Stream>>> upgrade(http::Response) override {
    co_return fail(Status::internal_error("the connection cannot be upgraded here"));
  }
  bool cancelled() const override { return false; }

  // What was answered: the status code, and its document.
  const http::Response& response() const { return response_; }

 private:
  Core& core_;
  const std::string body_;
  http::Request request_;
  http::Response response_{.status = 500, .content_type = {}, .headers = {}, .body = {}};
};

// The object that was answered, or the refusal.
Result<json::Value> read_answer(const http::Response& response, const json::StoragePtr& storage) {
  auto document = json::parse(response.body, storage, own_text);
  if (!document) return fail(Status::internal_error("an internal write got no valid answer"));
  if (response.status >= 400) return fail(json::read_status(*document, response.status));
  return document;
}

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

RequestInfo request_info_of(const ObjectName& object, std::string_view verb, std::string_view subresource) {
  RequestInfo info;
  info.resource_request = true;
  info.verb = verb;
  info.group = object.resource.group;
  info.version = object.resource.version;
  info.ns = object.ns;
  info.resource = object.resource.plural;
  info.subresource = subresource;
  info.name = object.name;
  return info;
}

User own_user(std::string_view ns) {
  return {.name = fmt::format("system:serviceaccount:{}:kubevirt-apiserver", ns),
          .uid = {},
          .groups = {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", ns), "system:authenticated"},
          .extra = {}};
}

}  // namespace

OwnObjects::OwnObjects(Backend& backend, std::string_view own_namespace, CdiAccess cdi)
    : backend_(backend), user_(own_user(own_namespace)), cdi_(cdi) {}

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

Task<Result<ObjectPage>> OwnObjects::list_page(Core& core, ResourceName name, std::string_view ns,
                                               PageRequest page, json::StoragePtr storage) {
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

Task<Result<void>> OwnObjects::patch(Core& core, ObjectName object, std::string_view subresource,
                                     const json::Array& operations, bool dry_run) {
  const Resource* resource = find_readable(object.resource);
  if (!resource) co_return fail(unreadable(object.resource));
  if (!subresource.empty() && (subresource != "status" || !resource->kind->status_subresource))
    co_return fail(Status::not_found(std::string(object.resource.group),
                                     fmt::format("{}/{}", object.resource.plural, subresource),
                                     std::string(object.name)));
  std::string body;
  json::write(operations, body);
  OwnExchange exchange(core, "PATCH", "application/json-patch+json", dry_run ? "dryRun=All" : "", std::move(body));
  server::Call call(exchange, {});
  const RequestInfo info = request_info_of(object, "patch", subresource);
  Context context(backend_, call, info, *resource, *resource->kind->version(info.version), user_, Answer{});
  context.own_manager = own_writers::virt_api;
  co_await serve_patch(context);
  auto answer = read_answer(exchange.response(), context.storage());
  if (!answer) co_return fail(std::move(answer.error()));
  co_return Result<void>();
}

Task<Result<std::string>> OwnObjects::create(Core& core, ResourceName name, std::string_view ns,
                                             const json::Value& object, bool dry_run) {
  const Resource* resource = find_readable(name);
  if (!resource) co_return fail(unreadable(name));
  OwnExchange exchange(core, "POST", "application/json", dry_run ? "dryRun=All" : "", json::to_text(object));
  server::Call call(exchange, {});
  const RequestInfo info = request_info_of({.resource = name, .ns = ns, .name = {}}, "create", {});
  Context context(backend_, call, info, *resource, *resource->kind->version(info.version), user_, Answer{});
  context.own_manager = own_writers::virt_api;
  co_await serve_create(context);
  auto answer = read_answer(exchange.response(), context.storage());
  if (!answer) co_return fail(std::move(answer.error()));
  const json::Object* metadata = json::get_object(*answer, "metadata");
  co_return std::string(metadata ? json::get_string_or(*metadata, "name") : std::string_view());
}

}  // namespace vg::resources
