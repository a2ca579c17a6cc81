#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "admission/admit.h"
#include "json/document.h"

namespace vg::admission {
namespace {

Verdict asked(std::string_view spec) {
  const std::string text = R"({"request":{"uid":"1","operation":"UPDATE","resource":{"group":"plugin.kubevirt.io",)"
                           R"("version":"v1alpha1","resource":"plugins"},"object":{"metadata":{"name":"p"},"spec":)" +
                           std::string(spec) + "}}}";
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  const auto review = read_review(document->root());
  EXPECT_TRUE(review);
  return admit(*find_webhook("/plugin-validate"), *review, offline_environment(), document->storage());
}

TEST(PluginTest, AllCausesAreToldInTheirOrderWithoutACode) {
  const Verdict verdict = asked(R"({"condition":"1 +","domainHooks":[
      {"cel":{"expression":"domain"},"condition":"vmi.Name"},{"sidecar":{"socketPath":""}}],
      "nodeHooks":[{"condition":"vmi.Name"}]})");
  ASSERT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.refusal().code, 0);
  EXPECT_EQ(verdict.refusal().reason, "Invalid");
  std::vector<std::string> fields;
  for (const StatusCause& cause : verdict.refusal().details.causes) fields.push_back(cause.field);
  EXPECT_THAT(fields, ::testing::ElementsAre("spec.condition", "spec.domainHooks[0].cel.expression",
                                             "spec.domainHooks[0].condition", "spec.nodeHooks[0].condition",
                                             "spec.domainHooks[1].sidecar.socketPath"));
  EXPECT_EQ(verdict.refusal().message, "spec.condition: " + verdict.refusal().details.causes[0].message);
}

TEST(PluginTest, EmptyExpressionsAreNone) {
  EXPECT_TRUE(asked(R"({"condition":"","domainHooks":[{"cel":{"expression":""},"condition":""}],
      "nodeHooks":[{"condition":""}]})")
                  .allowed);
}

}  // namespace
}  // namespace vg::admission
