#include "profile/stack_table.h"

#include <gmock/gmock.h>

#include <memory>
#include <numeric>
#include <thread>

namespace vg::profile {
namespace {

TEST(StackTable, CountsEachStack) {
  const auto table = std::make_unique<StackTable>();
  const std::vector<std::uintptr_t> one{1, 2, 3}, other{1, 2};
  table->add(one);
  table->add(other);
  table->add(one, 5);
  auto stacks = table->stacks();
  ASSERT_EQ(stacks.size(), 2U);
  if (stacks[0].addresses != one) std::swap(stacks[0], stacks[1]);
  EXPECT_EQ(stacks[0].addresses, one);
  EXPECT_EQ(stacks[0].count, 6U);
  EXPECT_EQ(stacks[1].addresses, other);
  EXPECT_EQ(stacks[1].count, 1U);
  EXPECT_EQ(table->lost(), 0U);
}

TEST(StackTable, CutsOffDeepStacksAndCountsWhatFindsNoRoom) {
  const auto table = std::make_unique<StackTable>();
  std::vector<std::uintptr_t> deep(StackTable::depth_max + 10);
  std::iota(deep.begin(), deep.end(), 1);
  table->add(deep);
  EXPECT_EQ(table->stacks().at(0).addresses.size(), StackTable::depth_max);
  constexpr std::size_t many = StackTable::slots * 3;
  for (std::uintptr_t i = 0; i < many; ++i) table->add(std::vector<std::uintptr_t>{i});
  std::uint64_t counted = table->lost();
  for (const auto& stack : table->stacks()) counted += stack.count;
  EXPECT_EQ(counted, many + 1);
  EXPECT_GT(table->lost(), 0U);
  EXPECT_LE(table->stacks().size(), StackTable::slots);
}

TEST(StackTable, LosesNothingAmongThreads) {
  const auto table = std::make_unique<StackTable>();
  constexpr int rounds = 2000, threads = 4;
  {
    std::vector<std::jthread> all;
    for (int thread = 0; thread < threads; ++thread)
      all.emplace_back([&] {
        for (std::uintptr_t i = 0; i < rounds; ++i) table->add(std::vector<std::uintptr_t>{i % 100, i % 7, 42});
      });
  }
  std::uint64_t counted = 0;
  for (const auto& stack : table->stacks()) {
    counted += stack.count;
    ASSERT_EQ(stack.addresses.size(), 3U);
    EXPECT_EQ(stack.addresses[2], 42U);
  }
  EXPECT_EQ(counted, static_cast<std::uint64_t>(rounds) * threads);
}

}  // namespace
}  // namespace vg::profile
