#include "admission/webhook_steps.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

#include "admission/rule.h"
#include "admission/webhook.h"

namespace vg::admission {
namespace {

TEST(WebhookStepsTest, AStepHasWhatItNeeds) {
  for (const Webhook& webhook : webhooks()) {
    const auto has = [&](Step step) { return std::ranges::find(webhook.steps, step) != webhook.steps.end(); };
    EXPECT_EQ(has(Step::gate), webhook.gate.has_value()) << webhook.path;
    EXPECT_EQ(has(Step::schema), !webhook.schema.empty()) << webhook.path;
    EXPECT_EQ(has(Step::defaults), webhook.mutating()) << webhook.path;
    if (webhook.rules) EXPECT_TRUE(has(Step::rules)) << webhook.path;
    if (has(Step::living)) EXPECT_TRUE(has(Step::decode)) << webhook.path;
  }
}

// Who is asked again goes on at the first look-up, with what was done before.
TEST(WebhookStepsTest, NothingIsReadBehindTheFirstLookUp) {
  for (const Webhook& webhook : webhooks()) {
    const auto first = std::ranges::find_if(webhook.steps, looks_up);
    EXPECT_TRUE(std::all_of(first, webhook.steps.end(), looks_up)) << webhook.path;
  }
}

TEST(WebhookStepsTest, RulesHaveIdsOfTheirOwnAndSayWhatMustHold) {
  std::set<std::span<const Rule>::pointer> tables;
  std::set<std::string_view> ids;
  for (const Webhook& webhook : webhooks()) {
    if (!webhook.rules || !tables.insert(webhook.rules().data()).second) continue;
    for (const Rule& rule : webhook.rules()) {
      if (rule.behind) continue;  // stands for rules that are asked elsewhere too
      EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " occurs twice";
      EXPECT_FALSE(rule.holds.empty()) << rule.id;
      EXPECT_NE(rule.check, nullptr) << rule.id;
    }
  }
}

}  // namespace
}  // namespace vg::admission
