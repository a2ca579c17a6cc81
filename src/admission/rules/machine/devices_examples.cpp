#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example devices_example_rows[] = {
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
};

}  // namespace

std::span<const Example> devices_examples() { return devices_example_rows; }

}  // namespace vg::admission
