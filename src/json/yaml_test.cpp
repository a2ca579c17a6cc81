#include "json/yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "json/arena.h"
#include "json/write.h"

namespace vg::json {
namespace {

using ::testing::ElementsAre;

std::string read(std::string_view text) {
  json::Arena arena;
  const auto value = parse_yaml(text, arena.storage());
  return value ? json::to_text(*value) : std::to_string(value.error().code);
}

TEST(Yaml, BecomesTheJsonThatKubernetesMakesOfIt) {
  EXPECT_EQ(read("a: 1\nb: [x, 'y', \"z\"]\nc: {d: null, e: ~, f: }\n"),
            R"({"a":1,"b":["x","y","z"],"c":{"d":null,"e":null,"f":null}})");
  EXPECT_EQ(read("- yes\n- no\n- on\n- OFF\n- true\n- 'true'\n"), R"([true,false,true,false,true,"true"])");
  EXPECT_EQ(read("- 0777\n- 0x1F\n- 0b11\n- 1_000\n- -5\n- 1.5\n- 1e3\n- .5\n- 128Mi\n- 1.2.3\n- '1'\n"),
            R"([511,31,3,1000,-5,1.5,1000,0.5,"128Mi","1.2.3","1"])");
  EXPECT_EQ(read("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(read("a: |\n  line\n  more\n"), R"({"a":"line\nmore\n"})");
  EXPECT_EQ(read("!!str 5"), R"("5")");
}

TEST(Yaml, AliasesAndMergeKeysExpand) {
  EXPECT_EQ(read("a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  m: 2\nd:\n  <<: [*x]\n  k: 3\n"),
            R"({"a":{"k":1},"b":{"k":1},"c":{"m":2,"k":1},"d":{"k":3}})");
  EXPECT_EQ(read("a: *nothing"), "400");
}

TEST(Yaml, ExpansionIsBounded) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{}: &a{} [", i, i);
    for (int k = 0; k < 10; ++k) bomb += fmt::format("{}*a{}", k ? "," : "", i - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(read(bomb), "400");
  EXPECT_EQ(read(std::string(5000, '[')), "400");
}

TEST(Yaml, RefusesWhatIsNoSingleDocument) {
  for (const char* text : {"", "a: [", "a: b: c", "---\na: 1\n---\nb: 2\n", "[a]: b", "\t- x", "a: \"\\q\""})
    EXPECT_EQ(read(text), "400") << text;
}

TEST(Yaml, ReportsDuplicates) {
  json::Arena arena;
  std::vector<std::string> duplicates;
  const auto value = parse_yaml("a: 1\nb: 2\na: 3\n", arena.storage(), &duplicates);
  ASSERT_TRUE(value);
  EXPECT_EQ(json::to_text(*value), R"({"a":3,"b":2})");
  EXPECT_THAT(duplicates, ElementsAre("a"));
}

TEST(Yaml, AnchorsInsideAnchorsCountAsCopies) {
  std::string text = "x: ";
  for (int i = 0; i < 100; ++i) text += "&a" + std::to_string(i) + " [";
  for (int i = 0; i < 50'000; ++i) text += "1,";
  text += std::string(100, ']');
  json::Arena arena;
  const auto refused = parse_yaml(text, arena.storage());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 400);
}

TEST(Yaml, ValuesAreBounded) {
  const auto list = [](std::size_t values, std::size_t levels) {
    std::string text = "x: " + std::string(levels, '[');
    for (std::size_t i = 0; i < values; ++i) text += "1,";
    return read(text + std::string(levels, ']'));
  };
  EXPECT_NE(list(100'000, 1), "400");
  EXPECT_EQ(list(130'000, 1), "400");
  // Below many brackets each value costs more.
  EXPECT_NE(list(20'000, 100), "400");
  EXPECT_EQ(list(60'000, 100), "400");
}

TEST(Yaml, ThatIsJsonIsBoundedAsJson) {
  const auto object = [](std::size_t values) {
    std::string text = R"({"x":[1)";
    for (std::size_t i = 0; i < values; ++i) text += ",1";
    return read(text + "]}");
  };
  EXPECT_TRUE(object(200'000).starts_with("{"));
  EXPECT_EQ(object(260'000), "413");
}

}  // namespace
}  // namespace vg::json
