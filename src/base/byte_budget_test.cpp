#include "base/byte_budget.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace vg {
namespace {

using Rule = ByteBudget::Rule;

TEST(ByteBudget, AllTogetherHaveALimit) {
  ByteBudget budget({.total_bytes = 100, .share_bytes = 100});
  ByteBudget::Charge first, second;
  EXPECT_TRUE(first.resize(budget, budget.of_user("a"), 60));
  EXPECT_FALSE(second.could_be(budget, budget.of_user("b"), 41));
  EXPECT_FALSE(second.resize(budget, budget.of_user("b"), 41));
  EXPECT_EQ(second.bytes(), 0u);
  EXPECT_EQ(budget.used_bytes(), 60u) << "a refusal leaves no trace";
  EXPECT_EQ(budget.used_bytes(budget.of_user("b")), 0u);
  EXPECT_TRUE(second.resize(budget, budget.of_user("b"), 40));
  EXPECT_TRUE(first.resize(budget, budget.of_user("a"), 0));
  EXPECT_TRUE(second.resize(budget, budget.of_user("b"), 100));
}

TEST(ByteBudget, EachHasAShare) {
  ByteBudget budget({.total_bytes = 100, .share_bytes = 30});
  const auto jane = budget.of_user("jane");
  ByteBudget::Charge first, second, other;
  EXPECT_TRUE(first.resize(budget, jane, 20));
  EXPECT_FALSE(second.resize(budget, jane, 11));
  EXPECT_EQ(budget.used_bytes(), 20u);
  EXPECT_TRUE(second.resize(budget, jane, 10));
  EXPECT_TRUE(other.resize(budget, budget.of_user("joe"), 30)) << "one user's share is no other one's";
  EXPECT_EQ(budget.used_bytes(jane), 30u);
}

TEST(ByteBudget, NobodyHasNoShare) {
  ByteBudget budget({.total_bytes = 100, .share_bytes = 30});
  ByteBudget::Charge first, second;
  EXPECT_TRUE(first.resize(budget, ByteBudget::nobody, 50));
  EXPECT_TRUE(second.resize(budget, ByteBudget::nobody, 50));
  EXPECT_FALSE(second.resize(budget, ByteBudget::nobody, 51));
}

TEST(ByteBudget, WhatIsLargerThanAShareIsServedAlone) {
  ByteBudget budget({.total_bytes = 100, .share_bytes = 30});
  const auto jane = budget.of_user("jane");
  ByteBudget::Charge large, small, huge;
  EXPECT_TRUE(small.resize(budget, jane, 1));
  EXPECT_FALSE(large.resize(budget, jane, 50)) << "not beside another one";
  EXPECT_TRUE(small.resize(budget, jane, 0));
  EXPECT_TRUE(large.resize(budget, jane, 50));
  EXPECT_TRUE(large.resize(budget, jane, 60)) << "its own bytes are not somebody else's";
  EXPECT_FALSE(huge.resize(budget, budget.of_user("joe"), 101));
  EXPECT_TRUE(large.resize(budget, jane, 0));
  EXPECT_TRUE(huge.resize(budget, budget.of_user("joe"), 101)) << "nobody else holds anything";
}

TEST(ByteBudget, WhatMustBeIsCounted) {
  ByteBudget budget({.total_bytes = 100, .share_bytes = 30});
  const auto jane = budget.of_user("jane");
  ByteBudget::Charge first, second;
  EXPECT_TRUE(first.resize(budget, jane, 30));
  EXPECT_TRUE(second.resize(budget, jane, 200, Rule::must));
  EXPECT_EQ(budget.used_bytes(), 230u);
  EXPECT_FALSE(first.resize(budget, jane, 31));
}

TEST(ByteBudget, WhoHoldsTheirShareIsOverdrawn) {
  ByteBudget budget({.total_bytes = 100, .share_bytes = 30});
  const auto jane = budget.of_user("jane"), joe = budget.of_user("joe");
  ByteBudget::Charge first, second, third;
  EXPECT_FALSE(budget.overdrawn(jane));
  EXPECT_TRUE(first.resize(budget, jane, 29));
  EXPECT_FALSE(budget.overdrawn(jane));
  EXPECT_TRUE(second.resize(budget, jane, 20, Rule::must));
  EXPECT_TRUE(budget.overdrawn(jane));
  EXPECT_FALSE(budget.overdrawn(joe));
  EXPECT_FALSE(budget.overdrawn(ByteBudget::nobody));
  EXPECT_TRUE(third.resize(budget, ByteBudget::nobody, 51));
  EXPECT_FALSE(budget.overdrawn(joe)) << "what others hold is theirs";
  EXPECT_FALSE(budget.overdrawn(ByteBudget::nobody));
}

TEST(ByteBudget, AChargeMovesToWhoeverAnswersForIt) {
  ByteBudget budget({.total_bytes = 100, .share_bytes = 30});
  const auto source = budget.of_source(7);
  const auto jane = budget.of_user("jane");
  {
    ByteBudget::Charge charge;
    charge.move_to(jane);
    EXPECT_TRUE(charge.resize(budget, source, 20));
    EXPECT_EQ(budget.used_bytes(source), 20u);
    charge.move_to(jane);
    EXPECT_EQ(budget.used_bytes(source), 0u);
    EXPECT_EQ(budget.used_bytes(jane), 20u);
    EXPECT_EQ(budget.used_bytes(), 20u);
  }
  EXPECT_EQ(budget.used_bytes(), 0u) << "the end of a charge gives it back";
  EXPECT_EQ(budget.used_bytes(jane), 0u);
}

TEST(ByteBudget, TellsNamesApart) {
  ByteBudget budget;
  std::vector<ByteBudget::Account> accounts;
  for (const char* name :
       {"", "a", "b", "aaaaaaaa", "aaaaaaaab", "aaaaaaaaaaaaaaaa", "system:serviceaccount:default:x"})
    accounts.push_back(budget.of_user(name));
  for (const std::uint64_t source : {0, 1, 2}) accounts.push_back(budget.of_source(source));
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    EXPECT_NE(accounts[i], ByteBudget::nobody);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(accounts[i], accounts[j]) << i << " " << j;
  }
  EXPECT_EQ(budget.of_user("a"), accounts[1]);
}

TEST(ByteBudget, IsKeptFromManyThreads) {
  ByteBudget budget({.total_bytes = 1000, .share_bytes = 400});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&budget, thread] {
      const auto account = budget.of_user("user" + std::to_string(thread % 2));
      for (int i = 0; i < 20000; ++i) {
        ByteBudget::Charge charge;
        charge.resize(budget, account, 100);
        charge.resize(budget, account, 300);
        if (i % 3 == 0) charge.move_to(budget.of_source(1));
        charge.resize(budget, account, 50);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(budget.used_bytes(), 0u);
  EXPECT_EQ(budget.used_bytes(budget.of_user("user0")), 0u);
  EXPECT_EQ(budget.used_bytes(budget.of_source(1)), 0u);
}

}  // namespace
}  // namespace vg
