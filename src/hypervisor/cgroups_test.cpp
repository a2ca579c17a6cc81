#include "hypervisor/cgroups.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace vg::hypervisor {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view mounts =
    "22 1 0:5 / /proc rw - proc proc rw\n"
    "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Cgroups, TheFolderOfThisProcess) {
  EXPECT_EQ(own_cgroup("0::/user.slice/a.scope\n", mounts).value_or(""), "/sys/fs/cgroup/user.slice/a.scope");
  EXPECT_EQ(own_cgroup("4:memory:/x\n0::/\n", mounts).value_or(""), "/sys/fs/cgroup");
  // A container sees its own part alone.
  EXPECT_EQ(own_cgroup("0::/pods/p1/s\n", "35 24 0:30 /pods/p1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n").value_or(""),
            "/sys/fs/cgroup/s");
  EXPECT_FALSE(own_cgroup("4:memory:/x\n", mounts));
  EXPECT_FALSE(own_cgroup("0::/a\n", "22 1 0:5 / /proc rw - proc proc rw\n"));
  EXPECT_FALSE(own_cgroup("0::/../a\n", mounts));
}

TEST(Cgroups, LimitsAsTheKernelReadsThem) {
  EXPECT_THAT(cgroup_files(1500, 1 << 30, 1000),
              ElementsAre(CgroupFile{"cpu.max", "150000 100000"}, CgroupFile{"cpu.weight", "39"},
                          CgroupFile{"memory.max", "1073741824"}));
  EXPECT_THAT(cgroup_files(0, 0, 0), ElementsAre(CgroupFile{"cpu.max", "max 100000"}, CgroupFile{"cpu.weight", "100"},
                                                 CgroupFile{"memory.max", "max"}));
  EXPECT_EQ(cgroup_files(1, 0, 0)[0].text, "1000 100000");  // the kernel takes no shorter one
  EXPECT_EQ(cgroup_files(0, 0, 1'000'000'000)[1].text, "10000");
}

// A folder that looks like a cgroup, and one like /proc.
class GuestCgroupsTest : public testing::Test {
 protected:
  GuestCgroupsTest() {
    std::string name = (fs::temp_directory_path() / "cgroups-XXXXXX").native();
    folder_ = ::mkdtemp(name.data());
    put("own/cgroup.controllers", "cpuset cpu io memory pids\n");
    put("own/cgroup.subtree_control", "");
    put("own/cgroup.procs", "11\n12\n");
    put("own/virtgate/cgroup.procs", "");
    put("proc/11/comm", "virtgate\n");
    put("proc/12/comm", "virtgate-node\n");
  }
  ~GuestCgroupsTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void put(const std::string& name, std::string_view text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string text_of(const std::string& name) const {
    std::ifstream in(folder_ / name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  Result<GuestCgroups> open(const std::string& own = "own") const {
    return GuestCgroups::open((folder_ / own).native(), "n1", (folder_ / "proc").native());
  }
  // The kernel makes these in every new cgroup.
  void make_files(const std::string& group) const {
    for (const char* file : {"cpu.max", "cpu.weight", "memory.max", "cgroup.procs"}) put(group + "/" + file, "");
  }

  fs::path folder_;
};

TEST_F(GuestCgroupsTest, OwnProcessesGoAndControllersAreHandedOn) {
  ASSERT_TRUE(open());
  EXPECT_THAT(text_of("own/virtgate/cgroup.procs"), HasSubstr("12"));
  EXPECT_EQ(text_of("own/cgroup.subtree_control"), "+cpu +memory");
  put("own/cgroup.procs", "");
  put("own/cgroup.subtree_control", "");
  ASSERT_TRUE(open("own/virtgate"));  // a process that was started after the first one
  EXPECT_EQ(text_of("own/cgroup.subtree_control"), "+cpu +memory");
}

TEST_F(GuestCgroupsTest, WhatIsNotDelegatedIsLeftAlone) {
  put("proc/12/comm", "bash\n");
  auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("processes that are not ours (bash)"));
  EXPECT_EQ(text_of("own/virtgate/cgroup.procs"), "");
  put("own/cgroup.controllers", "cpu pids\n");
  opened = open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("no controller \"memory\""));
  EXPECT_FALSE(open("none"));
  fs::remove(folder_ / "own/cgroup.subtree_control");
  put("own/cgroup.controllers", "cpu memory\n");
  opened = open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("is not delegated"));
}

TEST_F(GuestCgroupsTest, AGuestHasItsOwn) {
  auto opened = open();
  ASSERT_TRUE(opened);
  make_files("own/guest-n1-default_vm");
  const auto files = cgroup_files(500, 4096, 0);
  ASSERT_TRUE(opened->keep("default_vm", 77, files));
  EXPECT_EQ(text_of("own/guest-n1-default_vm/cgroup.procs"), "77");
  EXPECT_EQ(text_of("own/guest-n1-default_vm/cpu.max"), "50000 100000");
  EXPECT_EQ(text_of("own/guest-n1-default_vm/memory.max"), "4096");
  // The same again is not written; other limits are, and not the process.
  put("own/guest-n1-default_vm/cgroup.procs", "");
  put("own/guest-n1-default_vm/memory.max", "");
  ASSERT_TRUE(opened->keep("default_vm", 77, files));
  EXPECT_EQ(text_of("own/guest-n1-default_vm/memory.max"), "");
  ASSERT_TRUE(opened->keep("default_vm", 77, cgroup_files(500, 8192, 0)));
  EXPECT_EQ(text_of("own/guest-n1-default_vm/memory.max"), "8192");
  EXPECT_EQ(text_of("own/guest-n1-default_vm/cgroup.procs"), "");
  EXPECT_FALSE(opened->keep("other", 78, files));  // the kernel made no files in it
}

TEST_F(GuestCgroupsTest, WhatIsEmptyGoes) {
  fs::create_directories(folder_ / "own/guest-n1-gone");
  fs::create_directories(folder_ / "own/guest-n2-theirs");
  auto opened = open();
  ASSERT_TRUE(opened);
  EXPECT_FALSE(fs::exists(folder_ / "own/guest-n1-gone"));
  EXPECT_TRUE(fs::exists(folder_ / "own/guest-n2-theirs"));
  fs::create_directories(folder_ / "own/guest-n1-vm");
  opened->drop("vm");
  EXPECT_FALSE(fs::exists(folder_ / "own/guest-n1-vm"));
}

}  // namespace
}  // namespace vg::hypervisor
