#include "admission/webhook.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace vg::admission {
namespace {

TEST(WebhookTest, EveryPathStandsThereOnce) {
  std::set<std::string_view> paths;
  for (const Webhook& webhook : webhooks()) {
    EXPECT_TRUE(paths.insert(webhook.path).second) << webhook.path;
    EXPECT_TRUE(webhook.path.starts_with('/')) << webhook.path;
    EXPECT_FALSE(webhook.versions.empty()) << webhook.path;
    EXPECT_FALSE(webhook.subjects.empty()) << webhook.path;
    EXPECT_EQ(find_webhook(webhook.path), &webhook);
  }
  EXPECT_EQ(webhooks().size(), 27u);
  EXPECT_EQ(std::ranges::count(webhooks(), true, &Webhook::mutating), 5);
  EXPECT_EQ(find_webhook("/virtualmachines-validate/"), nullptr);
  EXPECT_EQ(find_webhook(""), nullptr);
}

TEST(WebhookTest, StatusValidationHasThreeSubjects) {
  const Webhook* status = find_webhook("/status-validate");
  ASSERT_TRUE(status);
  EXPECT_EQ(find_subject(*status, "virtualmachines")->kind, "VirtualMachine");
  EXPECT_EQ(find_subject(*status, "virtualmachineinstancemigrations")->kind, "VirtualMachineInstanceMigration");
  EXPECT_EQ(find_subject(*status, "pods"), nullptr);
  // With one subject the row decides; whether the resource is right is for the rules to say.
  EXPECT_EQ(find_subject(*find_webhook("/plugin-validate"), "pods")->kind, "Plugin");
}

}  // namespace
}  // namespace vg::admission
