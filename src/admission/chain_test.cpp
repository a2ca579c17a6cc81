#include "admission/chain.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

namespace vg::admission {
namespace {

TEST(ChainTest, EveryWebhookHasItsChain) {
  ASSERT_EQ(chains().size(), webhooks().size());
  for (std::size_t i = 0; i < chains().size(); ++i) EXPECT_EQ(chains()[i].path, webhooks()[i].path);
}

TEST(ChainTest, AStepHasWhatItNeeds) {
  for (const Chain& chain : chains()) {
    const auto has = [&](Step step) { return std::ranges::find(chain.steps, step) != chain.steps.end(); };
    EXPECT_EQ(has(Step::gate), chain.gate.has_value()) << chain.path;
    EXPECT_EQ(has(Step::schema), !chain.schema.empty()) << chain.path;
    EXPECT_EQ(has(Step::defaults), chain.mutate != nullptr) << chain.path;
    if (chain.rules) EXPECT_TRUE(has(Step::rules)) << chain.path;
    if (has(Step::living)) EXPECT_TRUE(has(Step::decode)) << chain.path;
  }
}

TEST(ChainTest, RulesHaveIdsOfTheirOwnAndSayWhatMustHold) {
  std::set<std::span<const Rule>::pointer> tables;
  std::set<std::string_view> ids;
  for (const Chain& chain : chains()) {
    if (!chain.rules || !tables.insert(chain.rules().data()).second) continue;
    for (const Rule& rule : chain.rules()) {
      if (rule.behind) continue;  // stands for rules that are asked elsewhere too
      EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " occurs twice";
      EXPECT_FALSE(rule.holds.empty()) << rule.id;
      EXPECT_NE(rule.check, nullptr) << rule.id;
    }
  }
}

}  // namespace
}  // namespace vg::admission
