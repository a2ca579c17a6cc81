#include "api/openapi.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <string>

#include "api/crd.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::Value;

void expect_references_resolve(const Value& value, std::string_view prefix, const Object& definitions) {
  if (const Array* array = value.if_array()) {
    for (const Value& element : *array) expect_references_resolve(element, prefix, definitions);
  }
  const Object* object = value.if_object();
  if (!object) return;
  const Value* ref = object->if_contains("$ref");
  if (ref && ref->is_string()) {
    const std::string_view target = ref->as_string();
    ASSERT_TRUE(target.starts_with(prefix)) << target;
    EXPECT_TRUE(definitions.contains(target.substr(prefix.size()))) << target;
  }
  for (const auto& member : *object) expect_references_resolve(member.value(), prefix, definitions);
}

bool has_parameter(const Value& operation, std::string_view name) {
  for (const Value& parameter : operation.at("parameters").as_array()) {
    if (parameter.at("name").as_string() == name) return true;
  }
  return false;
}

TEST(OpenApi, TheV3DocumentOfAGroupIsWhole) {
  const Value document = openapi_v3_document("kubevirt.io", "v1", "virtgate", "v0");
  const Object& schemas = document.at("components").at("schemas").as_object();
  expect_references_resolve(document, "#/components/schemas/", schemas);
  const Array& marks = schemas.at("v1.VirtualMachine").at("x-kubernetes-group-version-kind").as_array();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0], Value({{"group", "kubevirt.io"}, {"version", "v1"}, {"kind", "VirtualMachine"}}));
  // kubectl asks here whether dry runs and field validation are known.
  const Value& item = document.at("paths").at("/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}");
  EXPECT_TRUE(has_parameter(item.at("patch"), "dryRun"));
  EXPECT_TRUE(has_parameter(item.at("patch"), "fieldValidation"));
  EXPECT_EQ(item.at("patch").at("x-kubernetes-group-version-kind"), marks[0]);
  EXPECT_TRUE(document.at("paths").as_object().contains(
      "/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}/status"));
}

TEST(OpenApi, AVersionThatNobodyHasGivesNoDocument) {
  EXPECT_TRUE(openapi_v3_document("kubevirt.io", "v9", "virtgate", "v0").empty());
  EXPECT_TRUE(openapi_v3_document("example.com", "v1", "virtgate", "v0").empty());
}

TEST(OpenApi, TheV2DocumentHasEveryServedVersion) {
  const Value document = openapi_v2_document("virtgate", "v0");
  const Object& definitions = document.at("definitions").as_object();
  expect_references_resolve(document, "#/definitions/", definitions);
  EXPECT_EQ(definitions.at("v1.VirtualMachine").at("x-kubernetes-group-version-kind").as_array().size(), 2u);
  EXPECT_TRUE(document.at("paths").as_object().contains("/apis/kubevirt.io/v1alpha3/virtualmachines"));
}

TEST(OpenApi, ServedDefinitionsShowOurWordsAndTheLimitsOfTheCrd) {
  const Value document = openapi_v3_document("kubevirt.io", "v1", "virtgate", "v0");
  const Object& schemas = document.at("components").at("schemas").as_object();
  EXPECT_TRUE(schemas.at("v1.Disk").as_object().contains("description"));
  EXPECT_TRUE(schemas.at("v1.Disk").at("properties").at("name").as_object().contains("description"));
  EXPECT_EQ(schemas.at("v1.DomainSpec").at("properties").at("rebootPolicy").at("enum").as_array().size(), 2u);
  // Nothing may stand beside a reference in v3.
  const Object& spec = schemas.at("v1.VirtualMachine").at("properties").at("spec").as_object();
  EXPECT_FALSE(spec.contains("$ref"));
  EXPECT_EQ(spec.at("allOf").as_array().size(), 1u);
}

TEST(OpenApi, ATypeThatContainsItselfIsNoProblem) {
  const Type* root = find_type("kubevirt.ObjectGraphNode");
  ASSERT_NE(root, nullptr);
  const std::array<const Type*, 1> roots{root};
  const Object definitions = openapi_definitions(OpenApiVersion::v2, OpenApiFlavour::upstream, roots);
  expect_references_resolve(Value(definitions), "#/definitions/", definitions);
}

TEST(Crd, IsWrittenInOurWords) {
  const Kind* kind = find_kind("kubevirt.io", "v1", "VirtualMachineInstance");
  ASSERT_NE(kind, nullptr);
  const Value manifest(custom_resource_definition(*kind));
  EXPECT_EQ(manifest.at("metadata").at("name").as_string(), "virtualmachineinstances.kubevirt.io");
  const Value& old = manifest.at("spec").at("versions").as_array().at(1);
  EXPECT_EQ(old.at("name").as_string(), "v1alpha3");
  EXPECT_FALSE(old.at("deprecationWarning").as_string().empty());
}

// A real API server refuses a definition that describes it.
TEST(Crd, OfMetadataOnlyTheTypeIsSaid) {
  for (const Kind& kind : kinds()) {
    if (!kind.custom) continue;
    const Object definition = custom_resource_definition(kind);
    for (const Value& version : definition.at("spec").at("versions").as_array())
      EXPECT_EQ(version.at("schema").at("openAPIV3Schema").at("properties").at("metadata"),
                Value(Object({{"type", "object"}})))
          << kind.kind;
  }
}

TEST(Crd, EveryCustomKindCanBeWritten) {
  for (const Kind& kind : kinds()) {
    if (kind.custom) {
      EXPECT_FALSE(custom_resource_definition(kind).empty());
    }
  }
}

}  // namespace
}  // namespace vg::api
