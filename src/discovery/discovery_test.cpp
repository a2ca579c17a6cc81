#include "discovery/discovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/openapi.h"
#include "base/limits.h"
#include "base/test_files.h"
#include "catalog/accept.h"
#include "discovery/discovery_groups.h"
#include "discovery/discovery_protobuf.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::resources {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::string_view aggregated_v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
// As kubectl 1.32 asks.
constexpr std::string_view kubectl_accept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

json::Document parsed(std::string_view text) {
  auto document = json::Document::parse(text, {.bytes_max = 64 << 20});
  EXPECT_TRUE(document) << text.substr(0, 200);
  return document ? std::move(*document) : json::Document();
}

json::Document get(std::string_view path, std::string_view accept = {}) {
  const auto document = discovery_document({.path = path, .accept = accept, .host = "127.0.0.1:6443"});
  EXPECT_TRUE(document) << path;
  if (!document) return json::Document();
  EXPECT_EQ(document->status, 200) << path;
  return parsed(document->body);
}

// --- what was recorded
// ------------------------------------------------------------------------------------------------

// Empty and absent are alike; volatile members and the order of resources do not count.
bool is_empty(const Value& value) {
  return value.is_null() || (value.is_string() && value.get_string().empty()) ||
         (value.is_object() && value.get_object().empty()) || (value.is_array() && value.get_array().empty());
}

Value tidy(const Value& value) {
  if (const Array* array = value.if_array()) {
    Array out;
    for (const Value& element : *array) out.push_back(tidy(element));
    return out;
  }
  const Object* object = value.if_object();
  if (!object) return value;
  Object out;
  for (const auto& member : *object) {
    if (member.key() == "storageVersionHash") continue;
    Value inner = tidy(member.value());
    if (!is_empty(inner)) out[member.key()] = std::move(inner);
  }
  if (json::get_string_or(out, "kind") == "APIResourceList") {
    if (Array* resources = json::get_array(out, "resources"))
      std::ranges::sort(*resources, {},
                        [](const Value& entry) { return std::string(json::get_string_or(entry, "name")); });
  }
  return out;
}

bool alike(const Value& want, const Value& got) {
  if (want == "<any>") return true;
  if (const Object *a = want.if_object(), *b = got.if_object(); a && b) {
    return a->size() == b->size() && std::ranges::all_of(*a, [&](const auto& member) {
             const Value* other = json::find(*b, member.key());
             return other && alike(member.value(), *other);
           });
  }
  if (const Array *a = want.if_array(), *b = got.if_array(); a && b) return std::ranges::equal(*a, *b, alike);
  return want == got;
}

TEST(Discovery, AnswersAsRecorded) {
  std::ifstream file(test_files::recording("rest.jsonl"));
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.contains("\"rest-discovery\"")) continue;
    const json::Document scenario = parsed(line);
    for (const Value& step : *json::get_array(scenario.root(), "steps")) {
      if (json::get_string_or(step, "method") != "GET") continue;
      const std::string_view path = json::get_string_or(step, "path");
      const Value* want = json::find_path(step, {"expect", "body"});
      ASSERT_TRUE(want);
      const json::Document got = get(path);
      const Value left = tidy(*want), right = tidy(got.root());
      EXPECT_TRUE(alike(left, right)) << path << "\nrecorded " << json::to_text(left) << "\nours     "
                                      << json::to_text(right);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 12);
}

// --- the form that all clients know
// -----------------------------------------------------------------------------------

TEST(Discovery, EveryGroupLeadsToItsVersionsAndResources) {
  const json::Document groups = get("/apis");
  std::set<std::string_view> names;
  for (const Value& group : *json::get_array(groups.root(), "groups")) {
    const std::string_view name = json::get_string_or(group, "name");
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(*json::find(get("/apis/" + std::string(name)).root(), "versions"), *json::find(group, "versions"));
    for (const Value& version : *json::get_array(group, "versions")) {
      const std::string_view gv = json::get_string_or(version, "groupVersion");
      const json::Document list = get("/apis/" + std::string(gv));
      EXPECT_EQ(json::get_string_or(list.root(), "groupVersion"), gv);
      EXPECT_FALSE(json::get_array(list.root(), "resources")->empty()) << gv;
    }
  }
  for (const std::string_view name : {"apps", "kubevirt.io", "subresources.kubevirt.io", "rbac.authorization.k8s.io"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const std::string_view name : {"autoscaling", "policy", "batch", "networking.k8s.io", "events.k8s.io"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Discovery, ThePreferredVersionIsTheStableOne) {
  const auto preferred = [](std::string_view group) { return find_api_group(group)->versions; };
  using Versions = std::vector<std::string_view>;
  EXPECT_EQ(preferred("kubevirt.io"), (Versions{"v1", "v1alpha3"}));
  EXPECT_EQ(preferred("export.kubevirt.io"), (Versions{"v1", "v1beta1"}));
  EXPECT_EQ(preferred("snapshot.kubevirt.io"), (Versions{"v1beta1", "v1alpha1"}));
}

const ApiResource* find_entry(const std::vector<ApiResource>& entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &ApiResource::name);
  return found == entries.end() ? nullptr : &*found;
}

TEST(Discovery, StoredResourcesHaveTheHashOfTheirStorageVersion) {
  const auto hash = [](std::string_view group, std::string_view version, std::string_view name) {
    const auto entries = api_resources(group, version);
    const ApiResource* found = find_entry(entries, name);
    return found ? found->storage_version_hash : "absent";
  };
  EXPECT_EQ(hash("", "v1", "configmaps"), "qFsyl6wFWjQ=");
  EXPECT_EQ(hash("apps", "v1", "deployments"), "8aSe+NMegvE=");
  // Whichever version is asked for, one form is stored.
  EXPECT_EQ(hash("events.k8s.io", "v1", "events"), "r2yiGXH7wu8=");
  EXPECT_EQ(hash("autoscaling", "v1", "horizontalpodautoscalers"), "qwQve8ut294=");
  EXPECT_EQ(hash("kubevirt.io", "v1", "virtualmachines"), "v2rohjOGqcY=");
  EXPECT_EQ(hash("kubevirt.io", "v1alpha3", "virtualmachines"), "v2rohjOGqcY=");
  EXPECT_EQ(hash("", "v1", "bindings"), "");
  EXPECT_EQ(hash("", "v1", "pods/status"), "");
  EXPECT_EQ(hash("authorization.k8s.io", "v1", "selfsubjectaccessreviews"), "");
  EXPECT_TRUE(discovery_document("/api/v1", "", "")->body.contains(R"("storageVersionHash":"qFsyl6wFWjQ=")"));
}

TEST(Discovery, PartsSayWhatTheyTake) {
  const auto core = api_resources("", "v1");
  const ApiResource* eviction = find_entry(core, "pods/eviction");
  ASSERT_TRUE(eviction);
  EXPECT_EQ(eviction->kind, "Eviction");
  EXPECT_EQ(eviction->kind_group, "policy");
  for (const char* name : {"bindings", "pods/binding"}) {
    const ApiResource* binding = find_entry(core, name);
    ASSERT_TRUE(binding) << name;
    EXPECT_EQ(binding->kind, "Binding");
    EXPECT_TRUE(binding->namespaced);
    EXPECT_EQ(std::vector(binding->verbs.begin(), binding->verbs.end()), std::vector<std::string_view>{"create"});
  }
  const ApiResource* finalize = find_entry(core, "namespaces/finalize");
  ASSERT_TRUE(finalize);
  EXPECT_EQ(finalize->kind, "Namespace");
  EXPECT_EQ(finalize->verbs.front(), "update");
  EXPECT_FALSE(finalize->namespaced);
  const ApiResource* token = find_entry(core, "serviceaccounts/token");
  ASSERT_TRUE(token);
  EXPECT_EQ(token->kind, "TokenRequest");
  const auto verbs = find_entry(core, "namespaces")->verbs;
  EXPECT_EQ(std::ranges::find(verbs, "deletecollection"), verbs.end());

  const auto reviews = api_resources("authorization.k8s.io", "v1");
  const ApiResource* local = find_entry(reviews, "localsubjectaccessreviews");
  ASSERT_TRUE(local);
  EXPECT_TRUE(local->namespaced);
  ASSERT_EQ(local->verbs.size(), 1u);
  EXPECT_EQ(local->verbs[0], "create");
  EXPECT_FALSE(find_entry(api_resources("authentication.k8s.io", "v1"), "tokenrequests"));
}

TEST(Discovery, TokensForUploadsAreOnlyAskedFor) {  // UPL-10
  const auto uploads = api_resources("upload.cdi.kubevirt.io", "v1beta1");
  ASSERT_EQ(uploads.size(), 1u);
  EXPECT_EQ(uploads[0].name, "uploadtokenrequests");
  EXPECT_TRUE(uploads[0].namespaced);
  EXPECT_EQ(std::vector(uploads[0].verbs.begin(), uploads[0].verbs.end()), std::vector<std::string_view>{"create"});
}

TEST(Discovery, NothingElsewhere) {
  for (const std::string_view path :
       {"", "/nope", "/api/v2", "/api/v1/pods", "/apis/kubevirt.io/v2", "/apis/nope", "/apis/kubevirt.io/v1/vms",
        "/apis//", "/apis//v1", "/apisx", "/openapi", "/openapi/v4", "/openapi/v3x", "/openapi/v3/apis/nope/v1",
        "/openapi/v3/api", "/openapi/v3/apis//v1", "/openapi/v3/api/kubevirt.io/v1"}) {
    EXPECT_FALSE(discovery_document(path, "", "")) << path;
  }
  EXPECT_TRUE(discovery_document("/apis/", "", ""));
  EXPECT_TRUE(discovery_document("/apis/subresources.kubevirt.io/v1/", "", ""));
}

TEST(Discovery, RootPathsAreThere) {
  const json::Document root = get("/");
  for (const Value& path : *json::get_array(root.root(), "paths")) {
    const std::string_view text = *json::as_string(&path);
    if (text.starts_with("/api")) EXPECT_TRUE(discovery_document(text, "", "")) << text;
  }
}

// --- aggregated
// ---------------------------------------------------------------------------------------------------------

TEST(Discovery, AggregatedSaysTheSameAsTheLists) {
  for (const std::string_view path : {"/api", "/apis"}) {
    const auto document = discovery_document({.path = path, .accept = kubectl_accept});
    ASSERT_TRUE(document);
    EXPECT_EQ(document->content_type, aggregated_v2);
    const json::Document whole = parsed(document->body);
    EXPECT_EQ(json::get_string_or(whole.root(), "apiVersion"), "apidiscovery.k8s.io/v2");
    for (const Value& group : *json::get_array(whole.root(), "items")) {
      const std::string_view name = json::as_string(json::find_path(group, {"metadata", "name"})).value_or("");
      for (const Value& version : *json::get_array(group, "versions")) {
        const std::string_view version_name = json::get_string_or(version, "version");
        std::vector<std::string> found;
        for (const Value& resource : *json::get_array(version, "resources")) {
          const std::string plural(json::get_string_or(resource, "resource"));
          ASSERT_TRUE(json::get_object(resource, "responseKind")) << "some clients read it unasked";
          if (!json::get_array(resource, "verbs")->empty()) found.push_back(plural);
          if (const Array* parts = json::get_array(resource, "subresources"))
            for (const Value& part : *parts)
              found.push_back(plural + "/" + std::string(json::get_string_or(part, "subresource")));
        }
        std::vector<std::string> listed;
        for (const ApiResource& entry : api_resources(name, version_name))
          if (!entry.verbs.empty() || entry.name.contains('/')) listed.push_back(entry.name);
        std::ranges::sort(found);
        std::ranges::sort(listed);
        EXPECT_EQ(found, listed) << name << "/" << version_name;
      }
    }
  }
}

TEST(Discovery, AggregatedKindsOfParts) {
  const json::Document whole = get("/apis", aggregated_v2);
  const std::string text = json::to_text(whole.root());
  EXPECT_TRUE(
      text.contains(R"({"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},)"
                    R"("verbs":["get","patch","update"]})"));
  EXPECT_TRUE(text.contains(R"({"resource":"virtualmachines","responseKind":{"group":"kubevirt.io","version":"v1",)"));
  EXPECT_TRUE(text.contains(R"("responseKind":{"group":"","version":"","kind":""})"));
  EXPECT_FALSE(text.contains("expand-vm-spec/"));
}

TEST(Discovery, NegotiatesItsForm) {
  const auto type = [](std::string_view path, std::string_view accept) {
    const auto document = discovery_document(path, accept, "");
    return document->status == 200 ? document->content_type : std::to_string(document->status);
  };
  EXPECT_EQ(type("/apis", ""), "application/json");
  EXPECT_EQ(type("/apis", "*/*"), "application/json");
  EXPECT_EQ(type("/apis", "application/vnd.kubernetes.protobuf, */*"), "application/json");
  EXPECT_EQ(type("/apis",
                 "application/json;q=0.5, application/json;as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io"),
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList");
  EXPECT_EQ(type("/apis", "application/json;as=APIGroupDiscoveryList;v=v9;g=apidiscovery.k8s.io,application/json"),
            "application/json");
  EXPECT_EQ(type("/apis", "application/vnd.nothing"), "406");
  EXPECT_EQ(type("/apis/kubevirt.io/v1", kubectl_accept), "application/json");
  EXPECT_EQ(type("/apis/kubevirt.io/v1", "text/html"), "406");
  EXPECT_EQ(type("/openapi/v3", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"), "application/json");
  EXPECT_EQ(type("/api/v1", "application/*"), "406");
  EXPECT_EQ(type("/apis/kubevirt.io/v1", "application/*"), "application/json");
}

TEST(Discovery, WhoHasTheDocumentGetsNone) {
  for (const std::string_view path :
       {"/apis", "/apis/kubevirt.io/v1", "/openapi/v3", "/openapi/v3/apis/clone.kubevirt.io/v1beta1"}) {
    const auto first = discovery_document(path, "", "");
    ASSERT_TRUE(first) << path;
    ASSERT_FALSE(first->etag.empty());
    const auto again = discovery_document(path, "", "W/\"x\", " + first->etag);
    EXPECT_EQ(again->status, 304) << path;
    EXPECT_TRUE(again->body.empty());
    EXPECT_EQ(again->etag, first->etag);
    EXPECT_EQ(again->cache_control, first->cache_control);
    EXPECT_EQ(discovery_document(path, "", "\"another\"")->status, 200);
  }
}

TEST(Accept, Order) {
  const auto clauses = read_accept("a/b;q=0.1, */*, c/d , e/f;q=0, g/*;q=0.5;as=X, h/i,,;,l/m/n,bare,j/k;q=nonsense");
  std::string order;
  for (const auto& clause : clauses) order += std::string(clause.type) + " ";
  EXPECT_EQ(order, "c/d h/i g/* */* a/b e/f j/k ");
  EXPECT_EQ(clauses[2].as, "X");
  EXPECT_TRUE(accepts(clauses[2], "g/anything"));
  EXPECT_FALSE(accepts(clauses[2], "gg/anything"));
  EXPECT_EQ(read_accept("").size(), 1u);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a/b,";
  EXPECT_EQ(read_accept(many).size(), limits::accept_clauses_max);
}

// --- OpenAPI
// ------------------------------------------------------------------------------------------------------------

TEST(OpenApiDocuments, TheIndexLeadsToDocumentsThatMayBeKept) {
  const json::Document index = get("/openapi/v3");
  const Object& paths = *json::get_object(index.root(), "paths");
  EXPECT_TRUE(paths.contains("api/v1"));
  EXPECT_TRUE(paths.contains("apis/kubevirt.io/v1"));
  const std::string_view url =
      json::get_string_or(*json::find(paths, "apis/clone.kubevirt.io/v1beta1"), "serverRelativeURL");
  const auto question = url.find('?');
  const auto document = discovery_document({.path = url.substr(0, question), .query = url.substr(question + 1)});
  ASSERT_TRUE(document);
  EXPECT_EQ(document->status, 200);
  EXPECT_TRUE(document->cache_control.contains("immutable"));
  EXPECT_TRUE(url.contains(std::string_view(document->etag).substr(1, document->etag.size() - 2)));
  const json::Document body = parsed(document->body);
  EXPECT_TRUE(json::find_path(body.root(), {"components", "schemas"}));

  const auto moved = discovery_document({.path = url.substr(0, question), .query = "hash=OLD"});
  EXPECT_EQ(moved->status, 301);
  EXPECT_EQ(moved->location, url);
  const auto plain = discovery_document({.path = url.substr(0, question)});
  EXPECT_FALSE(plain->cache_control.contains("immutable"));
}

// Reads any protobuf message: the values of each field, in order; numbers as their bytes in decimal.
std::multimap<std::uint64_t, std::string_view> fields_of(std::string_view bytes) {
  std::multimap<std::uint64_t, std::string_view> fields;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (!bytes.empty()) {
    const std::uint64_t key = varint();
    if ((key & 7) == 2) {
      const std::uint64_t size = varint();
      EXPECT_LE(size, bytes.size());
      fields.emplace(key >> 3, bytes.substr(0, size));
      bytes.remove_prefix(std::min<std::size_t>(size, bytes.size()));
    } else if ((key & 7) == 1) {
      fields.emplace(key >> 3, bytes.substr(0, 8));
      bytes.remove_prefix(8);
    } else {
      EXPECT_EQ(key & 7, 0u);
      const char* begin = bytes.data();
      varint();
      fields.emplace(key >> 3, std::string_view(begin, static_cast<std::size_t>(bytes.data() - begin)));
    }
  }
  return fields;
}

std::string_view field(std::string_view bytes, std::uint64_t number) {
  const auto fields = fields_of(bytes);
  const auto found = fields.find(number);
  return found == fields.end() ? std::string_view() : found->second;
}

// The value of the entry of this name among the entries in one field.
std::string_view entry(std::string_view bytes, std::uint64_t number, std::string_view name) {
  const auto fields = fields_of(bytes);
  for (auto [at, end] = fields.equal_range(number); at != end; ++at)
    if (field(at->second, 1) == name) return field(at->second, 2);
  return {};
}

TEST(OpenApiDocuments, ProtobufHoldsWhatKubectlReads) {
  const Value source =
      Value{{"swagger", "2.0"},
            {"info", {{"title", "t"}, {"version", "v"}}},
            {"paths",
             {{"/p/{name}",
               {{"patch",
                 {{"parameters",
                   {{{"name", "fieldValidation"}, {"in", "query"}, {"type", "string"}, {"uniqueItems", true}},
                    {{"name", "body"}, {"in", "body"}, {"schema", {{"type", "object"}}}}}},
                  {"responses", {{"200", {{"description", "OK"}, {"schema", {{"$ref", "#/definitions/T"}}}}}}},
                  {"x-kubernetes-group-version-kind", {{"kind", "T"}}}}},
                {"parameters", {{{"name", "name"}, {"in", "path"}, {"required", true}, {"type", "string"}}}}}}}},
            {"definitions",
             {{"T",
               {{"type", "object"},
                {"description", "d"},
                {"required", {"a", "b"}},
                {"properties",
                 {{"a", {{"type", "array"}, {"items", {{"$ref", "#/definitions/T"}}}}},
                  {"b", {{"type", "integer"}, {"minimum", 1}, {"maxLength", 300}, {"default", 5}}},
                  {"c", {{"additionalProperties", {{"type", "string"}}}}}}},
                {"x-kubernetes-group-version-kind", {{{"kind", "T"}}}}}}}}};
  const std::string bytes = openapi_v2_protobuf(source.as_object());
  EXPECT_EQ(field(bytes, 1), "2.0");
  EXPECT_EQ(field(field(bytes, 2), 1), "t");

  const std::string_view patch = field(entry(field(bytes, 8), 2, "/p/{name}"), 8);
  EXPECT_EQ(field(entry(patch, 13, "x-kubernetes-group-version-kind"), 2), R"({"kind":"T"})");
  const std::string_view query = field(field(field(field(field(patch, 8), 1), 2), 3), 4);
  EXPECT_EQ(query, "fieldValidation");
  EXPECT_EQ(field(field(field(field(entry(field(patch, 9), 1, "200"), 1), 2), 1), 1), "#/definitions/T");
  const std::string_view in_path = field(field(field(field(entry(field(bytes, 8), 2, "/p/{name}"), 9), 1), 2), 4);
  EXPECT_EQ(field(in_path, 4), "name");
  EXPECT_EQ(field(in_path, 1), "\x01");

  const std::string_view type = entry(field(bytes, 9), 1, "T");
  EXPECT_EQ(field(field(type, 22), 1), "object");
  EXPECT_EQ(field(type, 4), "d");
  EXPECT_EQ(fields_of(type).count(19), 2u);
  const std::string_view properties = field(type, 25);
  EXPECT_EQ(field(field(field(entry(properties, 1, "a"), 23), 1), 1), "#/definitions/T");
  EXPECT_EQ(field(entry(properties, 1, "b"), 11), "\xac\x02");
  EXPECT_EQ(field(entry(properties, 1, "b"), 9), std::string_view("\0\0\0\0\0\0\xf0\x3f", 8));
  EXPECT_EQ(field(field(entry(properties, 1, "b"), 5), 2), "5");
  EXPECT_EQ(field(field(field(field(entry(properties, 1, "c"), 21), 1), 22), 1), "string");
}

TEST(OpenApiDocuments, V2HasBothForms) {
  // kubectl up to 1.26 asks for this and takes nothing else.
  const auto binary =
      discovery_document("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "");
  ASSERT_TRUE(binary);
  EXPECT_EQ(binary->status, 200);
  EXPECT_EQ(binary->content_type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  EXPECT_EQ(field(binary->body, 1), "2.0");
  EXPECT_FALSE(entry(field(binary->body, 9), 1, "v1.VirtualMachine").empty());
  const auto text = discovery_document("/openapi/v2", "application/json", "");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->content_type, "application/json");
  EXPECT_TRUE(text->body.starts_with(R"({"swagger":"2.0")"));
  EXPECT_NE(text->etag, binary->etag);
  EXPECT_EQ(discovery_document("/openapi/v2", "application/json", text->etag)->status, 304);
}

}  // namespace
}  // namespace vg::resources
