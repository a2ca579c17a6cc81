#include <gmock/gmock.h>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ProbeRulesTest, ShapesComeBeforeTheNetworkAndReadinessBeforeLiveness) {
  EXPECT_THAT(testing::told_by(probe_family, R"({"domain":{"devices":{}},
                "livenessProbe":{"tcpSocket":{"port":1},"httpGet":{"port":1}},"readinessProbe":{}})"),
              ElementsAre("Required spec.readinessProbe", "Invalid spec.livenessProbe",
                          "Invalid spec.livenessProbe.httpGet", "Invalid spec.livenessProbe.tcpSocket"));
}

TEST(ProbeRulesTest, OnePodNetworkIsEnough) {
  EXPECT_THAT(testing::told_by(probe_family, R"({"domain":{"devices":{}},"readinessProbe":{"tcpSocket":{"port":"x"}},
                "networks":[{"name":"a","multus":{"networkName":"m"}},{"name":"b","pod":{}}]})"),
              IsEmpty());
}

}  // namespace
}  // namespace vg::admission
