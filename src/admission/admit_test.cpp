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
    return admit(*find_webhook(path), *review, offline_environment(), document.storage());
  }
  std::string object() { return json::to_text(*json::find_path(document.root(), {"request", "object"})); }
};

TEST_F(AdmitTest, ReadsTheObjectInCanonicalForm) {
  auto verdict = ask("/virtualmachinesnapshots-validate", R"({"operation":"CREATE",
      "resource":{"group":"snapshot.kubevirt.io","resource":"virtualmachinesnapshots"},
      "object":{"Spec":{"SOURCE":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"x"},"unknown":1}}})");
  EXPECT_TRUE(verdict.allowed);
  EXPECT_THAT(verdict.patch, IsEmpty());
  EXPECT_THAT(object(), HasSubstr(R"("spec":{"source":{"apiGroup":"kubevirt.io")"));
  EXPECT_THAT(object(), ::testing::Not(HasSubstr("unknown")));
}

TEST_F(AdmitTest, RefusesAnObjectThatCannotBeRead) {
  auto verdict = ask("/virtualmachinesnapshots-validate", R"({"operation":"CREATE",
      "resource":{"group":"snapshot.kubevirt.io","resource":"virtualmachinesnapshots"},
      "object":{"spec":{"source":"x"}}})");
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.refusal().code, 400);
  EXPECT_EQ(verdict.refusal().reason, "");
  EXPECT_THAT(verdict.refusal().message, HasSubstr("spec.source"));
}

TEST_F(AdmitTest, TellsTheSchemaBeforeOrAfterTheResourceAsUpstreamDoes) {
  const char* request = R"({"operation":"CREATE","object":{"spec":{"unknown":1}}})";
  EXPECT_EQ(ask("/virtualmachines-validate", request).refusal().code, 400);
  EXPECT_EQ(ask("/virtualmachineinstances-validate-create", request).refusal().code, 422);
}

TEST_F(AdmitTest, ChecksTheObjectAsItWasSentEvenWhereItIsDecodedFirst) {
  const auto verdict = ask("/migration-validate-create", R"({"operation":"CREATE",
      "resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachineinstancemigrations"},
      "object":{"spec":{"vmiName":"x","unknown":1}}})");
  EXPECT_EQ(verdict.refusal().code, 422);
  EXPECT_THAT(verdict.refusal().message, HasSubstr("unknown"));
}

TEST_F(AdmitTest, StatusReviewsKnowTheirKind) {
  EXPECT_EQ(ask("/status-validate", R"({"object":[]})").refusal().code, 400);
  EXPECT_EQ(ask("/status-validate", R"({"object":{"status":{}}})").refusal().code, 422);
  EXPECT_EQ(ask("/status-validate", R"({"object":{"kind":"VirtualMachine","status":{"ready":1}}})").refusal().code,
            422);
  EXPECT_TRUE(ask("/status-validate", R"({"object":{"kind":"VirtualMachine","status":{"ready":true}}})").allowed);
}

TEST_F(AdmitTest, GatesHoldBackNewObjectsOnly) {
  const auto tracker = [&](std::string_view operation) {
    return ask("/virtualmachinebackuptrackers-validate",
               R"({"resource":{"group":"backup.kubevirt.io","resource":"virtualmachinebackuptrackers"},"operation":")" +
                   std::string(operation) + R"("})");
  };
  EXPECT_EQ(tracker("CREATE").refusal().code, 400);
  EXPECT_THAT(tracker("CREATE").refusal().message, HasSubstr("IncrementalBackup"));
  EXPECT_TRUE(tracker("UPDATE").allowed);
}

TEST_F(AdmitTest, EveryWebhookAnswersAnEmptyReview) {
  for (const Webhook& webhook : webhooks()) {
    const auto verdict = ask(webhook.path, "{}");
    if (!verdict.allowed) EXPECT_EQ(verdict.refusal().code, 400) << webhook.path;
    if (!verdict.allowed) EXPECT_THAT(verdict.refusal().message, ::testing::Not(IsEmpty())) << webhook.path;
  }
}

}  // namespace
}  // namespace vg::admission
