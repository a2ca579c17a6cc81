#include <gmock/gmock.h>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const bool added = add_examples({
    {"PRB-01", vmi, R"({"object":{"spec":{"livenessProbe":{"exec":{"command":["true"]}}}}})",
     R"({"object":{"spec":{"livenessProbe":{"exec":{"command":["true"]},"guestAgentPing":{}}}}})",
     "FieldValueInvalid spec.livenessProbe"},
    {"PRB-02", vmi, R"({"object":{"spec":{"readinessProbe":{"guestAgentPing":{}}}}})",
     R"({"object":{"spec":{"readinessProbe":{"periodSeconds":5}}}})", "FieldValueRequired spec.readinessProbe"},
    {"PRB-03", vmi,
     R"({"object":{"spec":{"readinessProbe":{"httpGet":{"port":80}},"networks":[{"name":"n","pod":{}}],
         "domain":{"devices":{"interfaces":[{"name":"n","masquerade":{}}]}}}}})",
     R"({"object":{"spec":{"readinessProbe":{"httpGet":{"port":80}}}}})",
     "FieldValueInvalid spec.readinessProbe.httpGet"},
    {"PRB-04", vmi,
     R"({"object":{"spec":{"livenessProbe":{"tcpSocket":{"port":80}},"networks":[{"name":"n","pod":{}}],
         "domain":{"devices":{"interfaces":[{"name":"n","masquerade":{}}]}}}}})",
     R"({"object":{"spec":{"livenessProbe":{"tcpSocket":{"port":80}}}}})",
     "FieldValueInvalid spec.livenessProbe.tcpSocket"},
});

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
