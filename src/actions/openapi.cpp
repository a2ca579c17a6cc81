#include "actions/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "actions/action.h"
#include "api/openapi.h"
#include "api/schema.h"
#include "base/media_types.h"

namespace vg::actions {
namespace {

using api::OpenApiVersion;
using json::Array;
using json::Object;
using json::Value;

constexpr std::string_view title = "KubeVirt API";
constexpr std::string_view any_type = "*/*";
constexpr std::string_view plain_text = "string";  // a schema that says no more

boost::json::string_view view(std::string_view text) { return text; }

struct Meaning {
  int code;
  std::string_view words;
};
constexpr std::array meanings = std::to_array<Meaning>({{200, "done or accepted"},
                                                        {400, "the request is not valid"},
                                                        {401, "credentials are required"},
                                                        {404, "the object was not found"},
                                                        {500, "the server or the node failed"}});

std::string_view meaning(int code) {
  const auto* found = std::ranges::find(meanings, code, &Meaning::code);
  return found == meanings.end() ? std::string_view() : found->words;
}

// --- what there is, in neither form
// --------------------------------------------------------------------------------------

struct OpenApiReply {
  int code;
  std::string_view type;  // empty: no body
};

struct Operation {
  std::string path;
  bool put = false;
  std::string id;
  std::string_view does;
  std::string_view consumes = {}, produces = {};
  std::string_view body_type = {};
  bool body_required = false;
  std::vector<OpenApiReply> replies = {};
  std::string_view query = {};  // as in Documented
};

std::string base_path(std::string_view version) { return fmt::format("/apis/{}/{}/", group, version); }

std::string path_of(const Action& action, std::string_view version) {
  std::string path = base_path(version);
  if (action.namespaced) path += "namespaces/{namespace}/";
  if (!action.resource.empty()) path += fmt::format("{}/{{name}}/", action.resource);
  return path.append(action.name);
}

Operation operation_of(const Action& action, std::string_view version, OpenApiVersion form) {
  const Documented& documented = action.documented;
  Operation made{.path = path_of(action, version),
                 .put = action.method == "PUT",
                 .id = fmt::format("{}{}", version, action.operation),
                 .does = action.does,
                 .consumes = action.consumes.empty() && !action.body_type.empty() ? any_type : action.consumes,
                 .produces = action.produces_json ? json_media_type : std::string_view(),
                 .body_type = action.body_type,
                 .body_required = documented.body_required,
                 .query = documented.query};
  for (const int code : documented.codes) {
    std::string_view type = code == 200 || documented.reply == plain_text ? documented.reply : std::string_view();
    // The older form cannot say that there may be nothing.
    if (type.empty() && form == OpenApiVersion::v2) type = plain_text;
    made.replies.push_back({code, type});
  }
  return made;
}

std::vector<Operation> group_operations(std::string_view version, OpenApiVersion form) {
  std::vector<Operation> all;
  all.push_back({.path = base_path(version),
                 .id = fmt::format("{}getAPISubResources", version),
                 .does = "the resources of this group",
                 .produces = json_media_type,
                 .replies = {{200, "meta.APIResourceList"}, {404, plain_text}}});
  for (const Action& action : actions()) {
    Operation made = operation_of(action, version, form);
    if (action.name == "portforward") {
      // The protocol may be left out, so there are two paths.
      made.path += "/{port}";
      all.push_back(made);
      made.path += "/{protocol}";
      made.id += "WithProtocol";
    }
    all.push_back(std::move(made));
  }
  return all;
}

// What stands beside the group.
std::vector<Operation> root_operations() {
  std::vector<Operation> all;
  const auto add = [&](std::string path, std::string id, std::string_view does, std::string_view produces,
                       std::vector<OpenApiReply> replies) {
    all.push_back({.path = std::move(path),
                   .id = std::move(id),
                   .does = does,
                   .produces = produces,
                   .replies = std::move(replies)});
  };
  add("/", "getRootPaths", "the paths of the server", json_media_type, {{200, "meta.RootPaths"}, {404, plain_text}});
  add("/apis", "getAPIGroupList", "the API groups", json_media_type, {{200, "meta.APIGroupList"}, {404, plain_text}});
  add(fmt::format("/apis/{}", group), fmt::format("{}GetSubAPIGroup", versions.front()), "the versions of the group",
      json_media_type, {{200, "meta.APIGroup"}, {404, plain_text}});
  add("/healthz", "checkHealth", "the health of the server", "", {});
  add("/start-profiler", "HandleStartProfiler", "starts profiling", "", {});
  add("/stop-profiler", "HandleStopProfiler", "stops profiling", "", {});
  add("/dump-profiler", "HandleDumpProfiler", "profiles", "", {});
  add("/openapi/v2", "getOpenAPIV2", "this document", json_media_type, {});
  all.back().consumes = json_media_type;
  add("/openapi/v3", "getOpenAPIV3Discovery", "the paths of the OpenAPI v3 documents", json_media_type, {});
  for (const std::string_view version : versions)
    add(fmt::format("/openapi/v3/apis/{}/{}", group, version), fmt::format("getOpenAPIV3Spec_{}_{}", group, version),
        "the OpenAPI v3 document", json_media_type, {{200, plain_text}, {500, plain_text}});
  return all;
}

// --- written down
// ----------------------------------------------------------------------------------------------------------

class Writer {
 public:
  Writer(OpenApiVersion form, const json::StoragePtr& storage) : form_(form), storage_(storage) {}

  // By path.
  Object paths(const std::vector<Operation>& operations) {
    std::map<std::string_view, const Operation*> sorted;
    for (const Operation& operation : operations) sorted.emplace(operation.path, &operation);
    Object all(storage_);
    for (const auto& [path, operation] : sorted) {
      Object item(storage_);
      item.emplace(operation->put ? "put" : "get", write(*operation));
      if (Array list = parameters(*operation); !list.empty()) item.emplace("parameters", std::move(list));
      all.emplace(view(path), std::move(item));
    }
    return all;
  }

  // Of everything that was referred to.
  Object definitions() const {
    return api::openapi_definitions(form_, api::OpenApiFlavour::upstream, roots_, storage_);
  }

 private:
  bool newer() const { return form_ == OpenApiVersion::v3; }

  Value schema(std::string_view type) {
    const api::Type* found = type == plain_text ? nullptr : api::find_type(type);
    if (!found) return Value({{"type", "string"}}, storage_);
    roots_.push_back(found);
    const std::string_view place = newer() ? "#/components/schemas/" : "#/definitions/";
    return Value({{"$ref", fmt::format("{}{}", place, found->openapi_name)}}, storage_);
  }

  Value content(std::string_view media_type, std::string_view type) {
    Object media(storage_);
    media["schema"] = schema(type);
    Object all(storage_);
    all.emplace(view(media_type), std::move(media));
    return Value(std::move(all));
  }

  Object write(const Operation& operation) {
    Object made(storage_);
    made["operationId"] = operation.id;
    made["description"] = view(operation.does);
    if (!newer()) {
      if (!operation.consumes.empty()) made["consumes"] = Array({view(operation.consumes)}, storage_);
      if (!operation.produces.empty()) made["produces"] = Array({view(operation.produces)}, storage_);
    }
    if (!operation.body_type.empty()) write_body(made, operation);
    Object& responses = made["responses"].emplace_object();
    for (const OpenApiReply& reply : operation.replies) write_response(responses, reply);
    write_response(responses, {401, {}});
    return made;
  }

  void write_body(Object& made, const Operation& operation) {
    if (newer()) {
      Object& body = made["requestBody"].emplace_object();
      body["content"] = content(operation.consumes, operation.body_type);
      if (operation.body_required) body["required"] = true;
      return;
    }
    Object body(storage_);
    body["name"] = "body";
    body["in"] = "body";
    if (operation.body_required) body["required"] = true;
    body["schema"] = schema(operation.body_type);
    made["parameters"].emplace_array().push_back(std::move(body));
  }

  void write_response(Object& responses, const OpenApiReply& reply) {
    Object response(storage_);
    response["description"] = view(meaning(reply.code));
    if (!reply.type.empty()) {
      if (newer())
        response["content"] = content(json_media_type, reply.type);
      else
        response["schema"] = schema(reply.type);
    }
    responses.emplace(std::to_string(reply.code), std::move(response));
  }

  Value parameter(std::string_view name, std::string_view in, std::string_view type, bool required) {
    Object made(storage_);
    made["name"] = view(name);
    made["in"] = view(in);
    if (required) made["required"] = true;
    Object& typed = newer() ? made["schema"].emplace_object() : made;
    typed["type"] = view(type);
    typed["uniqueItems"] = true;
    return Value(std::move(made));
  }

  // Those of the path and of the query, by name.
  Array parameters(const Operation& operation) {
    std::map<std::string, Value> all;
    for (const std::string_view name : {"name", "namespace", "port", "protocol"})
      if (operation.path.contains(fmt::format("{{{}}}", name)))
        all.emplace(name, parameter(name, "path", "string", true));
    std::string_view rest = operation.query;
    while (!rest.empty()) {
      std::string_view item = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
      const bool required = item.ends_with('!');
      if (required) item.remove_suffix(1);
      const auto colon = item.find(':');
      all.emplace(item.substr(0, colon), parameter(item.substr(0, colon), "query", item.substr(colon + 1), required));
    }
    Array list(storage_);
    for (auto& [name, value] : all) list.push_back(std::move(value));
    return list;
  }

  OpenApiVersion form_;
  json::StoragePtr storage_;
  std::vector<const api::Type*> roots_;
};

// How callers prove who they are.
Object security(const json::StoragePtr& storage) {
  return Object({{"BearerToken", {{"type", "apiKey"}, {"name", "authorization"}, {"in", "header"}}}}, storage);
}

}  // namespace

json::Object openapi_v3(std::string_view version, const json::StoragePtr& storage) {
  Writer writer(OpenApiVersion::v3, storage);
  Object paths = writer.paths(group_operations(version, OpenApiVersion::v3));
  return Object({{"openapi", "3.0.0"},
                 {"info", {{"title", view(title)}, {"version", view(version)}}},
                 {"paths", std::move(paths)},
                 {"components", {{"schemas", writer.definitions()}, {"securitySchemes", security(storage)}}}},
                storage);
}

json::Object openapi_v2(std::string_view release, const json::StoragePtr& storage) {
  std::vector<Operation> operations = root_operations();
  std::ranges::move(group_operations(versions.front(), OpenApiVersion::v2), std::back_inserter(operations));
  Writer writer(OpenApiVersion::v2, storage);
  Object paths = writer.paths(operations);
  return Object({{"swagger", "2.0"},
                 {"info", {{"title", view(title)}, {"version", view(release)}}},
                 {"paths", std::move(paths)},
                 {"definitions", writer.definitions()},
                 {"securityDefinitions", security(storage)}},
                storage);
}

}  // namespace vg::actions
