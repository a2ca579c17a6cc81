#include "runtime_folder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace vg::cmd {
namespace {

using ::testing::ElementsAre;

TEST(RuntimeFolder, IsShortAndOfTheStateFolder) {
  const auto with = runtime_candidates("/var/lib/virtgate", "node01", "/run/user/1000", 1000);
  ASSERT_EQ(with.size(), 3u);
  EXPECT_TRUE(with[0].starts_with("/run/user/1000/virtgate-"));
  EXPECT_EQ(with[1], "/var/lib/virtgate/run/node01");
  EXPECT_TRUE(with[2].starts_with("/tmp/virtgate-1000-"));
  // Another server's is another one.
  EXPECT_NE(runtime_candidates("/other", "node01", "/run/user/1000", 1000)[0], with[0]);
}

TEST(RuntimeFolder, LeavesOutWhatIsTooLong) {
  const std::string state(60, 'x');
  EXPECT_THAT(runtime_candidates("/" + state, "node01", "", 7), ElementsAre(::testing::StartsWith("/tmp/virtgate-7-")));
  EXPECT_EQ(runtime_candidates("/" + state, "node01", "relative", 7).size(), 1u);
}

TEST(RuntimeFolder, WhatWasNotFinishedGoes) {
  const std::string folder = ::testing::TempDir() + "/unfinished-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder + "/kept.tmp");
  for (const char* name : {"node.json", "node.json.0123456789abcdef.tmp"}) std::ofstream(folder + "/" + name) << "{}";
  remove_unfinished_files(folder);
  EXPECT_TRUE(std::filesystem::exists(folder + "/node.json"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/kept.tmp"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/node.json.0123456789abcdef.tmp"));
  remove_unfinished_files(folder + "/missing");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace vg::cmd
