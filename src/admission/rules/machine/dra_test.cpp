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
using ::testing::SizeIs;

std::vector<std::string> told(std::string_view spec, std::string_view configured = "{}") {
  return testing::told_by(dra_family, spec, configured);
}

TEST(DraRulesTest, ANameCountsAsTakenEvenIfItCannotBe) {
  EXPECT_THAT(told(R"({"domain":{"devices":{}},"resourceClaims":[{"name":"A","resourceClaimName":"x"},
                {"name":"A","resourceClaimName":"x"},{"resourceClaimName":"x"},{"resourceClaimName":"x"}]})"),
              ElementsAre("Invalid spec.resourceClaims[0].name", "Duplicate spec.resourceClaims[1].name",
                          "Required spec.resourceClaims[2].name", "Required spec.resourceClaims[3].name"));
}

TEST(DraRulesTest, DefectsOfANameAreOneCauseButThoseOfAnObjectsNameAreMany) {
  const std::string claims = fmt::format(R"({{"domain":{{"devices":{{}}}},"resourceClaims":[
      {{"name":"{}","resourceClaimName":"{}"}}]}})",
                                         std::string(64, 'A'), std::string(254, 'A'));
  EXPECT_THAT(told(claims),
              ElementsAre("Invalid spec.resourceClaims[0].name", "Invalid spec.resourceClaims[0].resourceClaimName",
                          "Invalid spec.resourceClaims[0].resourceClaimName"));
}

TEST(DraRulesTest, WhatEndsAListForgetsItsClaims) {
  EXPECT_THAT(told(R"({"domain":{"devices":{"gpus":[{"claimName":"c","requestName":"r"},{"name":"x"}],
                "hostDevices":[{"claimName":"c","requestName":"r"}]}},"resourceClaims":[{"name":"c","resourceClaimName":"c"}]})"),
              ElementsAre("Invalid spec.domain.devices.gpus"));
  EXPECT_THAT(told(R"({"domain":{"devices":{"hostDevices":[{"claimName":"c","requestName":"r"},{"name":"x"}]}}})",
                   R"({"developerConfiguration":{"disabledFeatureGates":["HostDevicesWithDRA"]}})"),
              ElementsAre("Required spec.domain.devices.hostDevices", "Invalid spec.domain.devices.hostDevices"));
}

TEST(DraRulesTest, HostDevicesMayMix) {
  EXPECT_THAT(told(R"({"domain":{"devices":{"hostDevices":[{"claimName":"c","requestName":"r"},{"deviceName":"d"}]}},
                "resourceClaims":[{"name":"c","resourceClaimName":"c"}]})"),
              IsEmpty());
}

TEST(DraRulesTest, RequestsOfNetworksCountOnlyWithTheirGate) {
  constexpr std::string_view spec = R"({"domain":{"devices":{"gpus":[{"claimName":"c","requestName":"r"}],
      "hostDevices":[{"claimName":"c","requestName":"r"},{"claimName":"c","requestName":"r"}]}},
      "networks":[{"name":"a","pod":{}},{"name":"b","resourceClaim":{"claimName":"c","requestName":"r"}}],
      "resourceClaims":[{"name":"c","resourceClaimName":"c"}]})";
  EXPECT_THAT(told(spec), ElementsAre("Duplicate spec.domain.devices.hostDevices[1]",
                                      "Duplicate spec.domain.devices.hostDevices[0]"));
  EXPECT_THAT(told(spec, R"({"developerConfiguration":{"featureGates":["NetworkDevicesWithDRA"]}})"),
              ElementsAre("Duplicate spec.domain.devices.hostDevices[1]",
                          "Duplicate spec.domain.devices.hostDevices[0]", "Duplicate spec.networks[1]"));
}

TEST(DraRulesTest, ClaimAndRequestAreComparedAsOneText) {
  EXPECT_THAT(told(R"({"domain":{"devices":{"gpus":[{"claimName":"a/b","requestName":"c"},
                {"claimName":"a","requestName":"b/c"}]}}})"),
              ElementsAre("Duplicate spec.domain.devices.gpus[1]", "Invalid spec.resourceClaims"));
}

TEST(DraRulesTest, MissingClaimsAreToldOnce) {
  EXPECT_THAT(told(R"({"domain":{"devices":{"gpus":[{"claimName":"a","requestName":"r"},
                {"claimName":"b","requestName":"r"}]}}})"),
              SizeIs(1));
}

}  // namespace
}  // namespace vg::admission
