#include "json/write.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "json/document.h"

namespace vg::json {
namespace {

std::string text_of(double number) { return to_text(Value(number)); }
std::string text_of(std::string_view string, const WriteOptions& options = {}) {
  return to_text(Value(boost::json::string_view(string)), options);
}

TEST(Write, EmptyAndNested) {
  const char* text = R"({"a":[],"b":{},"c":[[1],{"d":null}],"e":[true,false]})";
  EXPECT_EQ(to_text(Document::parse(text)->root()), text);
}

TEST(Write, AppendsToWhatIsThere) {
  std::string out = "data: ";
  write(Value(1), out);
  write(Object{{"a", 2}}, out);
  write(Array{3, 4}, out);
  write_string("x\"", out);
  EXPECT_EQ(out, R"(data: 1{"a":2}[3,4]"x\"")");
}

TEST(Write, Integers) {
  EXPECT_EQ(to_text(Value(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(to_text(Value(std::numeric_limits<std::uint64_t>::max())), "18446744073709551615");
  EXPECT_EQ(to_text(Value(0)), "0");
}

TEST(Write, DoublesAsGoPrintsThem) {
  EXPECT_EQ(text_of(1.5), "1.5");
  EXPECT_EQ(text_of(-1.5), "-1.5");
  EXPECT_EQ(text_of(0.0), "0");
  EXPECT_EQ(text_of(-0.0), "-0");
  EXPECT_EQ(text_of(1.0), "1");
  EXPECT_EQ(text_of(1000.0), "1000");
  EXPECT_EQ(text_of(0.1), "0.1");
  EXPECT_EQ(text_of(123.456), "123.456");
  EXPECT_EQ(text_of(1e-6), "0.000001");
  EXPECT_EQ(text_of(1.25e-6), "0.00000125");
  EXPECT_EQ(text_of(1e-7), "1e-7");
  EXPECT_EQ(text_of(1.5e-9), "1.5e-9");
  EXPECT_EQ(text_of(9.5e-10), "9.5e-10");
  EXPECT_EQ(text_of(1e20), "100000000000000000000");
  EXPECT_EQ(text_of(123456789012345683968.0), "123456789012345680000");
  EXPECT_EQ(text_of(1e21), "1e+21");
  EXPECT_EQ(text_of(-1.5e300), "-1.5e+300");
  EXPECT_EQ(text_of(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(text_of(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(text_of(2.2250738585072014e-308), "2.2250738585072014e-308");
  EXPECT_EQ(text_of(0.30000000000000004), "0.30000000000000004");
  EXPECT_EQ(text_of(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(text_of(std::nan("")), "null");
}

TEST(Write, StringsAsGoPrintsThem) {
  EXPECT_EQ(text_of("plain"), "\"plain\"");
  EXPECT_EQ(text_of(""), "\"\"");
  EXPECT_EQ(text_of("\"\\/\b\f\n\r\t"), R"("\"\\/\b\f\n\r\t")");
  EXPECT_EQ(text_of(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(text_of("\u00e9\u4e2d\U0001F600"), "\"\u00e9\u4e2d\U0001F600\"");
  EXPECT_EQ(text_of("\u2028\u2029\u2030"), "\"\\u2028\\u2029\u2030\"");
  EXPECT_EQ(text_of("a\xFF\xE2\x82z"), "\"a\\ufffd\\ufffd\\ufffdz\"");
  EXPECT_EQ(text_of("<a>&b"), "\"<a>&b\"");
  EXPECT_EQ(text_of("<a>&b", {.escape_html = true}), R"("\u003ca\u003e\u0026b")");
}

TEST(Write, FindsASpecialByteAtEveryPlace) {
  for (std::size_t length = 1; length <= 40; ++length) {
    for (std::size_t place = 0; place < length; ++place) {
      for (const char* special : {"\"", "\\", "\n", "\x1f", "\xFF"}) {
        std::string text(length, 'x');
        text[place] = *special;
        std::string expected;
        write_string(special, expected);
        const std::string escape = expected.substr(1, expected.size() - 2);
        EXPECT_EQ(text_of(text), "\"" + std::string(place, 'x') + escape + std::string(length - place - 1, 'x') + "\"");
      }
      std::string text(length, '~');
      text[place] = '&';
      EXPECT_EQ(text_of(text), "\"" + text + "\"");
      EXPECT_NE(text_of(text, {.escape_html = true}), "\"" + text + "\"");
    }
  }
}

TEST(Write, GrowsForLongTexts) {
  const std::string text(100'000, '\n');
  std::string expected = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) expected += "\\n";
  EXPECT_EQ(text_of(text), expected + "\"");
}

TEST(Write, SortsKeysOnRequest) {
  const Document document = *Document::parse(R"({"b":1,"a":{"d":1,"c":2},"B":3,"aa":4,"":5,"é":6})");
  EXPECT_EQ(to_text(document.root()), R"({"b":1,"a":{"d":1,"c":2},"B":3,"aa":4,"":5,"é":6})");
  EXPECT_EQ(to_text(document.root(), {.sort_keys = true}), R"({"":5,"B":3,"a":{"c":2,"d":1},"aa":4,"b":1,"é":6})");
}

TEST(Write, SizeHintCoversPlainText) {
  const Document document = *Document::parse(R"({"kind":"Pod","spec":{"list":["a","b"],"n":12,"t":true,"x":null}})");
  const std::size_t size = to_text(document.root()).size();
  EXPECT_GE(size_hint(document.root()), size);
  EXPECT_LE(size_hint(document.root()), 2 * size);
}

TEST(Write, OneShortTextTakesLittle) {
  // Notes about fields keep one for each element of a list.
  EXPECT_LE(to_text(Value("a/1")).capacity(), 15U);
  EXPECT_LE(to_text(Value(-65535)).capacity(), 15U);
}

}  // namespace
}  // namespace vg::json
