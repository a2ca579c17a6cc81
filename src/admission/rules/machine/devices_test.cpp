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

const bool added = add_examples({
    {"INP-01", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"inputs":[{"name":"i","type":"tablet","bus":"usb"}]}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"inputs":[{"name":"i","type":"tablet","bus":"ps2"}]}}}}})",
     "FieldValueInvalid spec.domain.devices.inputs[0].bus"},
    {"INP-02", vmi, R"({"object":{"spec":{"domain":{"devices":{"inputs":[{"name":"i","type":"tablet"}]}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"inputs":[{"name":"i","type":"tablet"},{"name":"k","type":"keyboard"}]}}}}})",
     "FieldValueInvalid spec.domain.devices.inputs[1].type"},
    {"IOT-01", vmi, R"({"object":{"spec":{"domain":{"ioThreadsPolicy":"auto"}}}})",
     R"({"object":{"spec":{"domain":{"ioThreadsPolicy":""}}}})", "FieldValueInvalid spec.domain.ioThreadsPolicy"},
    {"IOT-02", vmi,
     R"({"object":{"spec":{"domain":{"ioThreadsPolicy":"supplementalPool","ioThreads":{"supplementalPoolThreadCount":1}}}}})",
     R"({"object":{"spec":{"domain":{"ioThreadsPolicy":"supplementalPool","ioThreads":{"supplementalPoolThreadCount":0}}}}})",
     "FieldValueInvalid spec.domain.ioThreads.count"},
    {"GPU-01", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"a","deviceName":"d/a","virtualGPUOptions":{"display":{}}},
         {"name":"b","deviceName":"d/b","virtualGPUOptions":{"display":{"ramFB":{"enabled":false}}}}]}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"a","deviceName":"d/a","virtualGPUOptions":{"display":{}}},
         {"name":"b","deviceName":"d/b","virtualGPUOptions":{"display":{"ramFB":{"enabled":true}}}}]}}}}})",
     "FieldValueInvalid spec.GPUs"},
    {"HDV-01", vmi, "{}", R"({"object":{"spec":{"domain":{"devices":{"hostDevices":[]}}}}})",
     "FieldValueInvalid spec.HostDevices"},
    {"SND-01", vmi, R"({"object":{"spec":{"domain":{"devices":{"sound":{"name":"s","model":"ac97"}}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"sound":{"name":"s","model":"sb16"}}}}}})",
     "FieldValueInvalid spec.Sound"},
    {"SND-02", vmi, R"({"object":{"spec":{"domain":{"devices":{"sound":{"name":"s"}}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"sound":{}}}}}})", "FieldValueInvalid spec.Sound"},
    {"VSK-01", vmi, R"({"object":{"spec":{"domain":{"devices":{"autoattachVSOCK":false}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"autoattachVSOCK":true}}}}})",
     "FieldValueInvalid spec.domain.devices.autoattachVSOCK"},
    {"DWM-01", vmi, "{}", R"({"object":{"spec":{"domain":{"devices":{"downwardMetrics":{}}}}}})",
     "FieldValueInvalid spec.domain.devices.downwardMetrics"},
    {"VID-01", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"video":{"type":"vga"},"autoattachGraphicsDevice":true}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"video":{"type":"vga"},"autoattachGraphicsDevice":false}}}}})",
     "FieldValueInvalid spec.video"},
    {"PAN-01", vmi, R"({"object":{"spec":{"domain":{"devices":{"panicDevices":[{"model":"isa"}]}}}}})",
     R"({"object":{"spec":{"architecture":"s390x","domain":{"machine":{"type":"s390-ccw-virtio"},
         "devices":{"panicDevices":[{}]}}}}})",
     "FieldValueInvalid spec.domain.devices.panicDevices"},
    {"PAN-02", vmi, R"({"object":{"spec":{"domain":{"devices":{"panicDevices":[{}]}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"panicDevices":[{},{"model":""}]}}}}})",
     "FieldValueInvalid spec.domain.devices.panicDevices[1].model"},
});

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
