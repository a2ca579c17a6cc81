#include "base/quantity.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/limits.h"

namespace vg {
namespace {

using Format = Quantity::Format;
constexpr Format si = Format::decimal_si;
constexpr Format bin = Format::binary_si;
constexpr Format exp = Format::decimal_exponent;
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();

Quantity q(std::string_view text) {
  auto parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error();
  return parsed.value_or(Quantity());
}

TEST(Quantity, ParsesAndPrints) {
  const struct {
    const char* text;
    const char* printed;
    std::int64_t value;
    Format format;
  } cases[] = {
      {"0", "0", 0, si},
      {"00", "0", 0, si},
      {"-0", "0", 0, si},
      {"+0", "0", 0, si},
      {"0.000", "0", 0, si},
      {"0m", "0", 0, si},
      {"0Ki", "0", 0, bin},
      {"0Pi", "0", 0, bin},
      {"0e3", "0", 0, exp},
      {"0e-100", "0", 0, exp},
      {"1", "1", 1, si},
      {"-1", "-1", -1, si},
      {"1000", "1k", 1000, si},
      {"999", "999", 999, si},
      {"1001", "1001", 1001, si},
      {"12345", "12345", 12345, si},
      {"100000", "100k", 100000, si},
      {"007k", "007k", 7000, si},
      {"007000", "7k", 7000, si},
      // fractions
      {".5", "500m", 1, si},
      {"0.5", "500m", 1, si},
      {"1.5", "1500m", 2, si},
      {"-1.5", "-1500m", -2, si},
      {"1.50", "1500m", 2, si},
      {"0.001", "1m", 1, si},
      {"0.0001", "100u", 1, si},
      {"5.", "5.", 5, si},
      {"10.0", "10", 10, si},
      {"1.G", "1.G", 1000000000, si},
      // every decimal suffix
      {"1n", "1n", 1, si},
      {"1u", "1u", 1, si},
      {"100m", "100m", 1, si},
      {"1000m", "1", 1, si},
      {"1500m", "1500m", 2, si},
      {"2000m", "2", 2, si},
      {"1k", "1k", 1000, si},
      {"1000k", "1M", 1000000, si},
      {"1.5M", "1500k", 1500000, si},
      {"3G", "3G", 3000000000, si},
      {"3T", "3T", 3000000000000, si},
      {"3P", "3P", 3000000000000000, si},
      {"1E", "1E", 1000000000000000000, si},
      {"0.25E", "250P", 250000000000000000, si},
      // every binary suffix
      {"1Ki", "1Ki", 1024, bin},
      {"1024Ki", "1Mi", 1048576, bin},
      {"1000Ki", "1000Ki", 1024000, bin},
      {"2Mi", "2Mi", 2097152, bin},
      {"1Gi", "1Gi", 1073741824, bin},
      {"0.5Gi", "512Mi", 536870912, bin},
      {"1.5Gi", "1536Mi", 1610612736, bin},
      {"-1.5Gi", "-1536Mi", -1610612736, bin},
      {"1Ti", "1Ti", 1099511627776, bin},
      {"1Pi", "1Pi", 1125899906842624, bin},
      {"7Ei", "7Ei", 8070450532247928832, bin},
      {"64Mi", "64Mi", 67108864, bin},
      // binary values too small, or too uneven, for a binary suffix
      {"0.5Ki", "512", 512, bin},
      {"0.1Ki", "102400m", 103, bin},
      {"1.1Ki", "1126400m", 1127, bin},
      {"0.0001Ki", "102400u", 1, si},
      {"1.0009765625Ki", "1025", 1025, bin},
      // exponents
      {"1e3", "1e3", 1000, exp},
      {"1E3", "1E3", 1000, exp},
      {"1e+3", "1e+3", 1000, exp},
      {"1e03", "1e03", 1000, exp},
      {"12e2", "1200", 1200, exp},
      {"1e4", "10e3", 10000, exp},
      {"1e-3", "1e-3", 1, exp},
      {"1e-1", "100e-3", 1, exp},
      {"1.5e3", "1500", 1500, exp},
      {"1e0", "1e0", 1, exp},
      // finer than nano rounds up, away from zero
      {"0.1n", "1n", 1, si},
      {"-0.1n", "-1n", -1, si},
      {"1.1n", "2n", 1, si},
      {"0.0001m", "100n", 1, si},
      {"0.0000001m", "1n", 1, si},
      {"1e-10", "1e-9", 1, exp},
      {"1e-1000", "1e-9", 1, exp},
      {"1e-9", "1e-9", 1, exp},
      // the edge of int64 and beyond
      {"9223372036854775807", "9223372036854775807", int64_max, si},
      {"9223372036854775808", "9223372036854775808", int64_max, si},
      {"-9223372036854775808", "-9223372036854775808", int64_min, si},
      {"-9223372036854775809", "-9223372036854775809", int64_min, si},
      {"123456789012345678901234567890", "123456789012345678901234567890", int64_max, si},
      {"9223372036854775.807k", "9223372036854775807", int64_max, si},
      {"10E", "10E", int64_max, si},
      {"1000E", "1000E", int64_max, si},
      {"1e21", "1e21", int64_max, exp},
      {"1e1000", "10e999", int64_max, exp},
      {"1000e1000", "10000e999", int64_max, exp},
      // binary values are capped
      {"8Ei", "9223372036854775807", int64_max, bin},
      {"1000000Ei", "9223372036854775807", int64_max, bin},
      {"-1000000Ei", "-9223372036854775807", -int64_max, bin},
      {"9223372036854775807Ki", "9223372036854775807", int64_max, bin},
      {"9223372036854775808Ki", "9223372036854775807", int64_max, bin},
      // upstream's scanner lets digits be missing
      {"Ki", "0", 0, bin},
      {"m", "0", 0, si},
      {"e3", "0", 0, exp},
      {".", "0", 0, si},
      {"-", "0", 0, si},
      {"+", "0", 0, si},
      {"-.", "0", 0, si},
      // spellings that upstream takes for canonical and keeps
      {"+1", "+1", 1, si},
      {"+1Ki", "+1Ki", 1024, bin},
      {"+8Ki", "8Ki", 8192, bin},
      {"1.500", "1.500", 2, si},
      {"1.000", "1", 1, si},
      {"0100m", "0100m", 1, si},
      {"-0100m", "-0100m", -1, si},
  };
  for (const auto& c : cases) {
    const Quantity quantity = q(c.text);
    EXPECT_EQ(quantity.to_string(), c.printed) << c.text;
    EXPECT_EQ(quantity.value(), c.value) << c.text;
    EXPECT_EQ(quantity.format(), c.format) << c.text;
    EXPECT_EQ(q(c.printed), quantity) << c.text;
  }
}

TEST(Quantity, RefusesTheRest) {
  const char* cases[] = {
      "",
      " 1",
      "1 ",
      "1.2.3",
      "1.1.M",
      "1+1.0M",
      "1i",
      "1ki",
      "1mi",
      "0.1am",
      "aoeu",
      ".5i",
      "1e",
      "1e+",
      "1e-",
      "1e+-3",
      "1e++3",
      "1e3.5",
      "1e3k",
      "1kk",
      "1k1",
      "--1",
      "+-1",
      "1-",
      "0x10",
      "1_000",
      "1,000",
      "1B",
      "1Zi",
      "1K",
      "1MiB",
      "e",
      "e-10",
      ".e-10",
      "1e1001",
      "1e-1001",
      "1e99999999999",
      "1e4294967296",
      "1e-2147483648",
      "1e2147483647",
      "NaN",
      "inf",
      "1\n",
      "\t1",
      "-Pi",
  };
  for (const char* text : cases) EXPECT_FALSE(Quantity::parse(text)) << text;
  EXPECT_FALSE(Quantity::parse(std::string_view("1\0", 2)));
}

TEST(Quantity, BoundsTextAndDigits) {
  EXPECT_TRUE(Quantity::parse(std::string(limits::quantity_digits_max, '9')));
  EXPECT_FALSE(Quantity::parse(std::string(limits::quantity_digits_max + 1, '9')));
  // Zeros around the digits cost nothing.
  EXPECT_TRUE(Quantity::parse("1" + std::string(limits::quantity_bytes_max - 1, '0')));
  EXPECT_TRUE(Quantity::parse("0." + std::string(limits::quantity_bytes_max - 3, '0') + "1"));
  EXPECT_FALSE(Quantity::parse(std::string(limits::quantity_bytes_max + 1, '0')));
  const Quantity longest = q(std::string(limits::quantity_digits_max - 1, '9') + ".9");
  EXPECT_EQ(q(longest.canonical()), longest);
}

TEST(Quantity, CanonicalFormIgnoresTheSpelling) {
  EXPECT_EQ(q("+1").canonical(), "1");
  EXPECT_EQ(q("1.500").canonical(), "1500m");
  EXPECT_EQ(q("1E3").canonical(), "1e3");
  EXPECT_EQ(q("+1Ki").canonical(), "1Ki");
}

TEST(Quantity, SpellingIsLostWithTheFirstChange) {
  EXPECT_EQ((q("1.500") + Quantity()).to_string(), "1500m");
  EXPECT_EQ((q("1.500") * 1).to_string(), "1500m");
  const Quantity copy = q("1.500");
  EXPECT_EQ(copy.to_string(), "1.500");
}

TEST(Quantity, ReadsJson) {
  EXPECT_EQ(Quantity::parse_json("  1Gi ")->to_string(), "1Gi");
  EXPECT_EQ(Quantity::parse_json("1e3")->to_string(), "1e3");
  EXPECT_FALSE(Quantity::parse_json(""));
  EXPECT_FALSE(Quantity::parse_json("   "));
  EXPECT_FALSE(Quantity::parse_json("1 Gi"));
  EXPECT_FALSE(Quantity::parse_json("\t1"));
  EXPECT_EQ(Quantity::from_double(1.5)->to_string(), "1500m");
  EXPECT_EQ(Quantity::from_double(0.1)->to_string(), "100m");
  EXPECT_EQ(Quantity::from_double(-2)->to_string(), "-2");
  EXPECT_EQ(*Quantity::from_double(1e30), q("1e30"));
  EXPECT_FALSE(Quantity::from_double(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(Quantity::from_double(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(Quantity::from_double(std::numeric_limits<double>::max()));
  EXPECT_EQ(*Quantity::from_double(std::numeric_limits<double>::denorm_min()), q("1n"));
}

TEST(Quantity, MadeFromIntegers) {
  EXPECT_EQ(Quantity::from_int(1024, bin).to_string(), "1Ki");
  EXPECT_EQ(Quantity::from_int(1023, bin).to_string(), "1023");
  EXPECT_EQ(Quantity::from_int(1024).to_string(), "1024");
  EXPECT_EQ(Quantity::from_int(5000, exp).to_string(), "5e3");
  EXPECT_EQ(Quantity::from_int(int64_min).to_string(), "-9223372036854775808");
  EXPECT_EQ(Quantity::from_int(int64_min, bin).to_string(), "-8Ei");
  EXPECT_EQ(Quantity::from_milli(1500).to_string(), "1500m");
  EXPECT_EQ(Quantity::from_milli(2000).to_string(), "2");
  EXPECT_EQ(Quantity::from_milli(2048000, bin).to_string(), "2Ki");
  EXPECT_EQ(Quantity().to_string(), "0");
}

TEST(Quantity, ScaledValuesRoundAwayFromZeroAndSaturate) {
  EXPECT_EQ(q("1.5").milli_value(), 1500);
  EXPECT_EQ(q("1n").milli_value(), 1);
  EXPECT_EQ(q("-1n").milli_value(), -1);
  EXPECT_EQ(q("1500m").scaled_value(-6), 1500000);
  EXPECT_EQ(q("1500").scaled_value(3), 2);
  EXPECT_EQ(q("-1500").scaled_value(3), -2);
  EXPECT_EQ(q("1Gi").scaled_value(6), 1074);
  EXPECT_EQ(q("1E").scaled_value(100), 1);
  EXPECT_EQ(q("1E").milli_value(), int64_max);
  EXPECT_EQ(q("-1E").milli_value(), int64_min);
  EXPECT_EQ(q("1e500").value(), int64_max);
  EXPECT_EQ(q("-1e500").value(), int64_min);
  EXPECT_EQ(q("12345678901234567890123").scaled_value(15), 12345679);
  EXPECT_EQ(q("-12345678901234567890123").scaled_value(15), -12345679);
  EXPECT_EQ(q("9223372036854775807.1").value(), int64_max);
  EXPECT_EQ(q("9223372036854775806.1").value(), int64_max);
  EXPECT_EQ(Quantity().scaled_value(-1000), 0);
}

TEST(Quantity, AsInt64IsUpstreamsFastConversion) {
  EXPECT_EQ(q("5").as_int64(), 5);
  EXPECT_EQ(q("0").as_int64(), 0);
  EXPECT_EQ(q("-3k").as_int64(), -3000);
  EXPECT_EQ(q("1Gi").as_int64(), 1073741824);
  EXPECT_EQ(q("99Ti").as_int64(), 108851651149824);
  EXPECT_EQ(q("9E").as_int64(), 9000000000000000000);
  EXPECT_EQ(q("10E").as_int64(), std::nullopt);
  EXPECT_EQ(q("1e100").as_int64(), std::nullopt);
  EXPECT_EQ(q("1.0").as_int64(), std::nullopt);
  EXPECT_EQ(q("1000m").as_int64(), std::nullopt);
  EXPECT_EQ(q("100Ti").as_int64(), std::nullopt);
  EXPECT_EQ(q("1Pi").as_int64(), std::nullopt);
  EXPECT_EQ(q("1.5Gi").as_int64(), std::nullopt);
  EXPECT_EQ(q("1000000000000000000").as_int64(), std::nullopt);
  EXPECT_EQ(q("999999999999999999").as_int64(), 999999999999999999);
}

TEST(Quantity, Compares) {
  const char* ascending[] = {"-1e1000",
                             "-123456789012345678901234567890",
                             "-10E",
                             "-1Ei",
                             "-1k",
                             "-1",
                             "-1m",
                             "-1n",
                             "0",
                             "1n",
                             "1u",
                             "1m",
                             "999m",
                             "1",
                             "1001m",
                             "1k",
                             "1Ki",
                             "1M",
                             "1Mi",
                             "1Ei",
                             "8Ei",
                             "10E",
                             "123456789012345678901234567890",
                             "1e30",
                             "1e999"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) {
      EXPECT_EQ(q(ascending[i]) <=> q(ascending[j]), i <=> j) << ascending[i] << " " << ascending[j];
    }
  }
  EXPECT_EQ(q("1"), q("1000m"));
  EXPECT_EQ(q("1Ki"), q("1024"));
  EXPECT_EQ(q("0"), q("0Ki"));
  EXPECT_EQ(q("1e3"), q("1k"));
  EXPECT_EQ(q("1e30"), q("1000000000000000000000000000000"));
  EXPECT_EQ(q("-1n").sign(), -1);
  EXPECT_EQ(q("0").sign(), 0);
  EXPECT_EQ(q("1e30").sign(), 1);
  EXPECT_TRUE(q("0.000").is_zero());
  EXPECT_FALSE(q("1n").is_zero());
}

TEST(Quantity, AddsAndSubtracts) {
  const struct {
    const char* left;
    const char* right;
    const char* sum;
    const char* difference;
  } cases[] = {
      {"1", "1", "2", "0"},
      {"1", "1m", "1001m", "999m"},
      {"1Gi", "1Gi", "2Gi", "0"},
      {"1Gi", "1", "1073741825", "1073741823"},
      {"1Gi", "1m", "1073741824001m", "1073741823999m"},
      {"0", "1Gi", "1Gi", "-1Gi"},  // zero takes the other's format
      {"0Ki", "1k", "1k", "-1k"},
      {"1k", "0Ki", "1k", "1k"},
      {"1k", "1Ki", "2024", "-24"},
      {"100m", "200m", "300m", "-100m"},
      {"1E", "1n", "1000000000000000000000000001n", "999999999999999999999999999n"},
      {"9223372036854775807", "1", "9223372036854775808", "9223372036854775806"},
      {"-9223372036854775808", "1", "-9223372036854775807", "-9223372036854775809"},
      {"9E", "9E", "18E", "0"},
      {"7Ei", "7Ei", "14Ei", "0"},
      {"1e30", "1", "1000000000000000000000000000001", "999999999999999999999999999999"},
      {"123456789012345678901", "123456789012345678901", "246913578024691357802", "0"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ((q(c.left) + q(c.right)).to_string(), c.sum) << c.left << " + " << c.right;
    EXPECT_EQ((q(c.left) - q(c.right)).to_string(), c.difference) << c.left << " - " << c.right;
    EXPECT_EQ(q(c.left) + q(c.right) - q(c.right), q(c.left));
  }
  EXPECT_EQ((q("0") + q("1Gi")).format(), bin);
  EXPECT_EQ((q("1") + q("1Gi")).format(), si);
  // What became wide comes back as a value, though not as a fast integer.
  const Quantity back = q("9223372036854775807") + q("1") - q("9223372036854775807");
  EXPECT_EQ(back.to_string(), "1");
  EXPECT_EQ(back.as_int64(), std::nullopt);
  EXPECT_EQ((q("1k") + q("1")).as_int64(), 1001);
  Quantity self = q("3");
  self += self;
  EXPECT_EQ(self.to_string(), "6");
  self = q("1e30");
  self -= self;
  EXPECT_TRUE(self.is_zero());
}

TEST(Quantity, Multiplies) {
  EXPECT_EQ((q("100m") * 3).to_string(), "300m");
  EXPECT_EQ((q("1Gi") * 4).to_string(), "4Gi");
  EXPECT_EQ((q("1Gi") * 0).to_string(), "0");
  EXPECT_EQ((q("1Gi") * -1).to_string(), "-1Gi");
  EXPECT_EQ((q("9223372036854775807") * 2).to_string(), "18446744073709551614");
  EXPECT_EQ((q("-9223372036854775808") * -1).to_string(), "9223372036854775808");
  EXPECT_EQ((q("1Ei") * 1024).to_string(), "1024Ei");
  EXPECT_EQ((q("123456789012345678901") * int64_min).sign(), -1);
  EXPECT_EQ((-q("1.5Gi")).to_string(), "-1536Mi");
  EXPECT_EQ((-Quantity::from_int(int64_min)).to_string(), "9223372036854775808");
  EXPECT_EQ((-q("0")).to_string(), "0");
}

TEST(Quantity, CopiesShareWhatIsLarge) {
  const Quantity large = q("123456789012345678901234567890");
  Quantity copy = large;
  copy += q("1");
  EXPECT_EQ(large.to_string(), "123456789012345678901234567890");
  EXPECT_EQ(copy.to_string(), "123456789012345678901234567891");
  EXPECT_LE(sizeof(Quantity), 32u);
}

}  // namespace
}  // namespace vg
