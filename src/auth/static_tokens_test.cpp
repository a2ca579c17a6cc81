#include "auth/static_tokens.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"

namespace vg::auth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> ours = {std::string(default_audience)};

TEST(ParseTokenFileTest, TakesWhatKubernetesTakes) {
  const auto tokens = parse_token_file(
      "t1,jane,u1\n"
      "\n"
      "t2,\"doe, john\",u2,\"dev,ops\"\r\n"
      ",nobody,u3\n"
      "\"t\"\"4\",a,,one,ignored\n"
      "t5,b,u5,");
  ASSERT_TRUE(tokens) << tokens.error();
  ASSERT_EQ(tokens->size(), 4u);
  EXPECT_EQ((*tokens)[0].user.name, "jane");
  EXPECT_EQ((*tokens)[0].user.uid, "u1");
  EXPECT_THAT((*tokens)[0].user.groups, IsEmpty());
  EXPECT_EQ((*tokens)[1].user.name, "doe, john");
  EXPECT_THAT((*tokens)[1].user.groups, ElementsAre("dev", "ops"));
  EXPECT_EQ((*tokens)[2].token, "t\"4");
  EXPECT_THAT((*tokens)[2].user.groups, ElementsAre("one"));
  EXPECT_THAT((*tokens)[3].user.groups, IsEmpty());
}

TEST(ParseTokenFileTest, NamesTheLineThatIsWrong) {
  EXPECT_THAT(parse_token_file("a,b,c\nt,jane\n").error(), HasSubstr("line 2"));
  EXPECT_THAT(parse_token_file("a,\"b\nb\",c\n\"t,x,y").error(), HasSubstr("line 3"));
  EXPECT_THAT(parse_token_file("a,\"b\"c,d").error(), HasSubstr("line 1"));
  EXPECT_THAT(parse_token_file("t,,u").error(), HasSubstr("empty"));
  EXPECT_TRUE(parse_token_file("")->empty());
}

TEST(StaticTokensTest, OnlyForThisServer) {
  const StaticTokens tokens({{.token = "s3cret", .user = {.name = "jane", .uid = {}, .groups = {}, .extra = {}}}});
  EXPECT_EQ(tokens.verify("s3cret", ours)->value().user.name, "jane");
  EXPECT_FALSE(tokens.verify("s3cre", ours)->has_value());
  EXPECT_FALSE(tokens.verify("", ours)->has_value());
  const std::vector<std::string> other = {"vault"};
  EXPECT_FALSE(tokens.verify("s3cret", other)->has_value());
}

struct TokenFileTest : ::testing::Test {
  std::string folder = (std::filesystem::temp_directory_path() / "virtgate-tokens-XXXXXX").string();
  ManualClock clock{Clock::Wall(), Clock::Steady(std::chrono::hours(1))};
  TokenFileTest() {
    if (!::mkdtemp(folder.data())) std::abort();
  }
  ~TokenFileTest() override { std::filesystem::remove_all(folder); }
  std::string path() const { return folder + "/tokens.csv"; }
  void write(std::string_view text, mode_t mode = 0600) { ASSERT_TRUE(write_file(path(), text, mode)); }
};

TEST_F(TokenFileTest, FollowsTheFile) {
  const TokenFile file(path(), clock);
  const auto knows = [&](std::string_view token) {
    clock.advance(std::chrono::seconds(1));
    return file.verify(token, ours)->has_value();
  };
  EXPECT_FALSE(knows("t1"));
  write("t1,jane,u\n");
  EXPECT_TRUE(knows("t1"));
  write("t2,jane,u\n");
  EXPECT_TRUE(knows("t2"));
  EXPECT_FALSE(knows("t1"));
  write("broken");
  EXPECT_TRUE(knows("t2")) << "a slip of the editor locks nobody out";
  write("t3,jane,u\n", 0644);
  EXPECT_FALSE(knows("t3"));
  EXPECT_TRUE(knows("t2"));
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  EXPECT_TRUE(knows("t3"));
  ASSERT_EQ(::unlink(path().c_str()), 0);
  EXPECT_FALSE(knows("t3"));
}

TEST_F(TokenFileTest, LooksOnceASecond) {
  const TokenFile file(path(), clock);
  EXPECT_FALSE(file.verify("t1", ours)->has_value());
  write("t1,jane,u\n");
  EXPECT_FALSE(file.verify("t1", ours)->has_value());
  clock.advance(std::chrono::seconds(1));
  EXPECT_TRUE(file.verify("t1", ours)->has_value());
}

}  // namespace
}  // namespace vg::auth
