#include "objects/write_lines.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/background.h"
#include "base/task.h"
#include "server/testing/fake_exchange.h"

namespace vg::resources {
namespace {

using Names = std::vector<std::string>;

struct WriteLinesTest : ::testing::Test {
  server::testing::FakeCore core;
  WriteLines lines{3};
  Names went;  // who came to the front, in order
  std::optional<WriteLines::Front> held;

  Task<void> write(std::string who, std::string key = "k") {
    auto front = co_await lines.enter(core, key, who);
    went.push_back(front ? who : who + " refused");
  }
  Task<void> hold(std::string key = "k") {
    auto front = co_await lines.enter(core, std::move(key), "holder");
    held.emplace(std::move(*front));
  }
};

TEST_F(WriteLinesTest, OneAtATimeAndUsersInTurn) {
  EXPECT_FALSE(lines.any());
  const Background first(hold());
  EXPECT_TRUE(lines.any() && lines.has("k") && !lines.has("other"));
  std::vector<Background> all;
  for (const char* who : {"many", "many", "few"}) all.emplace_back(write(who));
  core.run_posted();
  EXPECT_EQ(went, Names());
  all.emplace_back(write("else", "other"));  // an object of its own
  EXPECT_EQ(went, Names{"else"});
  held.reset();
  core.run_posted();
  EXPECT_EQ(went, (Names{"else", "many", "few", "many"}));
  EXPECT_FALSE(lines.any());
}

TEST_F(WriteLinesTest, ALineIsBounded) {
  const Background first(hold());
  std::vector<Background> all;
  for (const char* who : {"a", "b", "c", "d"}) all.emplace_back(write(who));
  EXPECT_EQ(went, Names{"d refused"});
  held.reset();
  core.run_posted();
  EXPECT_EQ(went, (Names{"d refused", "a", "b", "c"}));
}

TEST_F(WriteLinesTest, WhoGoesAwayKeepsNobodyWaiting) {
  const Background first(hold());
  std::optional<Background> gone(write("gone")), called(write("called"));
  const Background last(write("last"));
  gone.reset();
  held.reset();    // calls the next one,
  called.reset();  // which goes away before it hears that
  core.run_posted();
  EXPECT_EQ(went, Names{"last"});
  EXPECT_FALSE(lines.any());
}

}  // namespace
}  // namespace vg::resources
