#include "local/state_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

namespace vg::local {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct StateFolderTest : ::testing::Test {
  fs::path root;
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "virtgate-state-XXXXXX").native();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { fs::remove_all(root); }

  static std::string refusal(const fs::path& path) {
    auto folder = StateFolder::open(path);
    return folder ? "opened" : folder.error().message;
  }
};

mode_t mode_of(const fs::path& path) {
  struct stat info{};
  ::stat(path.c_str(), &info);
  return info.st_mode & 07777;
}

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST_F(StateFolderTest, DefaultFollowsTheXdgRules) {
  EXPECT_EQ(default_state_folder(variables({{"XDG_STATE_HOME", "/x"}, {"HOME", "/h"}})).value(), "/x/virtgate");
  EXPECT_EQ(default_state_folder(variables({{"XDG_STATE_HOME", "rel"}, {"HOME", "/h"}})).value(),
            "/h/.local/state/virtgate");
  EXPECT_EQ(default_state_folder(variables({{"XDG_STATE_HOME", ""}, {"HOME", "/h"}})).value(),
            "/h/.local/state/virtgate");
}

TEST_F(StateFolderTest, CreatesFoldersForTheOwnerOnly) {
  const mode_t before = ::umask(0);
  auto folder = StateFolder::open(root / "a/b/state/");
  ::umask(before);
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ(folder->path(), root / "a/b/state");
  EXPECT_EQ(mode_of(root / "a"), 0700u);
  EXPECT_EQ(mode_of(root / "a/b/state"), 0700u);
  EXPECT_EQ(mode_of(root / "a/b/state/lock"), 0600u);
}

TEST_F(StateFolderTest, RefusesASecondUserAndNamesTheFirst) {
  auto first = StateFolder::open(root / "state");
  ASSERT_TRUE(first);
  EXPECT_THAT(refusal(root / "state"),
              AllOf(HasSubstr("in use by process " + std::to_string(::getpid())), HasSubstr("another --state")));
  {
    auto gone = std::move(first);
  }
  EXPECT_EQ(refusal(root / "state"), "opened");
}

TEST_F(StateFolderTest, SurvivesAStrangeLockFile) {
  ASSERT_EQ(refusal(root / "state"), "opened");
  std::ofstream(root / "state/lock") << std::string(100, 'x');
  EXPECT_EQ(refusal(root / "state"), "opened");
}

TEST_F(StateFolderTest, RefusesAFolderThatOthersMayWrite) {
  for (mode_t mode : {0777u, 0770u, 0702u}) {
    fs::create_directory(root / "open");
    ASSERT_EQ(::chmod((root / "open").c_str(), mode), 0);
    EXPECT_THAT(refusal(root / "open"), AllOf(HasSubstr("other users"), HasSubstr("chmod go-w")));
  }
  ASSERT_EQ(::chmod((root / "open").c_str(), 0755), 0);
  EXPECT_EQ(refusal(root / "open"), "opened");
}

TEST_F(StateFolderTest, RefusesAFolderOfSomebodyElse) {
  if (::geteuid() == 0) {
    fs::create_directory(root / "theirs");
    ASSERT_EQ(::chown((root / "theirs").c_str(), 12345, 12345), 0);
    EXPECT_THAT(refusal(root / "theirs"), HasSubstr("belongs to user id 12345"));
  } else {
    EXPECT_THAT(refusal("/"), HasSubstr("belongs to user id 0"));
  }
}

// What lies in the folder is trusted as much as the folder.
struct StateFilesTest : StateFolderTest {
  const fs::path& path(std::string_view name) { return at = root / name; }
  void put(std::string_view name, mode_t mode) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << "x";
    ASSERT_EQ(::chmod((root / name).c_str(), mode), 0);
  }
  fs::path at;
};

TEST_F(StateFilesTest, WhatOthersCouldChangeIsRefused) {
  for (const char* name : {"store.db", "store.db-wal", "audit.log", "audit-reads.log.3", "admin.kubeconfig",
                           "pki/ca.key", "pki/ca.crt", "pki/admin.token"})
    for (const mode_t mode : {0620u, 0602u}) {
      put(name, mode);
      EXPECT_THAT(refusal(root), AllOf(HasSubstr(path(name).native()), HasSubstr("chmod go-w"))) << name;
      fs::remove(root / name);
    }
  fs::create_directory(root / "pki");
  ASSERT_EQ(::chmod((root / "pki").c_str(), 0777), 0);
  EXPECT_THAT(refusal(root), AllOf(HasSubstr("/pki can be written"), HasSubstr("chmod go-w")));
  ASSERT_EQ(::chmod((root / "pki").c_str(), 0755), 0);
  EXPECT_EQ(refusal(root), "opened");
}

TEST_F(StateFilesTest, WhatOthersCouldReadIsClosedOrRefused) {
  for (const char* name : {"store.db", "store.db-shm", "audit.log", "audit-attempts.log", "admin.kubeconfig"}) {
    put(name, 0644);
    EXPECT_EQ(refusal(root), "opened");
    EXPECT_EQ(mode_of(path(name)), 0600u) << name;
  }
  put("pki/ca.crt", 0644);
  put("pki/tokens.csv", 0666);  // refused where it is read: the server must come up without it
  put("something-else", 0644);
  EXPECT_EQ(refusal(root), "opened");
  EXPECT_EQ(mode_of(path("pki/ca.crt")), 0644u);
  EXPECT_EQ(mode_of(path("something-else")), 0644u);
  for (const char* name : {"pki/server.key", "pki/service-account.key", "pki/admin.token"}) {
    put(name, 0640);
    EXPECT_THAT(refusal(root), AllOf(HasSubstr("can be read"), HasSubstr("chmod 600"))) << name;
    fs::remove(root / name);
  }
}

TEST_F(StateFilesTest, LinksAndFilesOfOthersAreRefused) {
  put("elsewhere", 0600);
  for (const char* name : {"store.db", "pki/ca.key", "audit.log"}) {
    fs::create_directories(path(name).parent_path());
    fs::create_symlink(root / "elsewhere", root / name);
    EXPECT_THAT(refusal(root), AllOf(HasSubstr(path(name).native()), HasSubstr("link"))) << name;
    fs::remove(root / name);
  }
  if (::geteuid() != 0) return;
  put("store.db", 0600);
  ASSERT_EQ(::chown((root / "store.db").c_str(), 12345, 12345), 0);
  EXPECT_THAT(refusal(root), AllOf(HasSubstr("belongs to user id 12345"), HasSubstr("chown 0 ")));
}

TEST_F(StateFolderTest, SaysWhyItCannotCreate) {
  std::ofstream(root / "file") << "x";
  EXPECT_THAT(refusal(root / "file/state"), HasSubstr("cannot create the state folder"));
  EXPECT_THAT(refusal(root / "file"), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
}

}  // namespace
}  // namespace vg::local
