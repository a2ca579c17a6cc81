#include "auth/static_tokens.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/limits.h"

namespace vg::auth {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
  EXPECT_EQ(file.problem(), std::nullopt) << "no file, no worry";
  write("t1,jane,u\n");
  EXPECT_TRUE(knows("t1"));
  write("t2,jane,u\n");
  EXPECT_TRUE(knows("t2"));
  EXPECT_FALSE(knows("t1"));
  ASSERT_EQ(::unlink(path().c_str()), 0);
  EXPECT_FALSE(knows("t2"));
  EXPECT_EQ(file.problem(), std::nullopt);
}

// Whoever edits the file may be revoking somebody: what it said before does not count.
TEST_F(TokenFileTest, ADoubtfulFileLetsNobodyIn) {
  const TokenFile file(path(), clock);
  const auto knows = [&](std::string_view token) {
    clock.advance(std::chrono::seconds(1));
    return file.verify(token, ours)->has_value();
  };
  const auto good = [&] {
    ::unlink(path().c_str());
    write("t1,jane,u\nt2,joe,v\n");
    return knows("t1") && knows("t2") && !file.problem();
  };
  ASSERT_TRUE(good());
  write("t1,jane,u\nsecret-of-joe\n");
  EXPECT_FALSE(knows("t1")) << "also the lines that are right";
  EXPECT_THAT(*file.problem(), AllOf(HasSubstr("tokens.csv"), HasSubstr("line 2"), Not(HasSubstr("secret-of-joe"))));
  ASSERT_TRUE(good()) << "right again";
  write("t1,jane,u\n", 0644);
  EXPECT_FALSE(knows("t1"));
  EXPECT_THAT(*file.problem(), HasSubstr("chmod 600"));
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  EXPECT_TRUE(knows("t1"));
  EXPECT_EQ(file.problem(), std::nullopt);
  ASSERT_TRUE(good());
  std::filesystem::rename(path(), path() + ".real");
  ASSERT_EQ(::symlink((path() + ".real").c_str(), path().c_str()), 0);
  EXPECT_FALSE(knows("t1"));
  EXPECT_THAT(*file.problem(), HasSubstr("symbolic link"));
  ASSERT_TRUE(good());
  write(std::string(limits::config_file_bytes_max + 1, 'x'));
  EXPECT_FALSE(knows("t1"));
  EXPECT_THAT(*file.problem(), HasSubstr("more than"));
  ::unlink(path().c_str());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(knows("t1")) << "and nobody waits for a writer";
  EXPECT_TRUE(file.problem());
  if (::geteuid() == 0) {
    ASSERT_TRUE(good());
    ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
    EXPECT_FALSE(knows("t1"));
    EXPECT_THAT(*file.problem(), HasSubstr("12345"));
  }
}

TEST_F(TokenFileTest, AnotherParserForAnotherFile) {
  write("abc\n");
  const TokenFile file(path(), clock, [](std::string_view text) -> Parsed<std::vector<StaticToken>> {
    return std::vector<StaticToken>{
        {.token = std::string(text.substr(0, 3)), .user = {.name = "root", .uid = {}, .groups = {}, .extra = {}}}};
  });
  EXPECT_EQ(file.verify("abc", ours)->value().user.name, "root");
}

TEST_F(TokenFileTest, LooksOnceASecond) {
  const TokenFile file(path(), clock);
  EXPECT_EQ(file.problem(), std::nullopt) << "asked first, and no token waits for it";
  EXPECT_FALSE(file.verify("t1", ours)->has_value());
  write("t1,jane,u\n");
  EXPECT_FALSE(file.verify("t1", ours)->has_value());
  clock.advance(std::chrono::seconds(1));
  EXPECT_TRUE(file.verify("t1", ours)->has_value());
}

}  // namespace
}  // namespace vg::auth
