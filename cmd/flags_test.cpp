#include "flags.h"

#include <gmock/gmock.h>

namespace vg::cmd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct FlagsTest : ::testing::Test {
  std::string listen = "0.0.0.0";
  std::int64_t port = 443, verbosity = 2;
  bool only = false, external = false;
  std::vector<Flag> table{
      {"listen", '\0', &listen, "ADDRESS", "where to listen"},
      {"port", '\0', &port, "PORT", "which port"},
      {"v", 'v', &verbosity, "LEVEL", "how much to log"},
      {"subresources-only", '\0', &only, "", "accepted, without effect"},
      {"external", 'e', &external, "", "a switch with a letter"},
      {"other", 'o', &only, "", "another one"},
  };
  std::expected<ParsedFlags, std::string> parse(std::vector<std::string_view> arguments) {
    return parse_flags(table, arguments);
  }
  std::string refusal(std::vector<std::string_view> arguments) {
    auto result = parse(std::move(arguments));
    return result ? "accepted" : result.error();
  }
};

TEST_F(FlagsTest, TakesWhatTheOperatorPasses) {
  auto parsed = parse({"--port", "8443", "--console=1", "x"});
  EXPECT_FALSE(parsed);
  parsed = parse({"--port", "8443", "--subresources-only", "-v", "3"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(port, 8443);
  EXPECT_TRUE(only);
  EXPECT_EQ(verbosity, 3);
}

TEST_F(FlagsTest, AllSpellingsOfAShortFlagAreEqual) {
  for (std::vector<std::string_view> spelling : std::vector<std::vector<std::string_view>>{
           {"-v", "4"}, {"-v4"}, {"-v=4"}, {"--v=4"}, {"--v", "4"}, {"-ev4"}, {"-e", "-v=4"}}) {
    verbosity = 2;
    ASSERT_TRUE(parse(spelling)) << spelling[0];
    EXPECT_EQ(verbosity, 4) << spelling[0];
  }
}

TEST_F(FlagsTest, LastOccurrenceWinsAndValuesMayBeEmpty) {
  ASSERT_TRUE(parse({"--listen", "a", "--listen=b", "--listen="}));
  EXPECT_EQ(listen, "");
  ASSERT_TRUE(parse({"--listen=a=b"}));
  EXPECT_EQ(listen, "a=b");
  ASSERT_TRUE(parse({"--listen", "--port"}));  // the next argument is the value, whatever it looks like
  EXPECT_EQ(listen, "--port");
}

TEST_F(FlagsTest, ASwitchTakesAValueOnlyBehindAnEqualsSign) {
  auto parsed = parse({"--external", "false"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(external);
  EXPECT_THAT(parsed->positional, ElementsAre("false"));
  ASSERT_TRUE(parse({"--external=F"}));
  EXPECT_FALSE(external);
  ASSERT_TRUE(parse({"-eo"}));
  EXPECT_TRUE(external && only);
  EXPECT_THAT(refusal({"--external=yes"}), HasSubstr("true or false"));
}

TEST_F(FlagsTest, PositionalArgumentsMayStandAnywhere) {
  auto parsed = parse({"a", "--port", "1", "-", "--", "--port", "2"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(port, 1);
  EXPECT_THAT(parsed->positional, ElementsAre("a", "-", "--port", "2"));
}

TEST_F(FlagsTest, NumbersFollowTheirPrefix) {
  const std::pair<std::string_view, std::int64_t> good[] = {{"0x1F", 31},
                                                            {"010", 8},
                                                            {"0o17", 15},
                                                            {"0b101", 5},
                                                            {"-12", -12},
                                                            {"+3", 3},
                                                            {"0", 0},
                                                            {"9223372036854775807", INT64_MAX},
                                                            {"-9223372036854775808", INT64_MIN}};
  for (auto [text, value] : good) {
    ASSERT_TRUE(parse({"--port", text})) << text;
    EXPECT_EQ(port, value) << text;
  }
  for (std::string_view bad : {"", "x", "1x", "0x", "--1", "9223372036854775808", "1.0", " 1", "08", "-"})
    EXPECT_THAT(refusal({"--port", bad}), HasSubstr("whole number")) << bad;
}

TEST_F(FlagsTest, SaysWhatIsWrong) {
  EXPECT_THAT(refusal({"--nope"}), HasSubstr("unknown flag --nope"));
  EXPECT_THAT(refusal({"--nope=1"}), HasSubstr("unknown flag --nope"));
  EXPECT_THAT(refusal({"-x"}), HasSubstr("unknown flag -x"));
  EXPECT_THAT(refusal({"--port"}), HasSubstr("--port requires a value"));
  EXPECT_THAT(refusal({"-v"}), HasSubstr("-v requires a value"));
  EXPECT_THAT(refusal({"---port"}), HasSubstr("unexpected argument"));
  EXPECT_THAT(refusal({"--=1"}), HasSubstr("unexpected argument"));
}

TEST_F(FlagsTest, HelpEndsTheReading) {
  for (std::string_view help : {"--help", "-h", "-eh"}) {
    auto parsed = parse({help, "--nope"});
    ASSERT_TRUE(parsed) << help;
    EXPECT_TRUE(parsed->help) << help;
  }
}

TEST_F(FlagsTest, DescribesEveryFlagWithItsDefault) {
  const std::string text = describe_flags(flag_infos(table));
  EXPECT_THAT(text, HasSubstr("      --listen ADDRESS "));
  EXPECT_THAT(text, HasSubstr("(default 0.0.0.0)"));
  EXPECT_THAT(text, HasSubstr("  -v, --v LEVEL "));
  EXPECT_THAT(text, HasSubstr("(default 443)"));
}

}  // namespace
}  // namespace vg::cmd
