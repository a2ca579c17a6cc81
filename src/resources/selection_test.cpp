#include "resources/selection.h"

#include <gtest/gtest.h>

#include "json/document.h"
#include "objects/draft.h"

namespace vg::resources {
namespace {

bool takes(std::string_view key, std::string_view labels, std::string_view fields, std::string_view object) {
  const Resource& resource = *find_resource(key);
  auto selection = Selection::make(resource, *LabelSelector::parse(labels), *FieldSelector::parse(fields));
  EXPECT_TRUE(selection) << fields;
  const auto document = json::Document::parse(object);
  const auto draft = make_draft(document->root().get_object(), resource);
  return selection && selection->matches(*unstored_object({std::string(key), "default", "a"}, draft, 1));
}

TEST(Selection, AsksLabelsAndFields) {
  const char* pod = R"({"metadata":{"name":"a","labels":{"app":"web"}},"spec":{"nodeName":"n1"},"status":{}})";
  EXPECT_TRUE(takes("pods", "app=web", "spec.nodeName=n1", pod));
  EXPECT_FALSE(takes("pods", "app=db", "", pod));
  EXPECT_FALSE(takes("pods", "", "spec.nodeName=n2", pod));
  EXPECT_TRUE(takes("pods", "", "status.phase!=Running", pod));
  EXPECT_TRUE(takes("pods", "", "spec.hostNetwork=false", pod));
  EXPECT_TRUE(takes("pods", "", "metadata.name=a,metadata.namespace=default", pod));
  EXPECT_FALSE(takes("pods", "", "metadata.name!=a", pod));
  EXPECT_TRUE(takes("nodes", "", "spec.unschedulable=true", R"({"spec":{"unschedulable":true}})"));
  EXPECT_TRUE(takes("secrets", "", "type=Opaque", R"({"type":"Opaque"})"));
  EXPECT_TRUE(
      takes("events", "", "involvedObject.kind=Pod,reason=x", R"({"involvedObject":{"kind":"Pod"},"reason":"x"})"));
}

TEST(Selection, AnEventComesFromItsComponentOrItsReporter) {
  EXPECT_TRUE(takes("events", "", "source=x", R"({"source":{"component":"x"},"reportingComponent":"y"})"));
  EXPECT_TRUE(takes("events", "", "source=y", R"({"reportingComponent":"y"})"));
}

TEST(Selection, RefusesFieldsThatAKindDoesNotOffer) {
  const auto refused = [](std::string_view key, std::string_view fields) {
    const auto selection = Selection::make(*find_resource(key), {}, *FieldSelector::parse(fields));
    return !selection && selection.error().code == 400;
  };
  EXPECT_TRUE(refused("kubevirt.io/virtualmachines", "spec.runStrategy=Halted"));
  EXPECT_TRUE(refused("pods", "spec.nope=1"));
  EXPECT_FALSE(refused("pods", "status.phase=Running"));
  EXPECT_FALSE(refused("pods", "status.podIPs="));
  // Who has no namespace does not always know that there are any.
  EXPECT_TRUE(refused("migrations.kubevirt.io/migrationpolicies", "metadata.namespace=a"));
  EXPECT_TRUE(refused("nodes", "metadata.namespace=a"));
  EXPECT_FALSE(refused("namespaces", "metadata.namespace=a"));
}

}  // namespace
}  // namespace vg::resources
