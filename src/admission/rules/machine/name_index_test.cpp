#include "admission/rules/machine/name_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/views/vmi_network.h"
#include "json/document.h"

namespace vg::admission {
namespace {

using api::kubevirt::Network;

TEST(NameIndexTest, FindsTheFirstAndTheLastOfAName) {
  const auto document = json::Document::parse(R"([{"name":"b"},{"name":"a"},{},{"name":"b"}])");
  const NameIndex index{api::List<Network>(&document->root())};
  EXPECT_EQ(index.first("b"), 0u);
  EXPECT_EQ(index.last("b"), 3u);
  EXPECT_EQ(index.first("a"), 1u);
  EXPECT_EQ(index.last("a"), 1u);
  EXPECT_EQ(index.first(""), 2u);
  EXPECT_FALSE(index.contains("c"));
  EXPECT_FALSE(index.last("c"));
  EXPECT_EQ(index.distinct(), 3u);
}

TEST(NameIndexTest, CountsWhatStandsBefore) {
  const auto document = json::Document::parse(R"([{"name":"b"},{"name":"a"},{},{"name":"b"}])");
  const NameIndex index{api::List<Network>(&document->root())};
  EXPECT_EQ(index.count_before("b", 0), 0u);
  EXPECT_EQ(index.count_before("b", 3), 1u);
  EXPECT_EQ(index.count_before("b", 4), 2u);
  EXPECT_EQ(index.count_before("c", 4), 0u);
}

TEST(NameIndexTest, LeavesOutWhatHasNoName) {
  const auto document = json::Document::parse(R"([{"name":"a"},{"name":"b","pod":{}}])");
  const NameIndex index{api::List<Network>(&document->root()), [](const Network& network) {
                          return network.pod() ? std::optional(network.name()) : std::nullopt;
                        }};
  EXPECT_FALSE(index.contains("a"));
  EXPECT_EQ(index.first("b"), 1u);
  EXPECT_EQ(index.distinct(), 1u);
}

// Long lists are kept in another way than short ones, and must answer alike.
TEST(NameIndexTest, ALongListAnswersLikeAWalkThroughIt) {
  constexpr std::size_t count = 1000, names = 300;
  json::Value list = json::Array();
  for (std::size_t i = 0; i < count; ++i) list.get_array().push_back({{"name", fmt::format("n{}", i * i % names)}});
  const NameIndex index{api::List<Network>(&list)};
  std::vector<std::vector<std::size_t>> places(names);
  for (std::size_t i = 0; i < count; ++i) places[i * i % names].push_back(i);
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < names; ++i) {
    const std::string name = fmt::format("n{}", i);
    ASSERT_EQ(index.contains(name), !places[i].empty()) << name;
    ASSERT_EQ(index.count_before(name, 500), std::ranges::count_if(places[i], [](auto at) { return at < 500; }));
    if (places[i].empty()) continue;
    ++distinct;
    ASSERT_EQ(index.first(name), places[i].front());
    ASSERT_EQ(index.last(name), places[i].back());
  }
  EXPECT_EQ(index.distinct(), distinct);
  EXPECT_FALSE(index.contains("n300"));
}

TEST(NameIndexTest, ALongListOfWhichAllIsLeftOut) {
  json::Value list = json::Array(100, json::Value{{"name", "a"}});
  const NameIndex index{api::List<Network>(&list),
                        [](const Network&) -> std::optional<std::string_view> { return std::nullopt; }};
  EXPECT_FALSE(index.contains("a"));
  EXPECT_FALSE(index.last("a"));
  EXPECT_EQ(index.count_before("a", 100), 0u);
}

TEST(NameIndexTest, NothingIsFoundInNothing) {
  const NameIndex index{api::List<Network>()};
  EXPECT_FALSE(index.contains(""));
  EXPECT_FALSE(index.last("a"));
  EXPECT_EQ(index.distinct(), 0u);
}

}  // namespace
}  // namespace vg::admission
