#include "admission/rule.h"

#include <gmock/gmock.h>

#include "admission/store_lookups.h"
#include "base/limits.h"

namespace vg::admission {
namespace {

struct RuleTest : ::testing::Test {
  config::ConfigPtr config = config::ClusterConfig::defaults("amd64");
  NoLookups lookups;
  Context context{.config = *config,
                  .lookups = lookups,
                  .randomness = system_randomness(),
                  .own_namespace = "kubevirt",
                  .now = {},
                  .storage = {}};
  Review review;
  Verdict ask(std::span<const Rule> rules, std::string_view operation = "CREATE") {
    review.operation_name = operation;
    Causes causes;
    ask_rules(rules, {.context = context, .review = review, .webhook = webhooks()[0], .object = {}, .old_object = {}},
              causes);
    return causes.verdict();
  }
};

void first(const Case&, Causes& causes) {
  const Place root, spec = root.field("spec"), disks = spec.field("disks");
  causes.invalid(disks.item(2), "first");
}
void second(const Case&, Causes& causes) { causes.required("spec.b", "second"); }
void ends(const Case&, Causes& causes) { causes.error("it cannot be judged"); }
void allows(const Case&, Causes& causes) { causes.allow(); }
void warns(const Case&, Causes& causes) { causes.warn("careful"); }

TEST_F(RuleTest, CausesComeInTheOrderOfRows) {
  constexpr Rule rules[] = {{"A", "", "", first}, {"B", "", "", second}};
  const auto verdict = ask(rules);
  EXPECT_EQ(verdict.refusal().code, 422);
  EXPECT_EQ(verdict.refusal().message, "spec.disks[2]: Invalid value: first, spec.b: Required value: second");
  ASSERT_EQ(verdict.refusal().details.causes.size(), 2u);
  EXPECT_EQ(verdict.refusal().details.causes[0].field, "spec.disks[2]");
  EXPECT_EQ(verdict.refusal().details.causes[1].reason, "FieldValueRequired");
}

TEST_F(RuleTest, ARowMayBeTheLastOne) {
  constexpr Rule rules[] = {Rule{"A", "", "", first}.stops(), {"B", "", "", second}};
  EXPECT_EQ(ask(rules).refusal().message, "spec.disks[2]: Invalid value: first");
}

TEST_F(RuleTest, ARowMayBeForOneOperation) {
  constexpr Rule rules[] = {Rule{"A", "", "", first}.on(When::update), Rule{"B", "", "", second}.on(When::create)};
  EXPECT_EQ(ask(rules).refusal().message, "spec.b: Required value: second");
  EXPECT_EQ(ask(rules, "UPDATE").refusal().message, "spec.disks[2]: Invalid value: first");
  EXPECT_TRUE(ask(rules, "DELETE").allowed);
}

TEST_F(RuleTest, TheFirstEndCounts) {
  constexpr Rule rules[] = {{"A", "", "", first}, {"B", "", "", ends}, {"C", "", "", allows}};
  const auto verdict = ask(rules);
  EXPECT_EQ(verdict.refusal().code, 400);
  EXPECT_TRUE(verdict.refusal().details.causes.empty());
  constexpr Rule other[] = {{"A", "", "", allows}, {"B", "", "", ends}};
  EXPECT_TRUE(ask(other).allowed);
}

TEST(CausesTest, AreBounded) {
  Causes causes;
  for (std::size_t i = 0; i < 2 * limits::causes_max; ++i) causes.invalid("spec", "no");
  EXPECT_EQ(causes.size(), limits::causes_max);
}

TEST_F(RuleTest, OnlyThoseWhoAreAllowedAreWarned) {
  constexpr Rule good[] = {{"A", "", "", warns}};
  constexpr Rule bad[] = {{"A", "", "", warns}, {"B", "", "", first}};
  EXPECT_THAT(ask(good).warnings, ::testing::ElementsAre("careful"));
  EXPECT_TRUE(ask(bad).warnings.empty());
}

}  // namespace
}  // namespace vg::admission
