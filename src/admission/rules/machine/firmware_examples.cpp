#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example firmware_example_rows[] = {
    {"MACH-01", vmi, R"({"object":{"spec":{"domain":{"machine":{"type":"pc-q35-9.0"}}}}})",
     R"({"object":{"spec":{"domain":{"machine":{"type":"test-q35"}}}}})", "FieldValueInvalid spec.domain.machine.type"},
    {"FW-01", vmi,
     R"({"object":{"spec":{"domain":{"firmware":{"acpi":{"slicNameRef":"slic"}},"devices":{"disks":[{"name":"slic","disk":{}}]}},
         "volumes":[{"name":"slic","secret":{"secretName":"s"}}]}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"acpi":{}}}}}})", "FieldValueInvalid spec.acpi"},
    {"FW-02", vmi, "{}", R"({"object":{"spec":{"domain":{"firmware":{"acpi":{"msdmNameRef":"msdm"}}}}}})",
     "FieldValueInvalid spec.acpi.msdmNameRef"},
    {"FW-03", vmi, "{}",
     R"({"object":{"spec":{"domain":{"firmware":{"acpi":{"slicNameRef":"slic"}}},
         "volumes":[{"name":"slic","configMap":{"name":"s"}}]}}})",
     "FieldValueInvalid spec.acpi.slicNameRef"},
    {"FW-04", vmi, R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"bios":{}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"bios":{},"efi":{}}}}}}})",
     "FieldValueInvalid spec.domain.firmware.bootloader"},
    {"FW-05", vmi, R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"kernelArgs":"quiet"}}}}}})",
     "FieldValueInvalid spec.domain.firmware.kernelBoot.kernelArgs"},
    {"FW-06", vmi,
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","kernelPath":"/vmlinuz"}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"kernelPath":"/vmlinuz"}}}}}}})",
     "FieldValueRequired spec.domain.firmware.kernelBoot.container.image"},
    {"FW-07", vmi,
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","initrdPath":"/initrd"}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i"}}}}}}})",
     "FieldValueRequired spec.domain.firmware.kernelBoot.container"},
    {"FW-08", vmi,
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","kernelPath":"/boot/k/"}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","kernelPath":"boot/k"}}}}}}})",
     "FieldValueInvalid spec.domain.firmware.kernelBoot.container.kernelPath"},
    {"FW-09", vmi, "{}",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","initrdPath":"/a/../b"}}}}}}})",
     "FieldValueInvalid spec.domain.firmware.kernelBoot.container.initrdPath"},
    {"FW-10", vmi, R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"efi":{}}},"features":{"smm":{}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"efi":{}}}}}}})", "FieldValueInvalid spec.domain"},
};

}  // namespace

std::span<const Example> firmware_examples() { return firmware_example_rows; }

}  // namespace vg::admission
