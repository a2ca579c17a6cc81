#include "controllers/common/selectors.h"

#include <gtest/gtest.h>

#include "controllers/testing.h"

namespace vg::controllers {
namespace {

std::optional<LabelSelector> selector(std::string_view text) {
  const auto parsed = json::Document::parse(text);
  return read_selector(parsed->root().get_object());
}

TEST(Selectors, ReadBothForms) {
  EXPECT_EQ(selector(R"({"matchLabels":{"b":"2","a":"1"}})")->to_string(), "a=1,b=2");
  EXPECT_EQ(selector(R"({"matchExpressions":[{"key":"a","operator":"In","values":["s","r"]}]})")->to_string(),
            "a in (r,s)");
  EXPECT_TRUE(selector("{}")->empty());
  EXPECT_FALSE(selector(R"({"matchExpressions":[{"key":"a","operator":"?"}]})"));
  EXPECT_FALSE(selector(R"({"matchLabels":{"no key!":"1"}})"));
}

TEST(Selectors, ChooseObjects) {
  TestWorld world;
  for (const std::string_view name : {"a", "b"})
    world.put(kinds::vmi,
              fmt::format(R"({{"metadata":{{"namespace":"n","name":"{}","labels":{{"name":"{}","all":"1"}}}}}})", name,
                          name));
  world.put(kinds::vmi, R"({"metadata":{"namespace":"n","name":"bare"}})");
  EXPECT_EQ(select(world, kinds::vmi, "n", *selector(R"({"matchLabels":{"all":"1"}})")).size(), 2U);
  EXPECT_EQ(select(world, kinds::vmi, "n", *selector(R"({"matchLabels":{"all":"1","name":"a"}})")).size(), 1U);
  EXPECT_EQ(
      select(world, kinds::vmi, "n", *selector(R"({"matchExpressions":[{"key":"name","operator":"DoesNotExist"}]})"))
          .size(),
      1U);
  EXPECT_EQ(select(world, kinds::vmi, "other", *selector(R"({"matchLabels":{"all":"1"}})")).size(), 0U);
}

}  // namespace
}  // namespace vg::controllers
