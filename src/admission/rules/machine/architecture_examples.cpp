#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::string_view good_arm64 =
    R"({"object":{"spec":{"architecture":"arm64","domain":{"machine":{"type":"virt"},"cpu":{"model":"host-passthrough"},
        "devices":{"video":{"type":"ramfb"}}}}}})";
constexpr std::string_view good_s390x =
    R"({"object":{"spec":{"architecture":"s390x","domain":{"machine":{"type":"s390-ccw-virtio"},
        "devices":{"watchdog":{"name":"w","diag288":{}},"video":{"type":"virtio"}}}}}})";

constexpr Example architecture_example_rows[] = {
    {"ARC-01", vmi, good_arm64, R"({"object":{"spec":{"architecture":"riscv64"}}})",
     "FieldValueInvalid spec.architecture"},
    {"AMD-01", vmi, R"({"object":{"spec":{"domain":{"devices":{"watchdog":{"name":"w","i6300esb":{}}}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"watchdog":{"name":"w","i6300esb":{},"diag288":{}}}}}}})",
     "FieldValueNotSupported spec.domain.devices.watchdog"},
    {"AMD-02", vmi, R"({"object":{"spec":{"domain":{"devices":{"video":{"type":"bochs"}}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"video":{}}}}}})",
     "FieldValueNotSupported spec.domain.devices.video.type"},
    {"ARM-01", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"firmware":{"bootloader":{"bios":{}}}}}}})",
     "FieldValueNotSupported spec.domain.firmware.bootloader.bios"},
    {"ARM-02", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"cpu":{"model":"host-model"}}}}})",
     "FieldValueNotSupported spec.domain.cpu.model"},
    {"ARM-03", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"devices":{"disks":[{"name":"a","cdrom":{"bus":"sata"}}]}}}}})",
     "FieldValueNotSupported spec.domain.devices.disks[0].cdrom.bus"},
    {"ARM-04", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"devices":{"watchdog":{"name":"w","i6300esb":{}}}}}}})",
     "FieldValueNotSupported spec.domain.devices.watchdog"},
    {"ARM-05", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"devices":{"sound":{"name":"s"}}}}}})",
     "FieldValueNotSupported spec.domain.devices.sound"},
    {"ARM-06", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"devices":{"video":{"type":"vga"}}}}}})",
     "FieldValueNotSupported spec.domain.devices.video.type"},
    {"S39-01", vmi, good_s390x,
     R"({"object":{"spec":{"architecture":"s390x","domain":{"devices":{"watchdog":{"name":"w"}}}}}})",
     "FieldValueNotSupported spec.domain.devices.watchdog"},
    {"S39-02", vmi, good_s390x,
     R"({"object":{"spec":{"architecture":"s390x","domain":{"devices":{"video":{"type":"vga"}}}}}})",
     "FieldValueNotSupported spec.domain.devices.video.type"},
};

}  // namespace

std::span<const Example> architecture_examples() { return architecture_example_rows; }

}  // namespace vg::admission
