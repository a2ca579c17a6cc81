#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> told(std::string_view credentials, std::string_view volumes = "[]") {
  return testing::told_by(
      access_credential_family,
      fmt::format(R"({{"domain":{{"devices":{{}}}},"accessCredentials":{},"volumes":{}}})", credentials, volumes));
}

TEST(AccessCredentialRulesTest, BothKindsOfAnEntryAreLookedAt) {
  EXPECT_THAT(told(R"([{"sshPublicKey":{"source":{},"propagationMethod":{}},
                        "userPassword":{"source":{},"propagationMethod":{}}}])"),
              ElementsAre("Invalid spec.accessCredentials[0].sshPublicKey.source",
                          "Invalid spec.accessCredentials[0].sshPublicKey.propagationMethod",
                          "Invalid spec.accessCredentials[0].userPassword.source",
                          "Invalid spec.accessCredentials[0].userPassword.propagationMethod",
                          "Invalid spec.accessCredentials[0]"));
}

TEST(AccessCredentialRulesTest, CloudInitOfTheRightKindCarriesTheKey) {
  constexpr std::string_view no_cloud =
      R"([{"sshPublicKey":{"source":{"secret":{}},"propagationMethod":{"noCloud":{}}}}])";
  EXPECT_THAT(told(no_cloud, R"([{"name":"a"},{"name":"b","cloudInitNoCloud":{}}])"), IsEmpty());
  EXPECT_THAT(told(no_cloud, R"([{"name":"b","cloudInitConfigDrive":{}}])"),
              ElementsAre("Invalid spec.accessCredentials[0].sshPublicKey.propagationMethod"));
  constexpr std::string_view both = R"([{"sshPublicKey":{"source":{"secret":{}},
      "propagationMethod":{"noCloud":{},"configDrive":{}}}}])";
  EXPECT_THAT(told(both, R"([{"name":"a","cloudInitNoCloud":{}},{"name":"b","cloudInitConfigDrive":{}}])"),
              ElementsAre("Invalid spec.accessCredentials[0].sshPublicKey.propagationMethod"));
}

}  // namespace
}  // namespace vg::admission
