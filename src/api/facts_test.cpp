// Compares our description with the facts it was written from: every type and field, every CRD, every OpenAPI
// definition.
#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/crd.h"
#include "api/openapi.h"
#include "api/schema.h"
#include "base/test_files.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::Value;

class Facts : public testing::Test {
 protected:
  static Value read(std::string_view name) {
    std::ifstream file(test_files::source(name));
    std::stringstream text;
    text << file.rdbuf();
    boost::json::parse_options options;
    options.max_depth = 200;  // the CRD of a pool is nested deeper than the parser's default
    return boost::json::parse(text.str(), {}, options);
  }
};

// Words are ours, so they are not compared: descriptions (a property of that name is an object, not a string), the
// messages of rules, deprecation warnings.
void remove_words(Value& value) {
  if (Array* array = value.if_array()) {
    for (Value& element : *array) remove_words(element);
  }
  Object* object = value.if_object();
  if (!object) return;
  for (std::string_view name : {"description", "deprecationWarning"}) {
    if (const Value* words = object->if_contains(name); words && words->is_string()) object->erase(name);
  }
  if (Value* validations = object->if_contains("x-kubernetes-validations")) {
    for (Value& rule : validations->as_array()) rule.as_object().erase("message");
  }
  for (auto& member : *object) remove_words(member.value());
}

// An allOf with nothing beside it says no more than the reference in it; upstream has it where it has a description.
void open_references(Value& value) {
  if (Array* array = value.if_array()) {
    for (Value& element : *array) open_references(element);
  }
  Object* object = value.if_object();
  if (!object) return;
  for (auto& member : *object) open_references(member.value());
  const Value* all = object->if_contains("allOf");
  if (all && object->size() == 1 && all->as_array().size() == 1) value = Value(all->as_array()[0]);
}

Value without_words(Object object) {
  Value value(std::move(object));
  remove_words(value);
  return value;
}

// Both texts of the first place where two values differ, or nothing.
std::string difference(const Value& ours, const Value& theirs, const std::string& path) {
  if (ours == theirs) return {};
  const Object* a = ours.if_object();
  const Object* b = theirs.if_object();
  if (a && b) {
    for (const auto& member : *a) {
      const std::string here = path + "/" + std::string(member.key());
      const Value* other = b->if_contains(member.key());
      if (!other) return here + ": only ours has " + boost::json::serialize(member.value());
      if (std::string found = difference(member.value(), *other, here); !found.empty()) return found;
    }
    for (const auto& member : *b) {
      if (!a->contains(member.key())) {
        return path + "/" + std::string(member.key()) + ": ours lacks " + boost::json::serialize(member.value());
      }
    }
  }
  const Array* c = ours.if_array();
  const Array* d = theirs.if_array();
  for (std::size_t i = 0; c && d && c->size() == d->size() && i < c->size(); ++i) {
    if (std::string found = difference((*c)[i], (*d)[i], path + "/" + std::to_string(i)); !found.empty()) return found;
  }
  return path + ": ours is " + boost::json::serialize(ours) + ", theirs " + boost::json::serialize(theirs);
}

// A node in the notation of types.json.
std::string go_type(const Node& node) {
  static const std::map<Shape, std::string> names{
      {Shape::string, "string"},
      {Shape::boolean, "bool"},
      {Shape::int_, "int"},
      {Shape::int32, "int32"},
      {Shape::int64, "int64"},
      {Shape::uint_, "uint"},
      {Shape::uint8, "uint8"},
      {Shape::uint32, "uint32"},
      {Shape::uint64, "uint64"},
      {Shape::float32, "float32"},
      {Shape::float64, "float64"},
      {Shape::bytes, "bytes"},
      {Shape::quantity, "k8s:api/resource.Quantity"},
      {Shape::time, "k8s:meta/v1.Time"},
      {Shape::micro_time, "k8s:meta/v1.MicroTime"},
      {Shape::duration, "k8s:meta/v1.Duration"},
      {Shape::int_or_string, "k8s:util/intstr.IntOrString"},
      {Shape::raw, "k8s:pkg/runtime.RawExtension"},
      {Shape::fields, "k8s:meta/v1.FieldsV1"},
  };
  std::string name;
  if (node.shape == Shape::list) {
    name = "[]" + go_type(*node.element);
  } else if (node.shape == Shape::map) {
    name = "map[string]" + go_type(*node.element);
  } else if (node.shape == Shape::structure) {
    name = node.type->go_name;
  } else {
    name = names.at(node.shape);
  }
  return (node.pointer ? "*" : "") + name;
}

// A type in the form of types.json: [name, type, omission] for each field, embedded structs as <inline>.
Array go_fields(const Type& type) {
  Array result;
  std::size_t next = 0;
  const auto add_until = [&](std::size_t end) {
    for (; next < end; ++next) {
      const Field& field = type.fields[next];
      result.push_back(
          Array{std::string(field.name), go_type(field), field.omission == Omission::always ? "always" : "omitempty"});
    }
  };
  for (const Embed& embed : type.embeds) {
    add_until(embed.first);
    result.push_back(Array{"<inline>", (embed.pointer ? "*" : "") + std::string(embed.type->go_name), "always"});
    next += embed.count;
  }
  add_until(type.fields.size());
  return result;
}

std::map<std::string, const Type*, std::less<>> types_by_go_name() {
  std::map<std::string, const Type*, std::less<>> result;
  for (const Type& type : types()) result.emplace(type.go_name, &type);
  return result;
}

TEST_F(Facts, EveryTypeHasEveryFieldInOrder) {
  const auto ours = types_by_go_name();
  std::size_t compared = 0;
  for (const auto& member : read("facts/types.json").as_object()) {
    if (!member.value().is_array()) continue;  // a value with a JSON form of its own: a shape, not a type
    const auto found = ours.find(std::string_view(member.key()));
    ASSERT_NE(found, ours.end()) << member.key();
    EXPECT_EQ(difference(go_fields(*found->second), member.value(), std::string(member.key())), "");
    ++compared;
  }
  EXPECT_GT(compared, 500u);
}

TEST_F(Facts, EveryCustomResourceDefinitionIsTheSame) {
  const Value facts = read("facts/crds.json");
  for (const auto& fact : facts.as_object()) {
    const std::string name(fact.key());
    const std::size_t dot = name.find('.');
    const Kind* kind = find_resource(name.substr(dot + 1), "", name.substr(0, dot));
    ASSERT_NE(kind, nullptr) << name;
    EXPECT_TRUE(kind->custom);
    const Object definition = custom_resource_definition(*kind);
    EXPECT_EQ(definition.at("metadata").at("name").as_string(), name);
    Object theirs = fact.value().as_object();
    // "same as v1" stands for the schema of that version.
    std::map<std::string, Value, std::less<>> schemas;
    for (Value& version : theirs.at("versions").as_array()) {
      const std::string version_name(version.at("name").as_string());
      Value& schema = version.at("schema");
      if (schema.is_string()) {
        schema = schemas.at(std::string(schema.as_string()).substr(std::string_view("same as ").size()));
      }
      schemas[version_name] = schema;
    }
    Object ours = definition.at("spec").as_object();
    ours.erase("conversion");
    EXPECT_EQ(difference(without_words(std::move(ours)), without_words(std::move(theirs)), name), "");
  }
}

// The definitions that facts/openapi.json has are those of these types and what they refer to.
std::vector<const Type*> openapi_roots(const Object& wanted) {
  std::vector<const Type*> roots;
  std::set<std::string_view> seen;
  for (const Type& type : types()) {
    if (wanted.contains(type.openapi_name) && seen.insert(type.openapi_name).second) roots.push_back(&type);
  }
  return roots;
}

TEST_F(Facts, EveryOpenApiDefinitionIsTheSame) {
  const Value facts = read("facts/openapi.json");
  const Object& theirs = facts.at("definitions").as_object();
  const Value ours =
      without_words(openapi_definitions(OpenApiVersion::v2, OpenApiFlavour::upstream, openapi_roots(theirs)));
  EXPECT_EQ(ours.as_object().size(), theirs.size());
  for (const auto& member : theirs) {
    const Value* found = ours.as_object().if_contains(member.key());
    ASSERT_NE(found, nullptr) << member.key();
    EXPECT_EQ(difference(*found, member.value(), std::string(member.key())), "");
  }
}

TEST_F(Facts, TypesThatShareADefinitionAgreeOnIt) {
  std::map<std::string_view, const Type*> first;
  for (const Type& type : types()) {
    const auto [entry, fresh] = first.emplace(type.openapi_name, &type);
    if (fresh) continue;
    const std::array<const Type*, 1> a{entry->second};
    const std::array<const Type*, 1> b{&type};
    EXPECT_EQ(
        difference(Value(openapi_definitions(OpenApiVersion::v2, OpenApiFlavour::upstream, a)),
                   Value(openapi_definitions(OpenApiVersion::v2, OpenApiFlavour::upstream, b)), std::string(type.name)),
        "");
  }
}

TEST_F(Facts, TheRecordedDocumentsHaveOurDefinitions) {
  const Value documents = read("tests/conformance/documents.json");
  const auto body = [&](std::string_view path) -> const Value& {
    return documents.at(path).at("front-proxy admin").at("body");
  };
  const Object& v2 = body("/openapi/v2").at("definitions").as_object();
  EXPECT_EQ(
      difference(without_words(openapi_definitions(OpenApiVersion::v2, OpenApiFlavour::upstream, openapi_roots(v2))),
                 v2, "v2"),
      "");
  Value v3 = body("/openapi/v3/apis/subresources.kubevirt.io/v1").at("components").at("schemas");
  Value ours =
      without_words(openapi_definitions(OpenApiVersion::v3, OpenApiFlavour::upstream, openapi_roots(v3.as_object())));
  open_references(v3);
  open_references(ours);
  EXPECT_EQ(difference(ours, v3, "v3"), "");
}

}  // namespace
}  // namespace vg::api
