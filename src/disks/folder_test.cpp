#include "disks/folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace vg::disks {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr int levels = 30'000;

// Files that this process may have open.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{.rlim_cur = most, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_ = {};
};

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    // In memory where that is possible: some disks take a millisecond for each folder.
    const fs::path memory = "/dev/shm";
    std::string name = ((fs::is_directory(memory) ? memory : fs::temp_directory_path()) / "folder-XXXXXX").native();
    path_ = ::mkdtemp(name.data());
    fs::create_directories(claim());
    std::ofstream(claim() / note_file) << R"({"uid":"u1"})";
    std::ofstream(outside()) << "treasure";
  }
  ~FolderTest() override {
    (void)remove_tree(AT_FDCWD, path_.native());  // fs::remove_all holds each folder open
  }

  fs::path claim() const { return path_ / "disks" / "ns" / "c"; }
  fs::path outside() const { return path_ / "outside"; }
  DiskFolder disks() const { return std::move(DiskFolder::open((path_ / "disks").native()).value()); }

  // As a program of a guest can make them: a folder in a folder in a folder, with links out.
  void nest(const fs::path& first) const {
    Descriptor at(::open(first.parent_path().c_str(), open_folder));
    std::string name = first.filename();
    for (int level = 0; level < levels; ++level) {
      ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
      Descriptor below(::openat(at.get(), name.c_str(), open_folder));
      ASSERT_TRUE(below);
      if (level % 100 == 0) {
        ASSERT_EQ(::symlinkat(outside().c_str(), below.get(), "link"), 0);
        ASSERT_EQ(::mkdirat(below.get(), "other", 0700), 0);
        ASSERT_EQ(::symlinkat(path_.c_str(), below.get(), ".deep-1"), 0) << "a name that is taken";
      }
      at = std::move(below);
      name = ".part-d";
    }
  }

  fs::path path_;
};

TEST_F(FolderTest, FoldersAsDeepAsTheDiskAllowsAreClearedAtTheStart) {
  nest(claim() / ".part-d");
  const FewDescriptors few(256);
  for (int starts = 0; starts < 10 && fs::exists(claim() / ".part-d"); ++starts) disks().clear_unfinished();
  EXPECT_FALSE(fs::exists(claim() / ".part-d"));
  EXPECT_TRUE(fs::exists(claim() / note_file));
  EXPECT_TRUE(fs::exists(outside())) << "no link is followed";
}

TEST_F(FolderTest, AClaimWithDeepFoldersIsRemoved) {
  nest(claim() / "data");
  const FewDescriptors few(256);
  const auto removed = disks().remove_claim({.ns = "ns", .name = "c"});
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(path_ / "disks" / "ns"));
  EXPECT_TRUE(fs::exists(outside()));
}

// Whoever fills it as fast as it is emptied keeps nobody for ever.
TEST_F(FolderTest, WhatTakesTooLongIsGoneOnWithLater) {
  nest(claim() / "data");
  const Descriptor folder(::open(claim().c_str(), open_folder));
  EXPECT_FALSE(remove_tree(folder.get(), "data", steady_clock::now()));
  int calls = 1;
  for (; calls < levels && !remove_tree(folder.get(), "data", steady_clock::now() + std::chrono::milliseconds(20));)
    ++calls;
  EXPECT_GT(calls, 1);
  EXPECT_FALSE(fs::exists(claim() / "data"));
}

}  // namespace
}  // namespace vg::disks
