#include "base/json_text.h"

#include <gtest/gtest.h>

namespace vg {
namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_cut(std::string_view text, std::size_t bytes_max) {
  std::string out = "x";
  append_json_string(out, text, bytes_max);
  return out.substr(1);
}

TEST(JsonText, EscapesWhatJsonForbids) {
  EXPECT_EQ(json(""), "\"\"");
  EXPECT_EQ(json("plain <&> text"), "\"plain <&> text\"");
  EXPECT_EQ(json("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
  EXPECT_EQ(json("\n\r\t\b\f"), "\"\\n\\r\\t\\b\\f\"");
  EXPECT_EQ(json(std::string_view("\0\x01\x1f\x7f", 4)), "\"\\u0000\\u0001\\u001f\x7f\"");
}

TEST(JsonText, KeepsUtf8) {
  EXPECT_EQ(json("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

TEST(JsonText, ReplacesInvalidBytes) {
  const std::string bad = "\xEF\xBF\xBD";
  const struct {
    std::string_view text;
    std::size_t replaced;
  } cases[] = {
      {"\x80", 1},              // continuation without a start
      {"\xC3", 1},              // truncated
      {"\xC0\xAF", 2},          // overlong, two bytes
      {"\xE0\x80\xAF", 3},      // overlong, three bytes
      {"\xF0\x80\x80\xAF", 4},  // overlong, four bytes
      {"\xED\xA0\x80", 3},      // surrogate half
      {"\xF4\x90\x80\x80", 4},  // above the last code point
      {"\xF8\x88", 2},          // no such start byte
      {"\xFF", 1},
  };
  for (const auto& c : cases) {
    std::string expected = "\"a";
    for (std::size_t i = 0; i < c.replaced; ++i) expected += bad;
    expected += "z\"";
    EXPECT_EQ(json("a" + std::string(c.text) + "z"), expected);
    EXPECT_EQ(utf8_sequence_length(c.text), 0u);
  }
}

TEST(JsonText, AcceptsTheEdgesOfUtf8) {
  EXPECT_EQ(utf8_sequence_length(""), 0u);
  EXPECT_EQ(utf8_sequence_length("\x7F"), 1u);
  EXPECT_EQ(utf8_sequence_length("\xC2\x80"), 2u);
  EXPECT_EQ(utf8_sequence_length("\xE0\xA0\x80"), 3u);
  EXPECT_EQ(utf8_sequence_length("\xED\x9F\xBF"), 3u);
  EXPECT_EQ(utf8_sequence_length("\xF0\x90\x80\x80"), 4u);
  EXPECT_EQ(utf8_sequence_length("\xF4\x8F\xBF\xBF"), 4u);
}

TEST(JsonText, CutsBetweenCharacters) {
  const std::string dots = "\xE2\x80\xA6";
  EXPECT_EQ(json_cut("12345678", 8), "\"12345678\"");
  EXPECT_EQ(json_cut("123456789", 8), "\"12345" + dots + "\"");
  EXPECT_EQ(json_cut("123456", 3), "\"" + dots + "\"");
  EXPECT_EQ(json_cut("1234\n\n\n", 8), "\"1234" + dots + "\"");
  EXPECT_EQ(json_cut("1234\n\n", 8), "\"1234\\n\\n\"");
  EXPECT_EQ(json_cut("1234\xE2\x82\xAC\xE2\x82\xAC", 10), "\"1234\xE2\x82\xAC\xE2\x82\xAC\"");
  EXPECT_EQ(json_cut("1234\xE2\x82\xAC\xE2\x82\xAC", 9), "\"1234" + dots + "\"");
}

TEST(JsonText, NeverExceedsItsBudgetNorBreaksTheString) {
  const std::string mixed = "ab\"\x01\xE2\x82\xAC\xFFz\n\xF0\x9F\x98\x80qrstuvw";
  const std::string whole = json(mixed);
  for (std::size_t budget = 3; budget <= whole.size(); ++budget) {
    const std::string cut = json_cut(mixed, budget);
    EXPECT_LE(cut.size(), budget + 2);
    if (budget >= whole.size() - 2) {
      EXPECT_EQ(cut, whole);
    } else {
      EXPECT_TRUE(cut.ends_with("\xE2\x80\xA6\""));
      // What stands before the ellipsis is a beginning of the full form.
      EXPECT_TRUE(whole.starts_with(cut.substr(0, cut.size() - 4))) << cut;
    }
  }
}

}  // namespace
}  // namespace vg
