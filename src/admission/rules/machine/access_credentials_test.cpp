#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view good_key = R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{
    "source":{"secret":{"secretName":"s"}},"propagationMethod":{"qemuGuestAgent":{"users":["u"]}}}}]}}})";
constexpr std::string_view good_password = R"({"object":{"spec":{"accessCredentials":[{"userPassword":{
    "source":{"secret":{"secretName":""}},"propagationMethod":{"qemuGuestAgent":{}}}}]}}})";

const bool added = add_examples({
    {"ACR-01", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{"noCloud":{}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.propagationMethod"},
    {"ACR-02", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{"configDrive":{}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.propagationMethod"},
    {"ACR-03", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{"qemuGuestAgent":{"users":[]}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.propagationMethod.qemuGuestAgent.users"},
    {"ACR-04", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{},
         "propagationMethod":{"qemuGuestAgent":{"users":["u"]}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.source"},
    {"ACR-05", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.propagationMethod"},
    {"ACR-06", vmi, good_password,
     R"({"object":{"spec":{"accessCredentials":[{"userPassword":{"source":{},
         "propagationMethod":{"qemuGuestAgent":{}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].userPassword.source"},
    {"ACR-07", vmi, good_password,
     R"({"object":{"spec":{"accessCredentials":[{"userPassword":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].userPassword.propagationMethod"},
    {"ACR-08", vmi, good_key, R"({"object":{"spec":{"accessCredentials":[{}]}}})",
     "FieldValueInvalid spec.accessCredentials[0]"},
});

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
