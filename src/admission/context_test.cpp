#include "admission/context.h"

#include <gmock/gmock.h>

#include "admission/store_lookups.h"

namespace vg::admission {
namespace {

struct ContextTest : ::testing::Test {
  config::ConfigPtr config = config::ClusterConfig::defaults("amd64");
  NoLookups lookups;
  Context context{.config = *config,
                  .lookups = lookups,
                  .randomness = system_randomness(),
                  .own_namespace = "kv",
                  .now = {},
                  .storage = {}};
};

TEST_F(ContextTest, TrustsItsOwnAccountsOnly) {
  for (const char* name :
       {"kubevirt-apiserver", "kubevirt-controller", "kubevirt-handler", "kubevirt-synchronization-controller"})
    EXPECT_TRUE(is_trusted_account(context, std::string("system:serviceaccount:kv:") + name)) << name;
  for (const char* user :
       {"", "kubevirt-controller", "system:serviceaccount:kv:kubevirt-operator",
        "system:serviceaccount:kv:kubevirt-exportproxy",
        "system:serviceaccount:kv:", "system:serviceaccount:other:kubevirt-controller",
        "system:serviceaccount:kvx:kubevirt-controller", "system:serviceaccount:kv:kubevirt-controller2"})
    EXPECT_FALSE(is_trusted_account(context, user)) << user;
}

TEST_F(ContextTest, KnowsTheHandler) {
  EXPECT_TRUE(is_handler_account(context, "system:serviceaccount:kv:kubevirt-handler"));
  EXPECT_FALSE(is_handler_account(context, "system:serviceaccount:kv:kubevirt-controller"));
  EXPECT_EQ(component_account(context, "system:serviceaccount:kv:anything"), "anything");
}

TEST(RandomnessTest, MakesSuffixesOfLettersThatSpellNothing) {
  const std::string suffix = system_randomness().suffix(200);
  EXPECT_EQ(suffix.size(), 200u);
  EXPECT_EQ(suffix.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), suffix.npos);
  EXPECT_NE(system_randomness().uuid(), system_randomness().uuid());
}

}  // namespace
}  // namespace vg::admission
