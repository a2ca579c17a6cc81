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

namespace vg::actions {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::string_view json_type = "application/json";
constexpr std::string_view any_type = "*/*";
constexpr std::string_view resource_list = "meta.APIResourceList";
constexpr std::string_view plain_text = "string";

boost::json::string_view view(std::string_view text) { return text; }

struct Meaning {
  int code;
  std::string_view words;
};
constexpr std::array meanings = std::to_array<Meaning>({{200, "done, or on its way"},
                                                        {400, "what was asked for makes no sense"},
                                                        {401, "not without leave"},
                                                        {404, "there is no such object"},
                                                        {500, "the server or the node failed"}});

std::string_view meaning(int code) {
  const auto* found = std::ranges::find(meanings, code, &Meaning::code);
  return found == meanings.end() ? std::string_view() : found->words;
}

class Document {
 public:
  Document(std::string_view version, const json::StoragePtr& storage) : version_(version), storage_(storage) {}

  Object make() {
    add_list();
    for (const Action& action : actions()) {
      if (action.name != "portforward") {
        add(path_of(action), action, action.operation);
        continue;
      }
      // The protocol may be left out, so there are two paths.
      add(path_of(action) + "/{port}", action, action.operation);
      add(path_of(action) + "/{port}/{protocol}", action, fmt::format("{}WithProtocol", action.operation));
    }
    Object paths(storage_);
    for (auto& [path, item] : paths_) paths.emplace(path, std::move(item));
    return Object(
        {{"openapi", "3.0.0"},
         {"info", {{"title", "KubeVirt API"}, {"version", view(version_)}}},
         {"paths", std::move(paths)},
         {"components",
          {{"schemas",
            api::openapi_definitions(api::OpenApiVersion::v3, api::OpenApiFlavour::upstream, roots_, storage_)},
           {"securitySchemes", {{"BearerToken", {{"type", "apiKey"}, {"name", "authorization"}, {"in", "header"}}}}}}}},
        storage_);
  }

 private:
  std::string base() const { return fmt::format("/apis/{}/{}/", group, version_); }

  std::string path_of(const Action& action) const {
    std::string path = base();
    if (action.namespaced) path += "namespaces/{namespace}/";
    if (!action.resource.empty()) path += fmt::format("{}/{{name}}/", action.resource);
    return path.append(action.name);
  }

  Value schema(std::string_view type) {
    if (type == plain_text) return Value({{"type", "string"}}, storage_);
    const api::Type* found = api::find_type(type);
    if (!found) return Value(Object(storage_));
    roots_.push_back(found);
    return Value({{"$ref", fmt::format("#/components/schemas/{}", found->openapi_name)}}, storage_);
  }

  Value content(std::string_view media_type, std::string_view type) {
    Object media(storage_);
    media["schema"] = schema(type);
    Object all(storage_);
    all.emplace(view(media_type), std::move(media));
    return Value(std::move(all));
  }

  void add_response(Object& responses, int code, std::string_view type) {
    Object response(storage_);
    response["description"] = view(meaning(code));
    if (!type.empty()) response["content"] = content(json_type, type);
    responses.emplace(std::to_string(code), std::move(response));
  }

  Object operation(const Action& action, std::string_view id) {
    Object made(storage_);
    made["operationId"] = fmt::format("{}{}", version_, id);
    made["description"] = view(action.does);
    if (!action.body_type.empty()) {
      Object& body = made["requestBody"].emplace_object();
      body["content"] = content(action.consumes.empty() ? any_type : action.consumes, action.body_type);
      if (action.documented.body_required) body["required"] = true;
    }
    Object& responses = made["responses"].emplace_object();
    const std::string_view reply = action.documented.reply;
    for (const int code : action.documented.codes)
      add_response(responses, code, code == 200 || reply == plain_text ? reply : std::string_view());
    add_response(responses, 401, "");
    return made;
  }

  Value parameter(std::string_view name, std::string_view in, std::string_view type, bool required) {
    Object made(storage_);
    made["name"] = view(name);
    made["in"] = view(in);
    if (required) made["required"] = true;
    made["schema"] = Object({{"type", view(type)}, {"uniqueItems", true}}, storage_);
    return Value(std::move(made));
  }

  // Those of the path and of the query, by name.
  Array parameters(std::string_view path, const Action& action) {
    std::map<std::string, Value> all;
    for (const std::string_view name : {"name", "namespace", "port", "protocol"})
      if (path.contains(fmt::format("{{{}}}", name))) all.emplace(name, parameter(name, "path", "string", true));
    std::string_view rest = action.documented.query;
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

  void add(const std::string& path, const Action& action, std::string_view id) {
    Object item(storage_);
    item.emplace(action.method == "PUT" ? "put" : "get", operation(action, id));
    if (Array list = parameters(path, action); !list.empty()) item.emplace("parameters", std::move(list));
    paths_.insert_or_assign(path, std::move(item));
  }

  // What lists the rest.
  void add_list() {
    Object get(storage_);
    get["operationId"] = fmt::format("{}getAPISubResources", version_);
    get["description"] = "what this group has";
    Object& responses = get["responses"].emplace_object();
    add_response(responses, 200, resource_list);
    add_response(responses, 401, "");
    add_response(responses, 404, plain_text);
    Object item(storage_);
    item.emplace("get", std::move(get));
    paths_.emplace(base(), std::move(item));
  }

  std::string_view version_;
  json::StoragePtr storage_;
  std::map<std::string, Object> paths_;
  std::vector<const api::Type*> roots_;
};

}  // namespace

json::Object openapi_v3(std::string_view version, const json::StoragePtr& storage) {
  return Document(version, storage).make();
}

}  // namespace vg::actions
