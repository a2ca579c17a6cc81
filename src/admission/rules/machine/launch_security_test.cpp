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

constexpr std::string_view tdx_on = R"({"developerConfiguration":{"featureGates":["WorkloadEncryptionTDX"]}})";

std::vector<std::string> told(std::string_view architecture, std::string_view domain,
                              std::string_view configured = "{}") {
  return testing::told_by(
      launch_security_family,
      fmt::format(R"({{"architecture":"{}","domain":{{"devices":{{}},{}}}}})", architecture, domain), configured);
}

TEST(LaunchSecurityRulesTest, TheClustersArchitectureDoesNotCount) {
  EXPECT_THAT(told("", R"("launchSecurity":{"sev":{},"snp":{}})"), ElementsAre("Invalid spec.architecture"));
  EXPECT_THAT(told("s390x", R"("launchSecurity":{"sev":{},"snp":{}})"), IsEmpty());
}

TEST(LaunchSecurityRulesTest, TheKindComesFirstAndEndsIt) {
  EXPECT_THAT(told("amd64", R"("launchSecurity":{"sev":{},"tdx":{}})"), ElementsAre("Forbidden spec.launchSecurity"));
  EXPECT_THAT(told("amd64", R"("launchSecurity":{"tdx":{}})"), ElementsAre("Invalid spec.launchSecurity"));
}

TEST(LaunchSecurityRulesTest, TheRestIsToldTogether) {
  // SMM, and no EFI: then nothing is said of how EFI is set up.
  EXPECT_THAT(told("amd64", R"("launchSecurity":{"tdx":{}},"features":{"smm":{"enabled":true}})", tdx_on),
              ElementsAre("Invalid spec.launchSecurity", "Invalid spec.launchSecurity"));
  EXPECT_THAT(told("amd64", R"("launchSecurity":{"tdx":{}},"features":{"smm":{"enabled":false}},
                               "firmware":{"bootloader":{"efi":{}}})",
                   tdx_on),
              IsEmpty());
  // Secure Boot, and persistent variables.
  EXPECT_THAT(told("amd64", R"("launchSecurity":{"snp":{}},"firmware":{"bootloader":{"efi":{"persistent":true}}})"),
              ElementsAre("Invalid spec.launchSecurity", "Invalid spec.launchSecurity"));
}

TEST(LaunchSecurityRulesTest, EveryInterfaceThatBootsIsTold) {
  EXPECT_THAT(testing::told_by(launch_security_family,
                               R"({"architecture":"amd64","domain":{"launchSecurity":{"sev":{}},
                  "firmware":{"bootloader":{"efi":{"secureBoot":false}}},
                  "devices":{"interfaces":[{"name":"a","bootOrder":1},{"name":"b"},{"name":"c","bootOrder":0}]}}})"),
              ElementsAre("Invalid spec.launchSecurity", "Invalid spec.launchSecurity"));
}

}  // namespace
}  // namespace vg::admission
