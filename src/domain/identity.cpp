// Name, metadata, domain type and emulator: DOM-ID, DOM-TYPE, DOM-RBT, DOM-IOMMU, DOM-QEMU.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {

Result<void> write_identity(Conversion& c) {
  // DOM-TYPE-01
  c.domain.set("type", "kvm").set("xmlns:qemu", "http://libvirt.org/schemas/domain/qemu/1.0");
  // DOM-ID-01, DOM-ID-03
  c.domain.child("name").set_text(fmt::format("{}_{}", c.vmi.metadata.namespace_(), c.vmi.metadata.name()));
  c.domain.child("metadata").child("kubevirt").set("xmlns", "http://kubevirt.io").child("uid");
  return {};
}

namespace {

struct Emulator {
  std::string_view architecture, binary;
};

constexpr std::array emulators = std::to_array<Emulator>({
    {"amd64", "/usr/bin/qemu-system-x86_64"},
    {"x86_64", "/usr/bin/qemu-system-x86_64"},
    {"arm64", "/usr/bin/qemu-system-aarch64"},
    {"aarch64", "/usr/bin/qemu-system-aarch64"},
    {"s390x", "/usr/bin/qemu-system-s390x"},
});

// DOM-TYPE-04
Result<void> write_cross_emulator(Conversion& c) {
  const auto* found = std::ranges::find(emulators, c.vmi.spec.architecture(), &Emulator::architecture);
  if (found == emulators.end())
    return refuse("DOM-TYPE-04", "spec.architecture",
                  fmt::format("{}: no emulator is known for it", in_quotes(c.vmi.spec.architecture())));
  const std::string binary(found->binary);
  if (!c.context.probes.emulator_exists || !c.context.probes.emulator_exists(binary))
    return refuse("DOM-TYPE-04", fmt::format("{} is not installed on the host", binary));
  c.domain.set("type", "qemu");
  c.devices.child("emulator").set_text(binary);
  return {};
}

}  // namespace

Result<void> write_hypervisor(Conversion& c) {
  const bool hyperv = c.context.hypervisor == "hyperv-direct";
  if (c.context.cross_arch && !hyperv) return write_cross_emulator(c);
  if (!c.context.emulator.empty()) c.devices.child("emulator").set_text(c.context.emulator);
  if (c.context.hypervisor_device) {
    if (hyperv) c.domain.set("type", "hyperv");
    return {};
  }
  // DOM-TYPE-02, DOM-TYPE-03
  if (!c.context.allow_emulation)
    return refuse(hyperv ? "DOM-TYPE-03" : "DOM-TYPE-02",
                  fmt::format("{} is not available on the host, and software emulation is not allowed; set "
                              "developerConfiguration.useEmulation to allow it",
                              hyperv ? "/dev/mshv" : "/dev/kvm"));
  c.domain.set("type", "qemu");
  return {};
}

// DOM-RBT-01
Result<void> write_reboot_policy(Conversion& c) {
  const auto policy = c.vmi.dom.reboot_policy();
  if (policy == "Terminate") c.domain.child("on_reboot").set_text("destroy");
  if (policy == "Reboot") c.domain.child("on_reboot").set_text("restart");
  return {};
}

// DOM-IOMMU-01
Result<void> write_iommufd(Conversion& c) {
  if (c.context.iommufd) c.domain.child("iommufd").set("enabled", "yes").set("fdgroup", "iommu");
  return {};
}

Result<void> write_qemu_arguments(Conversion& c) {
  const auto argument = [&](std::string_view value) {
    c.domain.child("qemu:commandline").add("qemu:arg").set("value", value);
  };
  // DOM-QEMU-01
  if (c.vmi.annotations[annotation::ignition].contains("ignition")) {
    argument("-fw_cfg");
    argument(fmt::format("name=opt/com.coreos/config,file={}",
                         c.context.paths.at(Path::ignition, {{"namespace", c.vmi.metadata.namespace_()},
                                                             {"name", c.vmi.metadata.name()}})));
  }
  // DOM-QEMU-02
  if (c.traits.firmware_log && c.context.launcher_verbosity.value_or(0) > 5) {
    argument("-chardev");
    argument(fmt::format("file,id=firmwarelog,path={}", c.context.paths.at(Path::firmware_log)));
    argument("-device");
    argument("isa-debugcon,iobase=0x402,chardev=firmwarelog");
  }
  return {};
}

}  // namespace vg::domain
