#include "admission/admit.h"

#include <gmock/gmock.h>

#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::admission {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct AdmitTest : ::testing::Test {
  json::Document document;
  Verdict ask(std::string_view path, std::string_view request) {
    auto parsed = json::Document::parse(R"({"request":)" + std::string(request) + "}");
    EXPECT_TRUE(parsed) << request;
    document = std::move(*parsed);
    auto review = read_review(document.root());
    EXPECT_TRUE(review) << request;
    return admit(*find_webhook(path), *review, document.storage());
  }
  std::string object() { return json::to_text(*json::find_path(document.root(), {"request", "object"})); }
};

TEST_F(AdmitTest, ReadsTheObjectInCanonicalForm) {
  auto verdict =
      ask("/virtualmachines-validate",
          R"({"operation":"CREATE","object":{"Spec":{"RUNNING":true,"unknown":1},"kind":"VirtualMachine"}})");
  EXPECT_TRUE(verdict.allowed);
  EXPECT_THAT(verdict.patch, IsEmpty());
  EXPECT_THAT(object(), HasSubstr(R"("spec":{"running":true)"));
  EXPECT_THAT(object(), ::testing::Not(HasSubstr("unknown")));
}

TEST_F(AdmitTest, RefusesAnObjectThatCannotBeRead) {
  auto verdict = ask("/virtualmachines-validate", R"({"operation":"CREATE","object":{"spec":{"running":"yes"}}})");
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.refusal.code, 400);
  EXPECT_EQ(verdict.refusal.reason, "");
  EXPECT_THAT(verdict.refusal.message, HasSubstr("spec.running"));
}

TEST_F(AdmitTest, TheResourceDecidesWhatAStatusReviewIsAbout) {
  const char* object = R"("object":{"spec":{"replicas":"many"}}})";
  EXPECT_FALSE(
      ask("/status-validate", std::string(R"({"resource":{"resource":"virtualmachineinstancereplicasets"},)") + object)
          .allowed);
  EXPECT_TRUE(ask("/status-validate", std::string(R"({"resource":{"resource":"virtualmachines"},)") + object).allowed);
  EXPECT_TRUE(ask("/status-validate", std::string(R"({"resource":{"resource":"somethingelse"},)") + object).allowed);
}

TEST_F(AdmitTest, WithoutAnObjectThereIsNothingToRead) {
  for (const Webhook& webhook : webhooks()) EXPECT_TRUE(ask(webhook.path, "{}").allowed) << webhook.path;
}

}  // namespace
}  // namespace vg::admission
