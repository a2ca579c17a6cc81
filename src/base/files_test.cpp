#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace vg {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "files_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

TEST_F(Files, WritesAndReads) {
  const std::string content("line\n\0binary", 12);
  ASSERT_TRUE(write_file(path("f"), content, 0600));
  EXPECT_EQ(read_file(path("f"), 12).value(), content);
  EXPECT_EQ(mode_of(path("f")), 0600u);
  ASSERT_TRUE(write_file(path("f"), "", 0644));
  EXPECT_EQ(read_file(path("f"), 0).value(), "");
  EXPECT_EQ(mode_of(path("f")), 0644u);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, TheModeDoesNotDependOnTheMask) {
  const mode_t before = ::umask(0077);
  const bool written = write_file(path("f"), "x", 0644).has_value();
  ::umask(before);
  ASSERT_TRUE(written);
  EXPECT_EQ(mode_of(path("f")), 0644u);
}

TEST_F(Files, ReadsNoMoreThanItMay) {
  const std::string content(100000, 'x');
  ASSERT_TRUE(write_file(path("f"), content, 0600));
  EXPECT_EQ(read_file(path("f"), 100000)->size(), 100000u);
  const auto refused = read_file(path("f"), 99999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 413);
}

TEST_F(Files, SaysWhatIsWrong) {
  EXPECT_EQ(read_file(path("missing"), 10).error().code, 404);
  EXPECT_THAT(read_file(path("missing"), 10).error().message, HasSubstr(path("missing")));
  const auto folder = read_file(folder_.string(), 10);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, 500);
  const auto nowhere = write_file(path("no/where"), "x", 0600);
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("cannot create"));
}

TEST_F(Files, LeavesNothingBehindWhenItFails) {
  ASSERT_TRUE(fs::create_directory(path("taken")));
  ASSERT_TRUE(write_file(path("taken/inside"), "x", 0600));
  EXPECT_FALSE(write_file(path("taken"), "x", 0600));
  EXPECT_EQ(entries(), 1u);
}

}  // namespace
}  // namespace vg
