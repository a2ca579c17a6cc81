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
using ::testing::SizeIs;

constexpr std::string_view good = R"({"object":{"spec":{
    "resourceClaims":[{"name":"c","resourceClaimName":"rc"},{"name":"d","resourceClaimTemplateName":"t.x"}],
    "domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"},
                                 {"name":"h","claimName":"c","requestName":"s"}]}}}}})";
constexpr std::string_view good_plain =
    R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"d/g"}]}}}}})";
constexpr std::string_view hosts_on = R"({"developerConfiguration":{"featureGates":["HostDevices"]}})";

const bool added = add_examples({
    {"DRA-01", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"","resourceClaimName":"rc"}]}}})",
     "FieldValueRequired spec.resourceClaims[0].name"},
    {"DRA-02", vmi, good,
     R"({"object":{"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"a"},{"name":"c","resourceClaimName":"b"}]}}})",
     "FieldValueDuplicate spec.resourceClaims[1].name"},
    {"DRA-03", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"-c","resourceClaimName":"rc"}]}}})",
     "FieldValueInvalid spec.resourceClaims[0].name"},
    {"DRA-04", vmi, good,
     R"({"object":{"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"a","resourceClaimTemplateName":"b"}]}}})",
     "FieldValueInvalid spec.resourceClaims[0]"},
    {"DRA-05", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"c"}]}}})",
     "FieldValueInvalid spec.resourceClaims[0]"},
    {"DRA-06", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"c","resourceClaimName":""}]}}})",
     "FieldValueInvalid spec.resourceClaims[0].resourceClaimName"},
    {"DRA-07", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"c","resourceClaimTemplateName":"T"}]}}})",
     "FieldValueInvalid spec.resourceClaims[0].resourceClaimTemplateName"},
    {"DRA-08", vmi, good,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"},
         {"name":"h","deviceName":"d"}]}}}}})",
     "FieldValueInvalid spec.domain.devices.gpus"},
    {"DRA-09", vmi, good_plain, R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g"}]}}}}})",
     "FieldValueRequired spec.domain.devices.gpus"},
    {"DRA-10", vmi, good_plain,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"d","claimName":""}]}}}}})",
     "FieldValueInvalid spec.domain.devices.gpus"},
    {"DRA-11", vmi, good_plain, good, "FieldValueInvalid spec.domain.devices.gpus",
     R"({"developerConfiguration":{"disabledFeatureGates":["GPUsWithDRA"]}})"},
    {"DRA-12", vmi, good, R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","requestName":"r"}]}}}}})",
     "FieldValueRequired spec.domain.devices.gpus[0].claimName"},
    {"DRA-13", vmi, good, R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":""}]}}}}})",
     "FieldValueRequired spec.domain.devices.gpus[0].requestName"},
    {"DRA-14", vmi, good,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"},
         {"name":"h","claimName":"c","requestName":"r"}]}}}}})",
     "FieldValueDuplicate spec.domain.devices.gpus[1]"},
    {"DRA-15", vmi, good,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"}],
         "hostDevices":[{"name":"x","deviceName":"d"},{"name":"h","claimName":"c","requestName":"r"}]}}}}})",
     "FieldValueDuplicate spec.domain.devices.hostDevices[1]", hosts_on},
    {"DRA-16", vmi, good,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"}]}}}}})",
     "FieldValueInvalid spec.resourceClaims"},
});

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
