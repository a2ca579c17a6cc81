#include "hypervisor/confinement.h"

#include <gmock/gmock.h>

namespace vg::hypervisor {
namespace {

using sandbox::Mode, sandbox::PathRule;
using Access = PathRule::Access;
using ::testing::Contains, ::testing::HasSubstr, ::testing::IsEmpty, ::testing::Not, ::testing::SizeIs;

const GuestFolders folders{.write = {"/state/nodes/node01/guests"}, .read = {"/state/images"}};

TEST(Confinement, FoldersOfGuestsAndNothingOfTheServer) {
  const auto rules = visible_to_guests(folders);
  EXPECT_THAT(rules, Contains(PathRule{"/state/nodes/node01/guests", Access::data}));
  EXPECT_THAT(rules, Contains(PathRule{"/state/images", Access::read}));
  for (const PathRule& rule : rules) {
    EXPECT_NE(rule.path, "/");
    EXPECT_NE(rule.path, "/state");
    EXPECT_NE(rule.access, Access::write) << rule.path << ": links would lead a node to other places";
    EXPECT_THAT(rule.path, Not(testing::StartsWith("/home")));
  }
}

TEST(Confinement, TheFolderThatMakingATpmNeeds) {
  const PathRule temporary{"/tmp", Access::data};
  EXPECT_THAT(visible_to_guests(folders), Contains(temporary));
  EXPECT_THAT(visible_to_guests({.write = {"/tmpfiles"}}), Contains(temporary));
  EXPECT_THAT(visible_to_guests({.write = {"/tmp/state/nodes"}}), Not(Contains(temporary))) << "the store is there too";
}

TEST(Confinement, RulesAsWords) {
  for (const PathRule& rule : visible_to_guests(folders)) EXPECT_EQ(rule_of(word_of(rule)), rule);
  for (const char* word : {"", "@", "@w", "/usr/sbin/libvirtd", "@z/x", "@wrelative", "--config"})
    EXPECT_EQ(rule_of(word), std::nullopt) << word;
}

TEST(Confinement, WhenThereIsNone) {
  EXPECT_THAT(confine_guests(Mode::on, folders, 7, false)->words, SizeIs(visible_to_guests(folders).size()));
  struct Row {
    Mode mode;
    int abi;
    bool bridges;
    const char* missing;
  };
  for (const Row& row : {Row{Mode::off, 7, false, "--sandbox=off"}, Row{Mode::on, 0, false, "Landlock"},
                         Row{Mode::on, 7, true, "qemu-bridge-helper"}}) {
    const auto made = confine_guests(row.mode, folders, row.abi, row.bridges);
    ASSERT_TRUE(made);
    EXPECT_THAT(made->words, IsEmpty());
    EXPECT_THAT(made->missing, HasSubstr(row.missing));
  }
  EXPECT_FALSE(confine_guests(Mode::required, folders, 0, false));
  EXPECT_FALSE(confine_guests(Mode::required, folders, 7, true));
  EXPECT_TRUE(confine_guests(Mode::required, folders, 7, false));
}

}  // namespace
}  // namespace vg::hypervisor
