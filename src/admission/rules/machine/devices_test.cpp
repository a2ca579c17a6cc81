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

std::vector<std::string> told(const MachineFamily& family, std::string_view devices) {
  return testing::told_by(family, fmt::format(R"({{"domain":{{"devices":{}}}}})", devices));
}

TEST(DeviceRulesTest, InputsAreToldOneByOne) {
  EXPECT_THAT(told(input_family, R"({"inputs":[{"bus":"x","type":"keyboard"},{"type":"tablet"},{}]})"),
              ElementsAre("Invalid spec.domain.devices.inputs[0].bus", "Invalid spec.domain.devices.inputs[0].type",
                          "Invalid spec.domain.devices.inputs[2].type"));
}

TEST(DeviceRulesTest, APoolWithoutThreadsIsAboutThePolicyAlone) {
  EXPECT_THAT(testing::told_by(io_thread_family, R"({"domain":{"devices":{},"ioThreadsPolicy":"supplementalPool"}})"),
              ElementsAre("Invalid spec.domain.ioThreads.count"));
  EXPECT_THAT(testing::told_by(io_thread_family, R"({"domain":{"devices":{},"ioThreads":{}}})"), IsEmpty());
}

TEST(DeviceRulesTest, AFrameBufferThatIsNamedMustBeSwitchedOnToCount) {
  const auto count = [](std::string_view display) {
    return told(gpu_family,
                fmt::format(R"({{"gpus":[{{"virtualGPUOptions":{0}}},{{"virtualGPUOptions":{0}}}]}})", display))
        .size();
  };
  EXPECT_EQ(count(R"({"display":{}})"), 1);
  EXPECT_EQ(count(R"({"display":{"enabled":true,"ramFB":{"enabled":true}}})"), 1);
  EXPECT_EQ(count(R"({"display":{"ramFB":{}}})"), 0);
  EXPECT_EQ(count(R"({"display":{"enabled":false}})"), 0);
  EXPECT_EQ(count("{}"), 0);
}

TEST(DeviceRulesTest, ASoundCardMayBeWrongTwice) {
  EXPECT_THAT(told(sound_family, R"({"sound":{"model":"x"}})"), SizeIs(2));
}

TEST(DeviceRulesTest, PanicDevicesFollowTheClustersArchitecture) {
  constexpr std::string_view spec = R"({"domain":{"devices":{"panicDevices":[{"model":"x"}]}}})";
  EXPECT_THAT(
      testing::told_by(display_family, spec, "{}", "s390x"),
      ElementsAre("Invalid spec.domain.devices.panicDevices", "Invalid spec.domain.devices.panicDevices[0].model"));
  EXPECT_THAT(testing::told_by(display_family, spec, "{}", "arm64"), SizeIs(1));
}

}  // namespace
}  // namespace vg::admission
