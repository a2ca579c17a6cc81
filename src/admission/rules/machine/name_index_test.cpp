#include "admission/rules/machine/name_index.h"

#include <gtest/gtest.h>

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

TEST(NameIndexTest, NothingIsFoundInNothing) {
  const NameIndex index{api::List<Network>()};
  EXPECT_FALSE(index.contains(""));
  EXPECT_FALSE(index.last("a"));
  EXPECT_EQ(index.distinct(), 0u);
}

}  // namespace
}  // namespace vg::admission
