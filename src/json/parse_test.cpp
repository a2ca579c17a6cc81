#include "json/parse.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>

#include "json/arena.h"
#include "json/document.h"
#include "json/member_order.h"
#include "json/write.h"

namespace vg::json {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Value parsed(std::string_view text) {
  auto result = parse(text, {});
  EXPECT_TRUE(result) << text << ": " << result.error().message;
  return result ? std::move(*result) : Value("refused");
}

std::string refused(std::string_view text, const ParseOptions& options = {}) {
  auto result = parse(text, {}, options);
  EXPECT_FALSE(result) << text;
  if (result) return {};
  EXPECT_EQ(result.error().code, 400);
  EXPECT_EQ(result.error().reason, "BadRequest");
  return result.error().message;
}

std::vector<std::string> duplicates(std::string_view text) {
  std::vector<std::string> found;
  EXPECT_TRUE(parse(text, {}, {.duplicate_fields = &found})) << text;
  return found;
}

TEST(Parse, ReadsEveryKind) {
  const Value root = parsed("  {\"a\":[1,-2,1.5,true,false,null,\"x\"],\"b\":{}}\r\n\t ");
  EXPECT_EQ(to_text(root), R"({"a":[1,-2,1.5,true,false,null,"x"],"b":{}})");
}

TEST(Parse, IntegersKeepTheirExactType) {
  EXPECT_EQ(parsed("9223372036854775807").as_int64(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parsed("-9223372036854775808").as_int64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parsed("9223372036854775808").as_uint64(), 9223372036854775808u);
  EXPECT_EQ(parsed("18446744073709551615").as_uint64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parsed("18446744073709551616").as_double(), 18446744073709551616.0);
  EXPECT_EQ(parsed("-9223372036854775809").as_double(), -9223372036854775809.0);
  EXPECT_EQ(parsed("-0").as_int64(), 0);
}

TEST(Parse, DecimalsAreCorrectlyRounded) {
  EXPECT_EQ(parsed("0.1").as_double(), 0.1);
  EXPECT_EQ(parsed("1.7976931348623157e308").as_double(), std::numeric_limits<double>::max());
  EXPECT_EQ(parsed("5e-324").as_double(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(parsed("7.2057594037927933e16").as_double(), 7.2057594037927933e16);
  EXPECT_EQ(parsed("9007199254740993.0").as_double(), 9007199254740992.0);
  EXPECT_EQ(parsed("0.500000000000000166533453693773481063544750213623046875").as_double(), 0x1.0000000000002p-1);
  EXPECT_EQ(parsed("123456789.987654321e-5").as_double(), 123456789.987654321e-5);
  EXPECT_EQ(parsed("1e3").as_double(), 1000.0);
}

TEST(Parse, NumbersOutOfRange) {
  EXPECT_THAT(refused("[1e400]"), HasSubstr("out of range"));
  EXPECT_THAT(refused("-1e400"), HasSubstr("out of range"));
  EXPECT_THAT(refused("1e99999999999"), HasSubstr("out of range"));
  EXPECT_THAT(refused(std::string(400, '9')), HasSubstr("out of range"));
  EXPECT_EQ(parsed("1e-400").as_double(), 0.0);
  EXPECT_TRUE(std::signbit(parsed("-1e-400").as_double()));
  EXPECT_EQ(parsed("0e400").as_double(), 0.0);
}

TEST(Parse, RefusesWhatIsNotStrictJson) {
  for (const char* text :
       {"{\"a\":1,}", "[1,]",      "[1 2]", "{a:1}", "{'a':1}",  "// x\n1", "1 /* x */", "01",       "+1",
        ".5",         "1.",        "1e",    "NaN",   "Infinity", "-",       "tru",       "\"\x01\"", "\"a\nb\"",
        "\"\\x\"",    "\"\\u12\"", "\"",    "[",     "{\"a\"}",  "]",       "{\"a\":}"}) {
    EXPECT_FALSE(parse(text, {})) << text;
  }
}

TEST(Parse, SaysWhereAndWhat) {
  EXPECT_EQ(refused("{\n  \"a\": 1,\n  }"), "not valid JSON at line 3, column 3: unexpected '}'");
  EXPECT_EQ(refused("{\"\u00e9\": x}"), "not valid JSON at line 1, column 7: unexpected 'x'");
  EXPECT_EQ(refused("{} {}"), "not valid JSON at line 1, column 4: unexpected data after the end of the document");
  EXPECT_EQ(refused("[1"), "not valid JSON at line 1, column 3: the document ends too early");
  EXPECT_THAT(refused(""), HasSubstr("the document is empty"));
  EXPECT_THAT(refused(" \n "), HasSubstr("the document is empty"));
  EXPECT_THAT(refused("\xEF\xBB\xBF{}"), HasSubstr("byte order mark"));
  EXPECT_THAT(refused("\"a\nb\""), HasSubstr("control character 0x0a"));
  EXPECT_THAT(refused("\"\\u12x4 56789\""), HasSubstr("hexadecimal"));
}

TEST(Parse, BoundsDepthAndSize) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse(nested(limits::json_depth_max), {}));
  EXPECT_THAT(refused(nested(limits::json_depth_max + 1)), HasSubstr("deeper than 128"));
  EXPECT_TRUE(parse("[[1]]", {}, {.depth_max = 2}));
  EXPECT_THAT(refused("[[{}]]", {.depth_max = 2}), HasSubstr("deeper than 2"));

  const auto too_long = parse("[1,2]", {}, {.bytes_max = 4});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, 413);
}

TEST(Parse, ReadsEscapes) {
  EXPECT_EQ(parsed(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00")").as_string(), "\"\\/\b\f\n\r\tA\u00e9\U0001F600");
  EXPECT_EQ(parsed(R"({"k\u0065y":1})").as_object().begin()->key(), "key");
  // Longer than any buffer inside the parser, with an escape at the start.
  const std::string filler(10'000, 'x');
  EXPECT_EQ(parsed("\"\\n" + filler + "\\n\u00e9\"").as_string(), "\n" + filler + "\n\u00e9");
}

TEST(Parse, RepairsWhatIsNoUnicodeAsGoDoes) {
  EXPECT_EQ(parsed("\"a\xFF\xC3z\"").as_string(), "a\uFFFD\uFFFDz");
  EXPECT_EQ(parsed("\"\xE2\x82\"").as_string(), "\uFFFD\uFFFD");
  EXPECT_EQ(parsed("\"\xED\xA0\x80\"").as_string(), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(parsed(R"("\ud800")").as_string(), "\uFFFD");
  EXPECT_EQ(parsed(R"("\udc00x\ud800\u0041\ud83d\ude00")").as_string(), "\uFFFDx\uFFFDA\U0001F600");
  EXPECT_EQ(parsed("{\"\xFF\":1}").as_object().begin()->key(), "\uFFFD");
  EXPECT_EQ(parsed("\"\\\\ud800 \xC3\"").as_string(), "\\ud800 \uFFFD");
}

TEST(Parse, RepairDoesNotHideOtherErrors) {
  EXPECT_EQ(refused("[\"\xFF\xFF\", x]"), "not valid JSON at line 1, column 8: unexpected 'x'");
  EXPECT_THAT(refused("\xFF"), HasSubstr("unexpected"));
  EXPECT_THAT(refused("\"\xFF"), HasSubstr("ends too early"));
  EXPECT_THAT(refused("\"\xFF\\"), HasSubstr("ends too early"));
  EXPECT_FALSE(parse("\"\\\xFF\"", {}));
}

TEST(Parse, TheLastDuplicateWins) {
  EXPECT_EQ(to_text(parsed(R"({"a":1,"b":2,"a":{"c":3}})")), R"({"a":{"c":3},"b":2})");
  std::string many = "{";
  for (int i = 0; i < 200; ++i) many += "\"k" + std::to_string(i % 100) + "\":" + std::to_string(i) + ",";
  many.back() = '}';
  const Value root = parsed(many);
  EXPECT_EQ(root.as_object().size(), 100u);
  EXPECT_EQ(root.at("k7").as_int64(), 107);
}

TEST(Parse, NamesDuplicates) {
  EXPECT_THAT(duplicates(R"({"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]})"), IsEmpty());
  EXPECT_THAT(duplicates(R"({"a":1,"a":2})"), ElementsAre("a"));
  EXPECT_THAT(duplicates(R"({"spec":{"template":{"x":1,"y":2,"x":3,"x":4}}})"), ElementsAre("spec.template.x"));
  EXPECT_THAT(duplicates(R"({"spec":{"disks":[{"name":"a"},[],{"n":1,"\u006e":2}]},"s":"","s":1})"),
              ElementsAre("spec.disks[2].n", "s"));
  EXPECT_THAT(duplicates(R"([1,"x",{"a":1,"a":1}])"), ElementsAre("[2].a"));
  // Inside a subtree that a later duplicate throws away, and in a text that needed repair.
  EXPECT_THAT(duplicates(R"({"a":{"x":1,"x":1},"a":2})"), ElementsAre("a.x", "a"));
  EXPECT_THAT(duplicates("{\"\xFF\":1,\"\xFF\":2}"), ElementsAre("\uFFFD"));
}

TEST(Parse, BoundsTheListOfDuplicates) {
  std::string many = "{";
  for (int i = 0; i < 1000; ++i) many += "\"k" + std::to_string(i / 2) + "\":0,";
  many.back() = '}';
  EXPECT_EQ(duplicates(many).size(), ParseOptions::duplicates_max);
}

TEST(Arena, ValuesStayInOneArenaAndResetReusesIt) {
  Arena arena(4096);
  const void* first = nullptr;
  for (int round = 0; round < 100; ++round) {
    auto value =
        parse(R"({"list":["a string that is too long to be stored inside the value itself"]})", arena.storage());
    ASSERT_TRUE(value);
    const Value root = std::move(*value);
    EXPECT_EQ(*root.storage(), *arena.storage());
    EXPECT_EQ(*root.at("list").storage(), *arena.storage());
    const void* place = root.at("list").at(0).as_string().data();
    if (round == 0) first = place;
    EXPECT_EQ(place, first);
    arena.reset();
  }
}

TEST(Arena, OutgrowingItManyTimesDoesNotInflateIt) {
  // With a block size that doubles at every overflow the 64th round would ask for more memory than exists.
  Arena arena(1024);
  const std::string text = "\"" + std::string(3000, 'x') + "\"";
  for (int round = 0; round < 64; ++round) {
    ASSERT_TRUE(parse(text, arena.storage()));
    arena.reset();
  }
}

TEST(Document, OwnsItsMemoryAndMoves) {
  auto result = Document::parse(R"({"a":["long enough to need memory outside of the value"]})");
  ASSERT_TRUE(result);
  Document document = std::move(*result);
  Document other;
  EXPECT_TRUE(other.root().is_null());
  other = std::move(document);
  EXPECT_EQ(*other.root().at("a").storage(), *other.storage());
  other.root().as_object()["b"] = Value({1, 2}, other.storage());
  EXPECT_EQ(to_text(other.root()), R"({"a":["long enough to need memory outside of the value"],"b":[1,2]})");
  EXPECT_FALSE(Document::parse("{"));
}

TEST(Parse, SaysWhereRepeatedMembersStand) {
  EXPECT_THAT(repeated_member_places(R"({"a":1,"b":{"c":1},"a":2,"d":1,"b":{"c":1,"c":2}})"), ElementsAre(3, 4, 5));
  EXPECT_THAT(repeated_member_places(R"({"a":1})"), IsEmpty());
  EXPECT_THAT(repeated_member_places("{"), IsEmpty());
  Document document = Document::parse(R"({"a":[{"b":1},{"b":1}],"c":{}})").value();
  EXPECT_EQ(count_members(document.root()), 4U);
}

// One long name above many duplicates: written out for each of them this would be a hundred gigabytes.
TEST(Parse, DuplicatesBelowOneLongNameAreNamedOnceAndShort) {
  const std::string name(1'000'000, 'x');
  std::string text = "{\"" + name + "\":{";
  for (int i = 0; i < 100'000; ++i) text += "\"a\":1,";
  for (int i = 0; i < 20'000; ++i) text += fmt::format("\"{0}\":1,\"{0}\":1,", i);
  text += "\"a\":1}}";
  Arena arena;
  std::vector<std::string> duplicates;
  const std::clock_t began = std::clock();  // CPU time: a busy machine is no defect
  ASSERT_TRUE(parse(text, arena.storage(), {.duplicate_fields = &duplicates}));
  EXPECT_LT(std::clock() - began, 5 * CLOCKS_PER_SEC);
  EXPECT_EQ(duplicates.size(), ParseOptions::duplicates_max);
  EXPECT_EQ(duplicates.front(), name.substr(0, 256) + "....a");
}

TEST(ParseTest, ValuesOfRequestsAreCounted) {
  const auto code = [](std::string_view text, std::size_t values_max) {
    const auto read = Document::parse(text, {.values_max = values_max});
    return read ? 200 : read.error().code;
  };
  EXPECT_EQ(code(R"({"a":[1,2,{"b":null}]})", 5), 200);
  EXPECT_EQ(code(R"({"a":[1,2,{"b":null}]})", 4), 413);
  EXPECT_EQ(code("[1,2,3]", 2), 413);
  EXPECT_EQ(code("[1,2,", 9), 400);
}

}  // namespace
}  // namespace vg::json
