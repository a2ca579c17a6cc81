#include "http/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/background.h"
#include "base/manual_core.h"
#include "base/task.h"

namespace vg::http {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct StageTest : testing::Test {
  ManualCore core;
  Stage stage{core, 3};
  std::vector<int> passed;

  Task<void> pass(int number, int times = 1) {
    for (int i = 0; i < times; ++i) {
      co_await stage.meet();
      passed.push_back(number);
    }
  }
};

TEST_F(StageTest, ThoseWhoMeetGoOnTogetherInTheOrderTheyCame) {
  Background one(pass(1)), two(pass(2));
  EXPECT_THAT(passed, IsEmpty());
  ASSERT_EQ(core.posted(), 1u);
  core.run_one();
  EXPECT_THAT(passed, ElementsAre(1, 2));
  EXPECT_EQ(core.posted(), 0u);
}

TEST_F(StageTest, WhoComesBackWaitsForTheNextTime) {
  Background one(pass(1, 2)), two(pass(2));
  core.run_one();
  EXPECT_THAT(passed, ElementsAre(1, 2));
  ASSERT_EQ(core.posted(), 1u);
  core.run_one();
  EXPECT_THAT(passed, ElementsAre(1, 2, 1));
}

TEST_F(StageTest, OneTooManyTakesAllAlong) {
  Background one(pass(1)), two(pass(2)), three(pass(3));
  EXPECT_THAT(passed, IsEmpty());
  Background four(pass(4));
  EXPECT_THAT(passed, ElementsAre(1, 2, 3, 4));
  core.run_one();  // posted for the first, finds nobody
  EXPECT_EQ(passed.size(), 4u);
  Background five(pass(5));
  ASSERT_EQ(core.posted(), 1u);
  core.run_one();
  EXPECT_THAT(passed, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(StageTest, WhoIsThrownAwayIsNeitherResumedNorCounted) {
  std::optional<Background> one(std::in_place, pass(1));
  Background two(pass(2)), three(pass(3));
  one.reset();
  Background four(pass(4));  // the third that waits, so nobody is pushed on
  EXPECT_THAT(passed, IsEmpty());
  core.run_one();
  EXPECT_THAT(passed, ElementsAre(2, 3, 4));
}

TEST_F(StageTest, OneMayThrowAnotherAwayThatWasToGoOnWithIt) {
  std::optional<Background> victim;
  Background killer([](StageTest& test, std::optional<Background>& other) -> Task<void> {
    co_await test.stage.meet();
    other.reset();
    test.passed.push_back(1);
  }(*this, victim));
  victim.emplace(pass(2));
  Background last(pass(3));
  core.run_one();
  EXPECT_THAT(passed, ElementsAre(1, 3));
}

}  // namespace
}  // namespace vg::http
