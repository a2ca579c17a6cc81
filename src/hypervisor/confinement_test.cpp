#include "hypervisor/confinement.h"

#include <gmock/gmock.h>

#include "hypervisor/reaper.h"

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

TEST(Confinement, NoFolderOfTheHostThatTheServerIsIn) {
  EXPECT_THAT(visible_to_guests(folders), Contains(PathRule{"/srv", Access::data}));
  EXPECT_THAT(visible_to_guests({.write = {"/srv/virtgate/nodes"}}), Not(Contains(PathRule{"/srv", Access::data})));
}

TEST(Confinement, WhatIsLoadedIsNotWritten) {
  const auto rules = visible_to_guests({.load = {"/state/nodes/node01/libvirt.guard"}});
  EXPECT_THAT(rules, Contains(PathRule{"/state/nodes/node01/libvirt.guard", Access::program}));
}

TEST(Confinement, OfAFolderThatNodesShareItsOwnPart) {
  const PathRule own{"/run/moves", Access::data, "/run/moves/node01"};
  const auto rules = visible_to_guests({.own = "/run/moves/node01"});
  EXPECT_THAT(rules, Contains(own));
  EXPECT_EQ(word_of(own), "@o/run/moves/node01");
  EXPECT_EQ(rule_of(word_of(own)), own);
}

TEST(Confinement, SaysWhatStaysReachable) {
  const auto whole = confine_guests(Mode::on, folders, {.landlock_abi = 7});
  EXPECT_EQ(whole->reach, "");
  EXPECT_EQ(whole->words.front(), isolate_word);
  const auto old = confine_guests(Mode::on, folders, {.landlock_abi = 5, .why_not_isolated = "EPERM"});
  EXPECT_THAT(old->reach, testing::AllOf(HasSubstr("signals"), HasSubstr("sockets"), HasSubstr("EPERM")));
  EXPECT_THAT(old->words, SizeIs(visible_to_guests(folders).size())) << "the files are kept from them all the same";
  EXPECT_FALSE(confine_guests(Mode::required, folders, {.landlock_abi = 5}));
  EXPECT_FALSE(confine_guests(Mode::required, folders, {.landlock_abi = 7, .why_not_isolated = "EPERM"}));
}

TEST(Confinement, RulesAsWords) {
  for (const PathRule& rule : visible_to_guests(folders)) EXPECT_EQ(rule_of(word_of(rule)), rule);
  for (const char* word : {"", "@", "@w", "/usr/sbin/libvirtd", "@z/x", "@o/x", "@wrelative", "--config"})
    EXPECT_EQ(rule_of(word), std::nullopt) << word;
}

TEST(Confinement, WhenThereIsNone) {
  EXPECT_THAT(confine_guests(Mode::on, folders, {.landlock_abi = 7})->words,
              SizeIs(1 + visible_to_guests(folders).size()));
  struct Row {
    Mode mode;
    int abi;
    bool bridges;
    const char* missing;
  };
  for (const Row& row : {Row{Mode::off, 7, false, "--sandbox=off"}, Row{Mode::on, 0, false, "Landlock"},
                         Row{Mode::on, 7, true, "qemu-bridge-helper"}}) {
    const auto made = confine_guests(row.mode, folders, {.landlock_abi = row.abi, .bridges = row.bridges});
    ASSERT_TRUE(made);
    EXPECT_THAT(made->words, IsEmpty());
    EXPECT_THAT(made->missing, HasSubstr(row.missing));
  }
  EXPECT_FALSE(confine_guests(Mode::required, folders, {.landlock_abi = 0}));
  EXPECT_FALSE(confine_guests(Mode::required, folders, {.landlock_abi = 7, .bridges = true}));
  EXPECT_TRUE(confine_guests(Mode::required, folders, {.landlock_abi = 7}));
}

TEST(Confinement, WhoSignalsNobodyElse) {
  const auto words = confine_guests(Mode::on, folders, {.landlock_abi = 7})->words;
  EXPECT_TRUE(signals_stay_within(words, 7));
  EXPECT_FALSE(signals_stay_within(words, 5)) << "every process of the user";
  EXPECT_FALSE(signals_stay_within({"/proc/self/exe", "reap"}, 7)) << "not confined";
}

}  // namespace
}  // namespace vg::hypervisor
