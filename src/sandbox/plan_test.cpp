#include "sandbox/plan.h"

#include <gmock/gmock.h>

namespace vg::sandbox {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Access = PathRule::Access;

PathRule reads(std::string path) { return {.path = std::move(path), .access = Access::read}; }

const Needs needs{.write_folders = {"/var/lib/virtgate"}, .read_files = {"/srv/certs/tls.crt"}, .listen_port = 6443};

TEST(SandboxPlan, ModesAreReadByName) {
  EXPECT_EQ(parse_mode("on"), Mode::on);
  EXPECT_EQ(parse_mode("off"), Mode::off);
  EXPECT_EQ(parse_mode("required"), Mode::required);
  EXPECT_EQ(parse_mode(""), std::nullopt);
  EXPECT_EQ(parse_mode("ON"), std::nullopt);
}

TEST(SandboxPlan, OffDoesNothing) {
  const auto plan = make_plan(Mode::off, needs, {.landlock_abi = 7});
  EXPECT_FALSE(plan.capabilities || plan.landlock || plan.seccomp);
  EXPECT_THAT(plan.missing, IsEmpty());
}

TEST(SandboxPlan, NamesWhatTheKernelLacks) {
  const auto plan = make_plan(Mode::on, needs, {.landlock_abi = 0});
  EXPECT_TRUE(plan.capabilities);
  EXPECT_FALSE(plan.landlock);
  EXPECT_EQ(plan.seccomp, !sanitized_build);
  EXPECT_THAT(plan.missing, Contains(HasSubstr("Landlock")));
}

TEST(SandboxPlan, AllowsWhatTheServerNeedsAndNoMore) {
  if (sanitized_build) GTEST_SKIP() << "no Landlock in this build";
  const auto plan = make_plan(Mode::on, needs, {.landlock_abi = 7});
  EXPECT_THAT(plan.paths, Contains(PathRule{.path = "/var/lib/virtgate", .access = Access::write}));
  EXPECT_THAT(plan.paths, Contains(reads("/srv/certs")));
  EXPECT_EQ(plan.bind_port, 6443);
  for (const auto& rule : plan.paths) {
    EXPECT_NE(rule.path, "/");
    EXPECT_NE(rule.path, "/home");
    EXPECT_EQ(rule.access == Access::write, rule.path == "/var/lib/virtgate") << rule.path;
  }
}

TEST(SandboxPlan, RootGetsNotAllOfEtc) {
  if (sanitized_build) GTEST_SKIP() << "no Landlock in this build";
  const auto root = make_plan(Mode::on, needs, {.root = true, .landlock_abi = 1});
  EXPECT_THAT(root.paths, Not(Contains(reads("/etc"))));
  EXPECT_THAT(root.paths, Contains(reads("/etc/hosts")));
  EXPECT_FALSE(root.unix_sockets) << "container runtimes and the system's bus obey root";
  const auto other = make_plan(Mode::on, needs, {.landlock_abi = 1});
  EXPECT_THAT(other.paths, Contains(reads("/etc")));
  EXPECT_TRUE(other.unix_sockets);
}

TEST(SandboxPlan, OneFileDoesNotOpenAFolderOfTheTop) {
  if (sanitized_build) GTEST_SKIP() << "no Landlock in this build";
  const Needs few{.read_files = {"/etc/ca.crt", "/tls.crt"}};
  const auto plan = make_plan(Mode::on, few, {.root = true, .landlock_abi = 1});
  EXPECT_THAT(plan.paths, Contains(reads("/etc/ca.crt")));
  EXPECT_THAT(plan.paths, Not(Contains(reads("/etc"))));
  EXPECT_THAT(plan.paths, Not(Contains(reads("/"))));
}

TEST(SandboxPlan, FollowsTheResolversFile) {
  if (sanitized_build) GTEST_SKIP() << "no Landlock in this build";
  const Machine machine{.landlock_abi = 1, .resolver = "/run/systemd/resolve/stub-resolv.conf"};
  EXPECT_THAT(make_plan(Mode::on, needs, machine).paths, Contains(reads("/run/systemd/resolve")));
  const Machine plain{.root = true, .landlock_abi = 1, .resolver = "/etc/resolv.conf"};
  EXPECT_THAT(make_plan(Mode::on, needs, plain).paths, Not(Contains(reads("/etc"))));
}

const Account account{.name = "virtgate", .uid = 990, .gid = 990, .home = "/var/lib/virtgate"};

std::string refusal(const UserQuestion& question) {
  const auto decision = decide_user(question);
  return decision ? "decided" : decision.error().message;
}

TEST(SandboxUser, OthersThanRootStayWhoTheyAre) {
  const auto decision = decide_user({.started_as = 1000, .account = account});
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->become, std::nullopt);
  EXPECT_EQ(decision->advice, "");
  EXPECT_TRUE(decide_user({.started_as = 990, .asked = "virtgate", .account = account}));
  EXPECT_THAT(refusal({.started_as = 1000, .asked = "virtgate", .account = account}), HasSubstr("only root"));
}

TEST(SandboxUser, WhoAsksGetsThatUserOrARefusal) {
  EXPECT_EQ(decide_user({.asked = "virtgate", .account = account})->become, account);
  EXPECT_THAT(refusal({.asked = "nobody-here"}), HasSubstr("useradd --system nobody-here"));
  EXPECT_THAT(refusal({.asked = "virtgate", .account = account, .state = "/s", .state_given = true, .state_owner = 0}),
              HasSubstr("chown -R virtgate /s"));
  EXPECT_EQ(decide_user({.asked = "root", .account = Account{.name = "root"}})->become, std::nullopt);
}

TEST(SandboxUser, RootBecomesTheDefaultUserOnlyWhereNothingIsLost) {
  // Its own folder, or a first start without a folder named.
  EXPECT_EQ(decide_user({.account = account, .state = "/s", .state_given = true, .state_owner = 990})->become, account);
  EXPECT_EQ(decide_user({.account = account, .state = "/root/s"})->become, account);
  // A folder of root's, or one that is to be made where the caller says.
  for (const auto& question : {UserQuestion{.account = account, .state = "/s", .state_given = true, .state_owner = 0},
                               UserQuestion{.account = account, .state = "/root/s", .state_owner = 0},
                               UserQuestion{.account = account, .state = "/s", .state_given = true}}) {
    EXPECT_EQ(decide_user(question)->become, std::nullopt);
    EXPECT_THAT(decide_user(question)->advice, HasSubstr("chown -R virtgate"));
  }
}

TEST(SandboxUser, RootNeverRunsGuests) {
  EXPECT_EQ(decide_user({.account = account, .state = "/s", .state_given = true, .runs_guests = true})->become,
            account);
  EXPECT_EQ(
      decide_user({.account = account, .state = "/s", .state_given = true, .state_owner = 990, .runs_guests = true})
          ->become,
      account);
  EXPECT_THAT(refusal({.account = account, .state = "/s", .state_given = true, .state_owner = 0, .runs_guests = true}),
              HasSubstr("chown -R virtgate /s"));
  EXPECT_THAT(refusal({.state = "/s", .runs_guests = true}), HasSubstr("useradd --system"));
  EXPECT_EQ(decide_user({.started_as = 1000, .account = account, .runs_guests = true})->become, std::nullopt);
}

TEST(SandboxUser, RootWithoutTheUserIsToldHowToMakeIt) {
  const auto decision = decide_user({.state = "/s", .state_given = true, .state_owner = 0});
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->become, std::nullopt);
  EXPECT_THAT(decision->advice, HasSubstr("useradd --system virtgate"));
}

}  // namespace
}  // namespace vg::sandbox
